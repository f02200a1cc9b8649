// The tables, as the owner declared them: bounds, lists, and who is the person.
import { h, word } from "./dom.js";

const many = (number, name) => `${number} ${name}${number === 1 ? "" : "s"}`;

// What one column is, in a few words.
export function tell(column) {
  if (column.type === "point") return `cells of ${bound(column.grid)} m`;
  if (column.values) return many(column.values.length, "value");
  if (column.min !== null && column.max !== null) return `${bound(column.min)} … ${bound(column.max)}`;
  if (column.type === "text" && column.max_length) return `text, up to ${column.max_length} characters`;
  return column.type ?? "";
}

function bound(value) {
  const [top, bottom] = String(value).split("/");
  return bottom ? String(Number(top) / Number(bottom)) : String(value);
}

export function showTables(host, schema, insert) {
  host.replaceChildren(...schema.tables.map((table) => tableOf(table, insert)));
}

function tableOf(table, insert) {
  const person = typeof table.unit === "string" ? table.unit : table.unit?.column;
  const about = table.public
    ? "public: queries on it alone are exact and free"
    : `at most ${many(table.rows_per_unit, "row")} per person`;
  return h("details", { class: "table", open: true },
    h("summary", {}, word(table.name, "mono"), h("span", { class: "quiet" }, table.public ? "public" : "")),
    h("p", { class: "quiet about" }, about),
    h("ul", {}, table.columns.map((column) => columnOf(column, column.name === person, insert))),
  );
}

function columnOf(column, isPerson, insert) {
  const note = isPerson ? "person" : tell(column);
  const full = column.values ? column.values.slice(0, 50).join(", ") + (column.values.length > 50 ? ", …" : "") : column.type;
  return h("li", {},
    h("button", { class: "plain name mono", title: full ?? "", onclick: () => insert(column.name) }, word(column.name)),
    h("span", { class: isPerson ? "person" : "quiet", title: isPerson ? "privacy unit: identifies the person to protect" : full ?? "" }, note),
  );
}

// A question to begin with, from the schema alone.
export function firstQuestion(schema) {
  const quoted = (name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);
  const own = schema.tables.filter((table) => !table.public);
  for (const table of own) {
    const listed = table.columns.find((column) => column.values && column.values.length > 1);
    const key = listed && quoted(listed.name);
    const point = table.columns.find((column) => column.type === "point");
    if (listed) return `SELECT ${key}, COUNT(*) AS n\nFROM ${quoted(table.name)}\nGROUP BY ${key}\nORDER BY n DESC`;
    if (point) return `SELECT ${quoted(point.name)}, COUNT(*) AS n\nFROM ${quoted(table.name)}\nGROUP BY ${quoted(point.name)}`;
  }
  return own.length ? `SELECT COUNT(*) AS n\nFROM ${quoted(own[0].name)}` : "SELECT 1";
}
