// The answer: a table with its intervals, a chart, notes, the receipt, and what to do with it next.
import { chartOf, noisy, planOf } from "./chart.js";
import { h, word } from "./dom.js";
import { brief, shown, toNumber } from "./numbers.js";

const FIRST = 200;
const isNumber = (type) => type === "bigint" || type === "numeric";

export function showResult(host, answer, { asked, onLaw, onDraw, onCopy, onExport, laws }) {
  const withEnds = noisy(answer);
  const plan = planOf(answer);
  const parts = [headline(answer), answer.rows.length ? h("div", { class: "both" }, tableOf(answer, withEnds), plan ? chartBox(answer, plan) : null) : h("p", { class: "empty" }, "No rows. With open keys that is an answer too: no group had enough people to be shown.")];
  if (answer.notes.length) {
    parts.push(h("ul", { class: "notes" }, answer.notes.map(([column, text]) => h("li", {}, column ? h("strong", {}, word(column), " ") : null, text))));
  }
  const pictured = laws.filter((one) => one.drawn);
  if (!plan && answer.rows.length === 1 && pictured.length) {
    const place = h("div", { class: "drawing whole" });
    parts[1].append(place);
    onDraw(pictured[0].number).then((made) => place.append(made), () => place.remove());
  }
  parts.push(h("div", { class: "foot" },
    pictured.length > 1
      ? h("span", { class: "group" }, h("span", { class: "quiet" }, "what one person changes in"), pictured.map((one) => h("button", { class: "plain", onclick: () => onLaw(one.number) }, word(one.name, "mono"))))
      : pictured.map((one) => h("button", { onclick: () => onLaw(one.number) }, "What one person changes")),
    h("span", { class: "group" }, h("span", { class: "quiet" }, "copy as"), (document.body.dataset.pg ? ["psql", "pandas", "SQLAlchemy", "curl"] : ["curl"]).map((kind) => h("button", { class: "plain", onclick: () => onCopy(kind, asked) }, kind))),
    h("span", { class: "group" }, h("span", { class: "quiet" }, "export"), ["CSV", "Parquet", "Arrow"].map((kind) => h("button", { class: "plain", onclick: () => onExport(kind, asked) }, kind))),
  ));
  host.replaceChildren(...parts);
}

function headline(answer) {
  const free = ["epsilon", "rho", "delta"].every((name) => !toNumber(answer.cost[name]));
  const price = answer.cost.epsilon === null ? `ρ ${brief(answer.cost.rho)}` : `ε ${brief(answer.cost.epsilon)}`;
  const delta = toNumber(answer.cost.delta) ? ` and δ ${brief(answer.cost.delta)}` : "";
  return h("div", { class: "headline" },
    h("h2", {}, "Answer"),
    h("span", { class: free ? "" : "cost" }, free ? "cost nothing" : `spent ${price}${delta}`),
    answer.receipt ? h("span", { class: "quiet mono", title: answer.receipt }, `receipt ${answer.receipt.slice(0, 8)}…`) : null,
    h("span", { class: "quiet push" }, free && answer.receipt ? "the stored answer: noise cannot be averaged away" : "asked again it is free, and the same"),
  );
}

function tableOf(answer, withEnds) {
  const head = h("tr", {}, answer.columns.map((name, i) => h("th", { scope: "col", class: isNumber(answer.types[i]) ? "right" : null }, word(name), withEnds[i] ? h("span", { class: "ends" }, `± at ${brief(toNumber(answer.confidence) * 100)} %`) : null)));
  const body = h("tbody");
  const rowOf = (row, i) => h("tr", {}, row.map((value, j) => cell(value, withEnds[j] ? answer.intervals[i][j] : undefined, answer.types[j])));
  const fill = (to) => {
    for (let i = body.rows.length; i < Math.min(to, answer.rows.length); i++) body.append(rowOf(answer.rows[i], i));
  };
  fill(FIRST);
  const more = h("button", { class: "plain", onclick: () => { fill(body.rows.length + 1000); tellMore(); } });
  const tellMore = () => {
    more.hidden = body.rows.length >= answer.rows.length;
    more.textContent = `${brief(body.rows.length, 6)} of ${brief(answer.rows.length, 6)} rows; show more`;
  };
  tellMore();
  return h("div", { class: "box", tabindex: 0, role: "region", "aria-label": "Rows" }, h("table", {}, h("thead", {}, head), body), more);
}

function cell(value, ends, type) {
  const right = isNumber(type) ? "right" : null;
  if (value === null) return h("td", { class: right }, h("span", { class: "null" }, "NULL"));
  const { text, beside } = shown(value, ends, type);
  const full = ends && ends.every((end) => end !== null) ? `${value}, between ${ends[0]} and ${ends[1]}` : String(value);
  if (!isNumber(type)) return h("td", { title: text.length > 40 ? text : null }, word(text));
  return h("td", { class: right, title: full }, h("span", { class: "value" }, text), ends === undefined ? null : h("span", { class: "ends" }, beside));
}

function chartBox(answer, plan) {
  const place = h("div", { class: "drawing" }, chartOf(answer, plan, plan.measures[0]));
  if (plan.measures.length === 1) return place;
  const pick = h("select", { "aria-label": "Column to draw", onchange: () => place.replaceChildren(pick, chartOf(answer, plan, Number(pick.value))) },
    plan.measures.map((i) => h("option", { value: i }, answer.columns[i])));
  place.prepend(pick);
  return place;
}
