// A file of rows from the owner's machine, sent as it is; the server names it, and reads nothing of it but its columns.
import { Lost, Refused, me } from "./api.js";

export async function upload(file, { progress, stop }) {
  const { csrf } = await me();
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch does not tell how far it is
    request.open("POST", `/api/policy/upload?name=${encodeURIComponent(file.name)}`);
    request.setRequestHeader("Content-Type", "application/octet-stream");
    request.setRequestHeader("X-CSRF-Token", csrf ?? "");
    request.responseType = "json";
    request.upload.addEventListener("progress", (event) => event.lengthComputable && progress(event.loaded / event.total));
    request.addEventListener("load", () => (request.status === 200 ? resolve(request.response) : reject(new Refused(request.status, request.response ?? {}))));
    request.addEventListener("error", () => reject(new Lost("The file could not be sent.")));
    request.addEventListener("abort", () => reject(new Lost("The upload was cancelled. Nothing was kept.")));
    stop(() => request.abort());
    request.send(file);
  });
}

// 1 GiB, 20 MiB: as file managers say it.
export function size(bytes) {
  const names = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(names.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const number = bytes / 1024 ** power;
  return `${power ? Number(number.toPrecision(3)) : bytes} ${power || bytes !== 1 ? names[power] : "byte"}`;
}
