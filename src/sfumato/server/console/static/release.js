// Anonymised releases, for owners: pick columns, see loss and risk for each k, make one, read its check, download it.
import { call } from "./api.js";
import { $, h, picture, word } from "./dom.js";
import { frame, say } from "./frame.js";
import { brief } from "./numbers.js";
import { moment, tableOf } from "./statement.js";

const ROLES = [["", "leave out"], ["quasi", "quasi-identifier"], ["sensitive", "sensitive"], ["keep", "keep unchanged"]];
const tell = (error) => say([error.message, error.detail, error.hint].filter(Boolean).join(". "), { kind: "bad" });
let tables = [];

const chosen = (role) => [...document.querySelectorAll("#columns select")].filter((one) => one.value === role).map((one) => one.dataset.column);

function wanted() {
  const sensitive = chosen("sensitive");
  if (sensitive.length > 1) throw new Error("Choose one sensitive column.");
  const words = { table: $("table").value, quasi: chosen("quasi"), keep: chosen("keep"), sensitive: sensitive[0] ?? null };
  for (const name of ["l", "t", "suppress", "method", "hierarchies"]) words[name] = $(name).value.trim() || null;
  return words;
}

function columnOf(column) {
  const select = h("select", { "data-column": column.name, "aria-label": `Role of ${column.name}` }, ROLES.map(([value, text]) => h("option", { value }, text)));
  return h("tr", {}, h("td", {}, word(column.name, "mono")), h("td", { class: "quiet" }, column.type, column.unit ? ", identifies the person" : ""), h("td", {}, select));
}

function showTable() {
  const table = tables.find((one) => one.name === $("table").value);
  $("columns").replaceChildren(tableOf(["column", "type", "role"], table.columns.map(columnOf), { name: "Columns" }));
  $("hierarchies").value = table.hierarchies;
  $("people").hidden = table.one_row;
  $("compared").replaceChildren();
  $("made").replaceChildren();
}

async function busy(button, text, work) {
  const before = button.textContent;
  button.disabled = true;
  button.textContent = text;
  say("");
  try {
    await work();
  } catch (error) {
    tell(error);
  } finally {
    button.disabled = false;
    button.textContent = before;
  }
}

const HEADS = ["k", "loss", "gap", "suppressed", "classes", "average", "prosecutor", "marketer", "unique rows", ""];

function rowOf(one, words) {
  const measures = one.measures;
  const numbers = [one.k, one.loss, one.gap, one.suppressed, measures.classes, measures.average_class_size, measures.prosecutor, measures.marketer, measures.uniques];
  const button = h("button", { type: "button", "aria-label": `Make the release for k = ${one.k}`, onclick: () => busy(button, "Working…", () => make(words, one.k)) }, "Make release");
  return h("tr", {}, numbers.map((number) => h("td", { class: "right" }, brief(number, 4))), h("td", {}, one.k > 1 ? button : h("span", { class: "quiet" }, one.loss ? "no k" : "the table itself")));
}

async function compare() {
  const words = wanted();
  const found = await call("/api/release/compare", { body: words });
  const open = found.releases.some((one) => one.gap);
  $("compared").replaceChildren(h("section", { class: "panel", "aria-label": "Loss and risk" }, h("h2", {}, h("span", { class: "step" }, "3"), " Loss and risk for each k"),
    tableOf(HEADS, found.releases.map((one) => rowOf(one, words)), { name: "Loss and risk for each k", right: [0, 1, 2, 3, 4, 5, 6, 7, 8] }),
    h("p", { class: "quiet" }, "Loss: the fraction of a column's domain that a label hides, 1 for a suppressed row. Risk: the probability that somebody who knows the quasi-identifiers identifies the right row.",
      open ? " The search ended early: the gap is how much less another release could lose." : ""),
    found.picture ? h("div", { class: "picture plain" }, picture(found.picture)) : null));
}

const faultOf = (one) => h("li", {}, h("strong", {}, one.kind), one.column ? [" in ", word(one.column, "mono")] : "", `: ${one.words}. ${one.hint}`);
const linkOf = (one) => h("a", { href: `/api/release/file?name=${encodeURIComponent(one.name)}`, download: `release-${one.name}` }, "Download CSV");

function verdict(check) {
  if (!check) return h("p", { class: "quiet" }, "This table is too large to check here. Run sfumato release-check on the file.");
  const reached = [`k = ${check.k}`, check.l.distinct === null ? null : `l = ${check.l.distinct}`, check.t.equal ? `t = ${brief(check.t.equal)}` : null];
  const scope = h("p", { class: "quiet" }, `Checked exactly: ${check.scope.exact.join(", ")}. ${check.scope.rules_of_thumb.length ? `By heuristics: ${check.scope.rules_of_thumb.join(", ")}. ` : ""}Not checked: ${check.scope.not_checked.join(", ")}.`);
  const unread = Object.keys(check.not_checked);
  if (!check.faults.length && !check.passed) return [h("p", { class: "chain broken" }, `The independent check found no fault, but could not check everything${unread.length ? `: labels of ${unread.join(", ")} are not known` : ""}.`), scope];
  if (!check.faults.length) return [h("p", { class: "chain good" }, `The independent check found no fault: ${reached.filter(Boolean).join(", ")}.`), scope];
  return [h("p", { class: "chain broken" }, "The independent check found faults. Do not publish this release."), h("ul", { class: "notes" }, check.faults.map(faultOf))];
}

async function make(words, k) {
  const found = await call("/api/release/make", { body: { ...words, k } });
  const one = found.release;
  $("made").replaceChildren(h("section", { class: "panel", "aria-label": "The release" }, h("h2", {}, h("span", { class: "step" }, "4"), " The release"),
    h("p", {}, `${brief(one.released, 9)} of ${brief(one.rows, 9)} rows, loss ${brief(one.loss, 4)}${one.optimal ? ", the least of all generalisations" : ""}.`),
    verdict(found.check), h("p", {}, linkOf(found.made)),
    h("p", { class: "quiet" }, "It resists linking by these columns only; run sfumato attack all --release to see the remaining risk.")));
  await refresh();
}

const madeOf = (one) => h("tr", {}, h("td", { class: "nowrap" }, moment(one.when)), h("td", {}, word(one.table)), h("td", {}, word(one.quasi.join(", "))), h("td", { class: "right" }, brief(one.k, 9)), h("td", { class: "right" }, brief(one.rows, 9)), h("td", {}, linkOf(one)));

async function refresh() {
  const found = await call("/api/release");
  tables = found.tables;
  const rows = [...found.made].reverse().map(madeOf);
  $("list").replaceChildren(rows.length ? tableOf(["made (UTC)", "table", "quasi-identifiers", "k", "rows", ""], rows, { name: "Releases made here", right: [3, 4] }) : h("p", { class: "empty" }, "None."));
}

async function begin() {
  await frame();
  await refresh();
  $("table").replaceChildren(...tables.map((one) => h("option", { value: one.name }, one.name)));
  $("table").addEventListener("change", showTable);
  $("wanted").addEventListener("submit", (event) => {
    event.preventDefault();
    busy($("compare"), "Searching…", compare);
  });
  if (!tables.length) return $("wanted").replaceChildren(h("p", { class: "empty" }, "This policy has no table that is a single file or database table. Use sfumato anonymize."));
  showTable();
}

begin().catch(tell);
