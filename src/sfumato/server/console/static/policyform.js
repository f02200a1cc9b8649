// The policy as a form. The server reads it from the text, and writes each change into the text: nothing is kept here.
import { $, h, word } from "./dom.js";

const TITLES = { privacy: "Privacy", data: "Rows", analysts: "Analysts" };
const FIRST = ["epsilon", "delta", "query_epsilon", "adjacency", "timing"]; // what most owners look for
const TYPES = ["integer", "decimal", "double", "text", "boolean", "date", "timestamp"];
const named = (path) => JSON.stringify(path);
const fields = new Map();
let drawn = "", change;

export function drawForm(groups, onChange) {
  change = onChange;
  $("unread").hidden = groups !== null;
  $("form").disabled = groups === null;
  if (groups === null) return;
  const shape = named(groups.map((group) => [group.path, group.fields.map((one) => [one.key, one.kind, one.options])]));
  if (shape !== drawn) build(groups);
  drawn = shape;
  for (const group of groups) for (const one of group.fields) show(fields.get(named([...group.path, one.key])), one);
  const domains = new Map(groups.map((group) => [named(group.path), domain(group.fields)]));
  for (const place of document.querySelectorAll("#form .domain")) place.textContent = domains.get(place.dataset.of) ?? "";
}

// A column in a few words, as they stand in the text.
function domain(all) {
  const of = Object.fromEntries(all.map((one) => [one.key, one.value ?? one.default]));
  if (of.values) return of.values.length === 1 ? "1 value" : `${of.values.length} values`;
  const bounds = of.min && of.max ? `${of.min} … ${of.max}` : of.max_length ? `up to ${of.max_length} characters` : "";
  return [of.type, bounds].filter(Boolean).join(", ");
}

function build(groups) {
  const open = new Set([...document.querySelectorAll("#form details[open]")].map((one) => one.dataset.name));
  fields.clear();
  const under = (...head) => groups.filter(({ path }) => path.length === head.length + 1 && head.every((part, i) => path[i] === part));
  const [privacy] = groups.filter(({ path }) => named(path) === named(["privacy"]));
  const rest = groups.filter(({ path }) => named(path) === named(["data"]));
  const fold = (name, summary, ...children) => h("details", { open: open.has(name), "data-name": name }, h("summary", {}, summary), ...children);
  const all = (group, some = () => true) => group.fields.filter(some).map((one) => make([...group.path, one.key], one));
  const panel = (title, ...children) => h("section", { class: "panel", "aria-label": title }, h("h2", {}, word(title)), ...children);
  const columnOf = (group) => fold(named(group.path), h("span", {}, word(group.path[3], "mono"), h("span", { class: "quiet domain", "data-of": named(group.path) })), ...all(group),
    h("p", {}, h("button", { type: "button", class: "plain", onclick: () => change(group.path, null) }, "Remove column"), h("span", { class: "quiet" }, "Queries can no longer use it after that.")));
  const columnsOf = (name) => under("tables", name, "columns");
  const tableOf = (group) => panel(`Table ${group.path[1]}`, ...all(group), h("h3", {}, "Columns"), ...columnsOf(group.path[1]).map(columnOf), newColumn(group.path[1]));
  $("form").replaceChildren(
    panel(TITLES.privacy, ...all(privacy, (one) => FIRST.includes(one.key)), fold("more", "More", ...all(privacy, (one) => !FIRST.includes(one.key)))),
    panel(TITLES.analysts, h("p", { class: "quiet" }, "Analysts without a share can spend whatever is left of the total."), ...under("analysts").map(share), newShare()),
    ...rest.map((group) => panel(TITLES.data, ...all(group))),
    ...under("tables").map(tableOf),
  );
}

function share(group) {
  const name = group.path[1];
  const remove = h("button", { type: "button", class: "plain", onclick: () => change(group.path, null) }, "Remove share");
  const [one] = group.fields;
  return h("div", { class: "share" }, make([...group.path, one.key], one, name), remove);
}

function newShare() {
  const [name, epsilon] = [h("input", { autocomplete: "off", size: 12 }), h("input", { autocomplete: "off", size: 6 })];
  const add = async () => {
    if (!name.value.trim() || !(await change(["analysts", name.value.trim(), "epsilon"], epsilon.value))) return;
    name.value = epsilon.value = "";
  };
  return h("div", { class: "row" }, h("label", {}, "Analyst", name), h("label", {}, "epsilon", epsilon), h("button", { type: "button", onclick: add }, "Add share"));
}

// A column of the rows that the policy does not name yet; bounds or values follow in its own fields.
function newColumn(table) {
  const name = h("input", { autocomplete: "off", size: 12 });
  const type = h("select", {}, TYPES.map((one) => h("option", {}, one)));
  const add = async () => {
    if (name.value.trim() && (await change(["tables", table, "columns", name.value.trim()], type.value))) name.value = "";
  };
  return h("div", { class: "row" }, h("label", {}, "Column", name), h("label", {}, "type", type), h("button", { type: "button", onclick: add }, "Add column"));
}

// One field: its label, what is typed, what it means, and why what was typed could not be taken.
function make(path, one, title = one.key) {
  const id = `field-${fields.size}`;
  const input = inputOf(one, id);
  const about = h("p", { class: "quiet", id: `${id}-about` });
  const wrong = h("p", { class: "wrong", role: "alert" });
  input.setAttribute("aria-describedby", about.id);
  input.dataset.path = path.join(".");
  const place = h("div", { class: "field" }, h("label", { for: id }, word(title, "mono"), input), about, wrong);
  const made = { place, input, about, wrong, bad: false };
  input.addEventListener("change", async () => {
    made.bad = !(await change(path, valueOf(one, input), (text) => (wrong.textContent = text)));
    if (!made.bad) wrong.textContent = "";
  });
  fields.set(named(path), made);
  return place;
}

function inputOf(one, id) {
  if (one.kind === "flag") return h("input", { type: "checkbox", id });
  if (one.kind === "list") return h("textarea", { id, rows: 3, cols: 24, spellcheck: "false" });
  if (one.kind === "choice" || one.key === "unit") return h("select", { id });
  return h("input", { id, autocomplete: "off", size: 14, spellcheck: "false" });
}

function valueOf(one, input) {
  if (one.kind === "flag") return String(input.checked) === one.options[0] ? null : input.checked;
  if (one.kind === "list") return input.value.split("\n").map((line) => line.trim()).filter(Boolean);
  return input.value.trim() || null;
}

// What the text says now; what is being typed, or could not be taken, stays.
function show({ input, about, bad }, one) {
  about.textContent = one.about;
  about.hidden = !one.about;
  if (bad || (input === document.activeElement && input.tagName !== "SELECT" && input.type !== "checkbox")) return;
  if (one.kind === "flag") return void (input.checked = String(one.value ?? one.options[0]) === "true");
  if (one.kind === "list") return void (input.value = (one.value ?? []).join("\n"));
  if (input.tagName === "SELECT") {
    const known = [...new Set([...one.options, ...(one.value ? [one.value] : [])])];
    input.replaceChildren(h("option", { value: "" }, one.default ? `${one.default} (default)` : "–"), ...known.map((name) => h("option", { value: name }, name)));
    return void (input.value = one.value ?? "");
  }
  input.value = one.value ?? "";
  input.placeholder = one.default ?? "";
}
