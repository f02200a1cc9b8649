// The free preview: what asking costs, how far off each number may be, and what is left afterwards.
import { call } from "./api.js";
import { h, word } from "./dom.js";
import { brief, percent, toNumber } from "./numbers.js";

const LAWS = {
  geometric: "geometric noise, exact",
  gaussian: "Gaussian noise, exact",
  exponential: "chosen by rank, exponential law",
  derived: "computed from noisy numbers",
  exact: "exact: public, or a key",
};
const odds = new Map();

async function suspicion(epsilon) {
  if (!odds.has(epsilon)) odds.set(epsilon, call(`/api/odds?epsilon=${encodeURIComponent(epsilon)}`).catch(() => null));
  return odds.get(epsilon);
}

// Into its place; the odds come from the server as well, a moment later.
export function showPreview(host, preview) {
  const { cost, before, after, columns, notes } = preview;
  if (!cost) return host.replaceChildren(h("p", { class: "quiet" }, "No price: the question is not answered as it stands."));
  const free = ["epsilon", "rho", "delta"].every((name) => !toNumber(cost[name]));
  const said = h("p", { class: "quiet" });
  const parts = [
    h("dl", { class: "sums" }, ...sums(cost, before, after, free)),
    said,
    h("ul", { class: "columns" }, columns.filter((one) => one.law !== "exact").map((one) => columnOf(one, preview.confidence))),
    notes.length ? h("ul", { class: "notes" }, notes.map(([column, text]) => h("li", {}, column ? h("strong", {}, word(column), " ") : null, text))) : null,
  ];
  host.replaceChildren(...parts.filter(Boolean));
  const exact = columns.length > 0 && columns.every((one) => one.law === "exact");
  if (free) said.textContent = exact ? "Free: no private row has a part in it." : "Free: it was asked before, and the answer is the same.";
  else if (cost.epsilon !== null) suspicion(cost.epsilon).then((found) => found && said.replaceChildren(`With this answer, a suspicion of 50 % about anybody becomes ${percent(found.at_most)} at most.`));
  else said.textContent = "Gaussian noise is counted in ρ; it has no ε of its own.";
}

function sums(cost, before, after, free) {
  const sign = cost.epsilon !== null && before.epsilon !== null ? "epsilon" : "rho";
  const symbol = sign === "epsilon" ? "ε" : "ρ";
  const rows = [["cost", free ? "free" : `${symbol} ${brief(cost[sign])}`, "cost"]];
  if (!free && toNumber(cost.delta)) rows.push(["and", `δ ${brief(cost.delta)}`, "cost"]);
  rows.push(["left before", brief(before[sign]), ""], ["left after", brief(after[sign]), ""]);
  if (before.queries !== undefined) rows.push(["like this", `about ${brief(before.queries)} more`, ""]);
  return rows.flatMap(([name, value, kind]) => [h("dt", {}, name), h("dd", { class: kind || null }, value)]);
}

function columnOf(column, confidence) {
  const sure = `${brief(toNumber(confidence) * 100)} %`;
  const width = column.half_width === null ? null : `± ${brief(column.half_width)}`;
  return h("li", {},
    h("div", { class: "pair" }, word(column.name, "mono"), h("span", { class: "width" }, width ?? "± depends")),
    h("p", { class: "quiet" }, [width ? `at ${sure}` : null, column.note || null, LAWS[column.law] ?? column.law].filter(Boolean).join(" · ")),
  );
}
