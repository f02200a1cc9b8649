// The HTTP door, as every program sees it; with the second word of a session on whatever changes something.
export class Refused extends Error {
  constructor(status, fields) {
    super(fields.message ?? "the server failed");
    Object.assign(this, { status, ...fields });
  }
}

export class Lost extends Error {}

const OPEN = ["/login", "/api/class"]; // for people who are not in yet
let known = null;
let leaving = false;
addEventListener("pageshow", () => (leaving = false));

export function me() {
  known ??= call("/api/me");
  return known;
}

export async function call(path, { body, headers = {}, signal, raw = false } = {}) {
  const asked = { headers: { ...headers }, signal, credentials: "same-origin" };
  if (body !== undefined) {
    asked.method = "POST";
    asked.body = JSON.stringify(body);
    asked.headers["Content-Type"] = "application/json";
    if (!OPEN.includes(path)) asked.headers["X-CSRF-Token"] = (await me()).csrf ?? "";
  }
  let reply;
  try {
    reply = await fetch(path, asked);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Lost("The gateway cannot be reached.");
  }
  if (reply.ok) return raw ? reply : reply.status === 204 ? null : reply.json();
  const fields = await reply.json().catch(() => ({}));
  if (reply.status === 401 && !OPEN.includes(path)) {
    if (!leaving) location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`);
    leaving = true; // two replies that say so at once are one way out
  }
  throw new Refused(reply.status, fields);
}

// A name for one question: asked again under it, nothing is paid twice.
export function key() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
