// The free preview: what asking costs, how far off each number may be, and what is left afterwards.
import { call } from "./api.js";
import { h, word } from "./dom.js";
import { brief, currencyOf, enoughFor, SYMBOLS, toNumber, wide } from "./numbers.js";

const LAWS = {
  geometric: "geometric noise",
  gaussian: "Gaussian noise",
  exponential: "chosen by rank (exponential mechanism)",
  derived: "computed from noisy numbers",
  exact: "exact: public data or a declared key",
};
const odds = new Map();

async function suspicion(epsilon) {
  if (!odds.has(epsilon)) odds.set(epsilon, call(`/api/odds?epsilon=${encodeURIComponent(epsilon)}`).catch(() => null));
  return odds.get(epsilon);
}

// Into its place; the odds come from the server as well, a moment later.
export function showPreview(host, preview, { rows = null, onRows = () => null } = {}) {
  const { cost, before, columns, notes } = preview;
  if (!cost) return host.replaceChildren(h("p", { class: "quiet" }, preview.refused?.sqlstate === "53400" || preview.refused?.sqlstate === "58000" ? "No query is answered now. Nothing is charged." : preview.refused ? "This query cannot run as written. Nothing is charged." : ""));
  const free = ["epsilon", "rho", "delta"].every((name) => !toNumber(cost[name]));
  const said = h("p", { class: "quiet" });
  const parts = [
    h("dl", { class: "sums" }, ...sums(preview, free)),
    free || before.queries === undefined ? null : h("p", { class: "quiet" }, before.queries ? `What is left is ${enoughFor(before.queries, cost, before, true)}.` : "Too little is left for another one like this."),
    said,
    h("ul", { class: "columns" }, columns.filter((one) => one.law !== "exact").map((one) => columnOf(one, preview.confidence))),
    fewer(preview, rows, onRows),
    notes.length ? h("ul", { class: "notes" }, notes.map(([column, text]) => h("li", {}, column ? h("strong", {}, word(column), " ") : null, text))) : null,
  ];
  host.replaceChildren(...parts.filter(Boolean));
  const exact = columns.length > 0 && columns.every((one) => one.law === "exact");
  if (free) said.textContent = exact ? "Free: this query does not depend on private data." : "Free: already answered. You get the same answer again.";
  else if (cost.epsilon !== null) suspicion(cost.epsilon).then((found) => found && said.replaceChildren(`With this answer, ${found.words}${toNumber(cost.delta) ? ` (except with probability ${brief(cost.delta)}${found.words.includes("in the data") ? "; for values, somewhat more" : ""})` : ""}.`));
  else said.textContent = "Gaussian noise is tracked in ρ; it has no pure ε.";
}

// Of keys that are not declared: from about which size on they are shown.
const keysOf = (keys) => keys ? `groups from about ${brief(keys.size)}${keys.unit === "people" ? " people" : ""} shown` : "";

// Less of each person, less noise: what fewer rows a person would give, as a choice.
function fewer(preview, rows, onRows) {
  const options = preview.rows_per_unit ?? [];
  if (!options.length && rows === null) return null;
  const tellOf = (one) => {
    const widths = one.half_widths.filter((width) => width !== null).map((width) => `± ${wide(width)}`);
    return [`${one.rows_per_unit} ${one.rows_per_unit === 1 ? "row" : "rows"} per person`, widths.slice(0, 2).join(", "), one.lost === null ? "" : `about ${brief(Number(one.lost) * 100)} % of rows not counted`, keysOf(one.keys)].filter(Boolean).join(" · ");
  };
  const pick = h("select", { "aria-label": "Contribution bound: rows per person that count", onchange: () => onRows(pick.value === "" ? null : pick.value === "auto" ? "auto" : Number(pick.value)) },
    h("option", { value: "" }, "rows per person: as in the policy"),
    h("option", { value: "auto", selected: rows === "auto" }, "rows per person: estimated, for a fifth of ε"),
    options.map((one) => h("option", { value: one.rows_per_unit, selected: one.rows_per_unit === rows }, tellOf(one))),
    rows !== null && rows !== "auto" && !options.some((one) => one.rows_per_unit === rows) ? h("option", { value: rows, selected: true }, `${rows} ${rows === 1 ? "row" : "rows"} per person`) : null);
  return h("p", { class: "fewer" }, pick);
}

function sums({ cost, before, after, refused }, free) {
  const sign = cost.epsilon === null ? "rho" : currencyOf(before);
  const symbol = SYMBOLS[sign];
  const rows = [["cost", free ? "free" : `${symbol} ${brief(cost[sign])}`, "cost"]];
  if (!free && toNumber(cost.delta)) rows.push(["and", `δ ${brief(cost.delta)}`, "cost"]);
  rows.push(["budget now", `${symbol} ${brief(before[sign])}`, ""], ["budget after", refused ? "–" : `${symbol} ${brief(after[sign])}`, ""]);
  return rows.flatMap(([name, value, kind]) => [h("dt", {}, name), h("dd", { class: kind || null }, value)]);
}

function columnOf(column, confidence) {
  const sure = `${brief(toNumber(confidence) * 100)} %`;
  const width = column.half_width === null ? null : `± ${wide(column.half_width)}`;
  return h("li", {},
    h("div", { class: "pair" }, word(column.name, "mono"), h("span", { class: "width" }, width ?? (column.law === "exponential" ? "by rank" : "± depends on group size"))),
    h("p", { class: "quiet" }, [width ? `at ${sure}` : null, column.note || null, LAWS[column.law] ?? column.law].filter(Boolean).join(" · ")),
  );
}
