// The free preview: what asking costs, how far off each number may be, and what is left afterwards.
import { call } from "./api.js";
import { h, word } from "./dom.js";
import { brief, percent, toNumber, wide } from "./numbers.js";

const LAWS = {
  geometric: "geometric noise",
  gaussian: "Gaussian noise",
  exponential: "chosen by rank (exponential mechanism)",
  derived: "computed from noisy numbers",
  exact: "exact: public, or a key",
};
const odds = new Map();

async function suspicion(epsilon) {
  if (!odds.has(epsilon)) odds.set(epsilon, call(`/api/odds?epsilon=${encodeURIComponent(epsilon)}`).catch(() => null));
  return odds.get(epsilon);
}

// Into its place; the odds come from the server as well, a moment later.
export function showPreview(host, preview, { rows = null, onRows = () => null } = {}) {
  const { cost, before, after, columns, notes } = preview;
  if (!cost) return host.replaceChildren(h("p", { class: "quiet" }, preview.refused?.sqlstate === "53400" || preview.refused?.sqlstate === "58000" ? "No cost: nothing is answered now." : preview.refused ? "No cost: this query is refused as written." : ""));
  const free = ["epsilon", "rho", "delta"].every((name) => !toNumber(cost[name]));
  const said = h("p", { class: "quiet" });
  const parts = [
    h("dl", { class: "sums" }, ...sums(cost, before, after, free)),
    said,
    h("ul", { class: "columns" }, columns.filter((one) => one.law !== "exact").map((one) => columnOf(one, preview.confidence))),
    fewer(preview, rows, onRows),
    notes.length ? h("ul", { class: "notes" }, notes.map(([column, text]) => h("li", {}, column ? h("strong", {}, word(column), " ") : null, text))) : null,
  ];
  host.replaceChildren(...parts.filter(Boolean));
  const exact = columns.length > 0 && columns.every((one) => one.law === "exact");
  if (free) said.textContent = exact ? "Free: no private row is used." : "Free: this query was answered before. You get the same answer.";
  else if (cost.epsilon !== null) suspicion(cost.epsilon).then((found) => found && said.replaceChildren(`With this answer, a 50 % suspicion about anybody becomes at most ${percent(found.at_most)}.`));
  else said.textContent = "Gaussian noise is counted in ρ; it has no ε.";
}

// Less of each person, less noise: what fewer rows a person would give, as a choice.
function fewer(preview, rows, onRows) {
  const options = preview.rows_per_unit ?? [];
  if (!options.length && rows === null) return null;
  const tellOf = (one) => {
    const widths = one.half_widths.filter((width) => width !== null).map((width) => `± ${wide(width)}`);
    return [`${one.rows_per_unit} ${one.rows_per_unit === 1 ? "row" : "rows"} per person`, widths.slice(0, 2).join(", "), one.lost === null ? "" : `about ${brief(Number(one.lost) * 100)} % of rows left out`].filter(Boolean).join(" · ");
  };
  const pick = h("select", { "aria-label": "Contribution bound: rows per person that count", onchange: () => onRows(pick.value === "" ? null : Number(pick.value)) },
    h("option", { value: "" }, "rows per person: as in the policy"),
    options.map((one) => h("option", { value: one.rows_per_unit, selected: one.rows_per_unit === rows }, tellOf(one))),
    rows !== null && !options.some((one) => one.rows_per_unit === rows) ? h("option", { value: rows, selected: true }, `${rows} ${rows === 1 ? "row" : "rows"} per person`) : null);
  return h("p", { class: "fewer" }, pick);
}

function sums(cost, before, after, free) {
  const sign = cost.epsilon !== null && before.epsilon !== null ? "epsilon" : "rho";
  const symbol = sign === "epsilon" ? "ε" : "ρ";
  const rows = [["cost", free ? "free" : `${symbol} ${brief(cost[sign])}`, "cost"]];
  if (!free && toNumber(cost.delta)) rows.push(["and", `δ ${brief(cost.delta)}`, "cost"]);
  rows.push(["left before", brief(before[sign]), ""], ["left after", brief(after[sign]), ""]);
  if (before.queries !== undefined) {
    const summed = toNumber(before.epsilon) && toNumber(cost.epsilon) && before.queries * toNumber(cost.epsilon) > toNumber(before.epsilon);
    rows.push(["like this", before.queries ? `about ${brief(before.queries)} more` : "not another one", ""]);
    if (summed) rows.push(["", "composed by zCDP", "quiet"]);
  }
  return rows.flatMap(([name, value, kind]) => [h("dt", {}, name), h("dd", { class: kind || null }, value)]);
}

function columnOf(column, confidence) {
  const sure = `${brief(toNumber(confidence) * 100)} %`;
  const width = column.half_width === null ? null : `± ${wide(column.half_width)}`;
  return h("li", {},
    h("div", { class: "pair" }, word(column.name, "mono"), h("span", { class: "width" }, width ?? (column.law === "exponential" ? "by rank" : "± depends"))),
    h("p", { class: "quiet" }, [width ? `at ${sure}` : null, column.note || null, LAWS[column.law] ?? column.law].filter(Boolean).join(" · ")),
  );
}
