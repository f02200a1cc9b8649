// Set up a policy: files, the person, the budget as odds, and the decisions that are left; the text beside it is the truth.
import { call } from "./api.js";
import { $, h, pause, place, word } from "./dom.js";
import { frame, say } from "./frame.js";
import { problemsOf } from "./policy.js";
import { size, upload } from "./upload.js";

const tell = (error) => say([error.message, error.detail, error.hint].filter(Boolean).join(". "), { kind: "bad" });
const state = { number: 0, unit: null, epsilon: "1" };
const chosen = () => [...document.querySelectorAll("#files input:checked")].map((box) => box.value);

let most = 0, served = [];

async function findPeople() {
  const files = chosen();
  const again = files.filter((name) => served.includes(name));
  $("twice").hidden = !again.length;
  $("twice").textContent = `${again.join(", ")} ${again.length === 1 ? "is" : "are"} served already. A second policy has a budget of its own, and the privacy loss of both adds up.`;
  $("person").hidden = !files.length;
  if (!files.length) return;
  const number = ++state.number;
  const found = await call("/api/policy/draft", { body: { files } });
  if (number !== state.number) return; // another file was chosen meanwhile
  const all = Object.entries(found.tables).flatMap(([table, columns]) => columns.map((column) => `${table}.${column}`));
  const likely = found.likely.length ? found.likely : all;
  const radio = (name) => h("label", { class: "pick" }, h("input", { type: "radio", name: "unit", value: name, checked: name === state.unit, onchange: () => draft(name).catch(tell) }), word(name, "mono"));
  const each = (name) => h("label", { class: "pick" }, h("input", { type: "radio", name: "unit", value: name, checked: name === state.unit, onchange: () => draft(name).catch(tell) }), "each row is one person");
  const others = h("select", { "aria-label": "Another column", onchange: (event) => event.target.value && draft(event.target.value).catch(tell) }, h("option", { value: "" }, "another column …"), all.map((name) => h("option", {}, name)));
  $("units").replaceChildren(h("p", { class: "quiet" }, "Choose the column that identifies a person. Every answer protects the people it identifies."), ...likely.slice(0, 6).map(radio), ...Object.keys(found.tables).slice(0, 1).map((table) => (Object.keys(found.tables).length === 1 ? each(`${table}.row`) : null)).filter(Boolean), others);
}

async function draft(unit) {
  state.unit = unit;
  fields.clear();
  const found = await call("/api/policy/draft", { body: { files: chosen(), unit } });
  $("text").value = found.text;
  for (const id of ["budget", "decide", "finish"]) $(id).hidden = false;
  await setBudget();
}

// Odds first: what an epsilon does to a suspicion, from the server.
async function setBudget() {
  state.epsilon = String(Number((10 ** (Number($("epsilon").value) / 20)).toPrecision(2)));
  const odds = await call(`/api/odds?epsilon=${state.epsilon}&adjacency=add-remove`);
  $("odds").replaceChildren(h("strong", { class: "cost" }, `ε ${state.epsilon}`), `: whatever all analysts together ever query, ${odds.words}.`);
  $("text").value = $("text").value.replace(/^epsilon = .*$/m, `epsilon = ${state.epsilon}`);
  await judge();
}

async function judge() {
  const text = $("text").value;
  if (!text.trim()) return;
  const found = await call("/api/policy/check", { body: { text } });
  if (text !== $("text").value) return;
  const open = found.problems.filter((one) => text.slice(place(text, one.position)).startsWith('"?"'));
  const wrong = found.problems.filter((one) => !open.includes(one));
  $("save").disabled = found.problems.length > 0;
  const focused = document.activeElement; // what is being typed stays, and so does the cursor
  $("fields").replaceChildren(
    h("p", { class: "quiet" }, open.length ? `${open.length} ${open.length === 1 ? "decision" : "decisions"} left. Lines marked "check" are guesses from a column name.` : wrong.length ? "" : "All decided. Review the lines marked \"check\" once more."),
    ...open.map((one) => fieldOf(one, place(text, one.position))),
    ...problemsOf(wrong, $("text")),
    ...lists(text),
  );
  if (focused?.isConnected) focused.focus();
}

// One field for one decision, for as long as it is open.
const fields = new Map();

function keep(name, make) {
  if (!fields.has(name)) fields.set(name, make());
  return fields.get(name);
}

// Texts that could be grouped by, if the owner says which values there are.
function lists(text) {
  const found = [];
  let table = "";
  for (const line of text.split("\n")) {
    table = /^\[tables\.(.+)\.columns\]$/.exec(line)?.[1] ?? table;
    const name = /^(\S+) *= \{ type = "text", max_length = \d+ \} .*or values = /.exec(line)?.[1];
    if (name) found.push([`${table}.${name}`, line]);
  }
  if (!found.length) return [];
  const field = ([name, line]) => keep(line, () => {
    const input = h("input", { autocomplete: "off", size: 24, placeholder: "a, b, c", onchange: () => input.value.trim() && put(line, `${line.split("=")[0]}= { values = ${literal("values", input.value)} }`) });
    return h("div", { class: "field" }, h("label", {}, word(`${name}: values`, "mono"), input));
  });
  return [h("p", { class: "quiet" }, "To group by a text column, list its values; any other becomes NULL."), ...found.map(field)];
}

function put(line, wanted) {
  $("text").value = $("text").value.replace(line, () => wanted);
  judge().catch(tell);
}

function fieldOf(one, at) {
  const field = keep(one.message, () => makeField(one.message, one.hint));
  field.dataset.at = at;
  return field;
}

function makeField(message, hint) {
  const [, key, section] = /^(\S+) in \[(.*)\]/.exec(message) ?? [null, message, ""];
  const path = section.split(".");
  const where = path.slice(1).filter((part) => part !== "columns").join(".");
  const input = h("input", { autocomplete: "off", size: 14, placeholder: key === "values" ? 'a, b, c' : key === "unit" ? "column" : "" });
  const set = () => input.value.trim() && replace(field, literal(key, input.value.trim()));
  input.addEventListener("change", set);
  const open = key === "unit" ? h("button", { type: "button", class: "plain", onclick: () => makePublic(path[1]) }, "public: no row is about a person") : null;
  const field = h("div", { class: "field" }, h("label", {}, word(where ? `${where}: ${key}` : key, "mono"), input), open, h("p", { class: "quiet" }, hint ?? ""));
  return field;
}

// As TOML: numbers and days as they are, everything else as text.
function literal(key, value) {
  const text = (one) => JSON.stringify(one);
  if (key === "values") return `[${value.split(",").map((one) => text(one.trim())).join(", ")}]`;
  return /^[-+]?\d[\d_]*(\.\d+)?$|^\d{4}-\d\d-\d\d$/.test(value) ? value : text(value);
}

// In place of its "?"; whatever stands behind it moves.
function replace(field, value) {
  const [text, at] = [$("text").value, Number(field.dataset.at)];
  if (!text.startsWith('"?"', at)) return judge().catch(tell);
  $("text").value = text.slice(0, at) + value + text.slice(at + 3);
  for (const other of fields.values()) if (Number(other.dataset.at) > at) other.dataset.at = Number(other.dataset.at) + value.length - 3;
  judge().catch(tell);
}

// The section of a table becomes one line.
function makePublic(table) {
  const lines = $("text").value.split("\n");
  const start = lines.indexOf(`[tables.${table}]`);
  if (start < 0) return;
  let end = lines.findIndex((line, i) => i > start && line.startsWith("[") && line !== `[tables.${table}.columns]`);
  if (end < 0) end = lines.length;
  lines.splice(start, end - start, `[tables.${table}]`, "public = true", "");
  $("text").value = lines.join("\n");
  judge().catch(tell);
}

async function save(event) {
  event.preventDefault();
  const done = await call("/api/policy/write", { body: { name: $("name").value.trim(), text: $("text").value } });
  $("done").replaceChildren(h("strong", {}, `${done.name} was written. `), "On the server: ", h("code", {}, `sfumato check -p ${done.name}`), " reads the rows once and reports mismatches; ", h("code", {}, `sfumato serve -p ${done.name}`), " serves it.");
}

async function list(ticked) {
  const found = await call("/api/policy/sources");
  [most, served] = [found.most, found.served];
  $("most").textContent = `CSV or Parquet, up to ${size(most)}`;
  const box = (name) => h("label", { class: "pick" }, h("input", { type: "checkbox", value: name, checked: ticked.includes(name), onchange: () => findPeople().catch(tell) }), word(name, "mono"));
  $("files").replaceChildren(...(found.files.length ? found.files.map(box) : [h("p", { class: "empty" }, "There are no data files (.parquet, .csv, .tsv, .jsonl or .duckdb) in the policy's folder.")]));
}

async function send() {
  const [file] = $("file").files;
  if (!file) return;
  say("");
  $("file").value = ""; // the same file may be chosen once more
  if (file.size > most) return say(`${file.name} is ${size(file.size)}; uploads are limited to ${size(most)}. Copy larger files into the policy's folder on the server.`, { kind: "bad" });
  const progress = (part) => { $("sent").value = part; $("sent-words").textContent = part < 1 ? `${Math.floor(part * 100)} % sent` : "Reading its columns …"; };
  progress(0);
  $("sending").hidden = false;
  $("file").disabled = true;
  try {
    const done = await upload(file, { progress, stop: (end) => ($("stop").onclick = end) });
    await list([...chosen(), done.name]);
    await findPeople();
    say(done.name === file.name ? `${done.name} was uploaded.` : `${file.name} was uploaded as ${done.name}.`);
  } finally {
    $("sending").hidden = true;
    $("file").disabled = false;
  }
}

async function begin() {
  const there = frame().then(() => list([]));
  $("file").addEventListener("change", () => there.then(send).catch(tell)); // also who is quicker than the page
  await there;
  $("epsilon").addEventListener("input", pause(() => setBudget().catch(tell), 120));
  $("text").addEventListener("input", pause(() => judge().catch(tell), 400));
  $("write").addEventListener("submit", (event) => save(event).catch(tell));
}

begin().catch(tell);
