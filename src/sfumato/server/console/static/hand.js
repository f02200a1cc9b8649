// What leaves the page: lines to copy, and files.
import { call, Refused } from "./api.js";
import { $, h } from "./dom.js";
import { say } from "./frame.js";
import { toNumber } from "./numbers.js";

const KINDS = {
  CSV: ["text/csv", "csv"],
  Parquet: ["application/vnd.apache.parquet", "parquet"],
  Arrow: ["application/vnd.apache.arrow.stream", "arrows"],
};

export function openDialog(title, ...content) {
  const dialog = $("dialog");
  dialog.replaceChildren(h("div", { class: "dialog-head" }, h("h2", { id: "dialog-title" }, title), h("button", { class: "plain", "aria-label": "Close", onclick: () => dialog.close() }, "×")), ...content);
  dialog.onclick = (event) => { if (event.target === dialog) dialog.close(); }; // returning false would keep forms from being sent
  if (!dialog.open) dialog.showModal();
}

// A value of libpq's; text in Python; and text for a driver there, which takes a lone % for its own.
const libpq = (text) => (/^[\w.:-]+$/.test(text) ? text : `'${text.replace(/[\\']/g, "\\$&")}'`);
const python = JSON.stringify;
const driver = (sql) => python(sql.replaceAll("%", "%%"));
const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

function line(kind, asked, { data, user, pg }) {
  const [told, port] = [pg.slice(0, pg.lastIndexOf(":")), pg.slice(pg.lastIndexOf(":") + 1)];
  const host = ["0.0.0.0", "[::]"].includes(told) ? location.hostname : told;
  const price = (asked.within ? `within=${asked.within}` : `epsilon=${asked.epsilon}`) + (asked.rows_per_unit ? ` rows_per_unit=${asked.rows_per_unit}` : "");
  const sql = `/* ${price} */ ${asked.sql}`;
  const url = `postgresql+psycopg://${encodeURIComponent(user)}@${host}:${port}/${encodeURIComponent(data)}`;
  if (kind === "psql") return `psql ${shell(`host=${libpq(host.replace(/^\[|\]$/g, ""))} port=${port} user=${libpq(user)} dbname=${libpq(data)}`)} -c ${shell(sql)}`;
  if (kind === "curl") return `curl ${location.origin}/api/query -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\\n     -d ${shell(JSON.stringify(asked))}`;
  if (kind === "SQLAlchemy") return `from sqlalchemy import create_engine\n\nengine = create_engine(${python(url)})\nwith engine.connect() as connection:\n    rows = connection.exec_driver_sql(${driver(sql)}).all()`;
  return `import pandas\nfrom sqlalchemy import create_engine\n\nengine = create_engine(${python(url)})\nframe = pandas.read_sql(${driver(sql)}, engine)`;
}

export function copyAs(kind, asked, about) {
  const text = line(kind, asked, about);
  const done = h("span", { class: "quiet", role: "status" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      done.textContent = " copied";
    } catch {
      done.textContent = " select the text and copy it";
    }
  };
  const signed = location.protocol === "https:" ? " A self-signed certificate needs --cacert." : "";
  const note = { curl: `TOKEN comes from \`sfumato user token NAME\`.${signed}`, psql: "psql asks for the password, or reads it from PGPASSWORD." }[kind] ?? "The password is read from PGPASSWORD.";
  openDialog(`As ${kind}`, h("pre", { class: "code", tabindex: 0 }, text), h("p", { class: "quiet" }, note, " Repeating this query is free."), h("p", {}, h("button", { class: "main", onclick: copy }, "Copy"), done));
}

// A file of an answer that was paid for: looked at first, so that a new data version is not paid for unasked.
export async function exportAs(kind, asked, data) {
  const [accept, ending] = KINDS[kind];
  try {
    const preview = await call("/api/explain", { body: asked });
    if (preview.refused || toNumber(preview.cost.epsilon) || toNumber(preview.cost.rho)) {
      return say("This answer is no longer stored, because the data has a new version. Ask again for a new one.", { kind: "warn" });
    }
    const reply = await call("/api/query", { body: asked, headers: { Accept: accept }, raw: true });
    const place = URL.createObjectURL(await reply.blob());
    h("a", { href: place, download: `${data}.${ending}` }).click();
    setTimeout(() => URL.revokeObjectURL(place), 10000);
  } catch (error) {
    say([error.message, error instanceof Refused ? error.hint : ""].filter(Boolean).join(". "), { kind: "bad" });
  }
}
