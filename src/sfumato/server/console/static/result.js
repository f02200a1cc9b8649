// The answer: a table with its intervals, a chart, notes, the receipt, and what to do with it next.
import { wrapped } from "./axes.js";
import { chartOf, noisy, planOf } from "./chart.js";
import { h, s, word } from "./dom.js";
import { brief, shown, toNumber } from "./numbers.js";
import { COLOURS } from "./series.js";

const FIRST = 200;
const isNumber = (type) => type === "bigint" || type === "numeric";

export function showResult(host, answer, { asked, onLaw, onDraw, onCopy, onExport, laws }) {
  const withEnds = noisy(answer);
  const plan = planOf(answer);
  const parts = [headline(answer), answer.rows.length ? h("div", { class: "both" }, tableOf(answer, withEnds), plan ? chartBox(answer, plan) : null) : h("p", { class: "empty" }, empty(answer))];
  if (answer.notes.length) {
    parts.push(h("ul", { class: "notes" }, answer.notes.map(([column, text]) => h("li", {}, column ? h("strong", {}, word(column), " ") : null, text))));
  }
  const pictured = laws.filter((one) => one.drawn);
  if (!plan && answer.rows.length === 1 && pictured.length) {
    const place = h("div", { class: "drawing" });
    parts[1].append(place);
    onDraw(pictured[0].number).then((made) => place.append(made), () => place.remove());
  }
  parts.push(h("div", { class: "foot" },
    pictured.length > 1
      ? h("span", { class: "group" }, h("span", { class: "quiet" }, "effect of one person on"), pictured.map((one) => h("button", { class: "plain", onclick: () => onLaw(one.number) }, word(one.name, "mono"))))
      : pictured.map((one) => h("button", { onclick: () => onLaw(one.number) }, "Effect of one person")),
    plan ? h("button", { class: "plain", onclick: () => saveChart(host.querySelector("svg.chart")) }, "Download chart") : null,
    h("span", { class: "group" }, h("span", { class: "quiet" }, "copy as"), (document.body.dataset.pg ? ["psql", "pandas", "SQLAlchemy", "curl"] : ["curl"]).map((kind) => h("button", { class: "plain", onclick: () => onCopy(kind, asked) }, kind))),
    h("span", { class: "group" }, h("span", { class: "quiet" }, "export"), ["CSV", "Parquet", "Arrow"].map((kind) => h("button", { class: "plain", onclick: () => onExport(kind, asked) }, kind))),
  ));
  host.replaceChildren(...parts);
}

// A group can be missing because few people are in it; the note below says how many it takes.
const empty = (answer) => (answer.notes.some(([, text]) => text.endsWith("(thresholding)")) ? "No rows. Groups with too few people are not shown: see the notes." : "No rows.");

function headline(answer) {
  const free = ["epsilon", "rho", "delta"].every((name) => !toNumber(answer.cost[name]));
  const price = answer.cost.epsilon === null ? `ρ ${brief(answer.cost.rho)}` : `ε ${brief(answer.cost.epsilon)}`;
  const delta = toNumber(answer.cost.delta) ? ` and δ ${brief(answer.cost.delta)}` : "";
  return h("div", { class: "headline" },
    h("h2", {}, "Answer"),
    h("span", { class: free ? "" : "cost" }, free ? "free" : `spent ${price}${delta}`),
    answer.receipt ? h("span", { class: "quiet mono", title: answer.receipt }, `receipt ${answer.receipt.slice(0, 8)}…`) : null,
    h("span", { class: "quiet push" }, free && answer.receipt ? "the stored answer" : "repeating this query is free and returns the same answer"),
  );
}

function tableOf(answer, withEnds) {
  const order = answer.rows.map((_, i) => i);
  const heads = answer.columns.map((name, i) => h("th", { scope: "col", class: isNumber(answer.types[i]) ? "right" : null }, h("button", { class: "sort", title: "Sort by this column", onclick: () => sortBy(i) }, word(name)), withEnds[i] ? h("span", { class: "ends" }, `± at ${brief(toNumber(answer.confidence) * 100)} %`) : null));
  const head = h("tr", {}, heads);
  const body = h("tbody");
  const unknown = new Set(answer.unknown.map(([i, j]) => `${i} ${j}`));
  const besideOf = (row, i, j) => shown(row[j], answer.intervals[i][j], answer.types[j], unknown.has(`${i} ${j}`)).beside.length;
  // Intervals of a column are as wide as its widest, so that the digits of its numbers stand below each other.
  const widths = answer.columns.map((_, j) => (withEnds[j] ? answer.rows.slice(0, FIRST).reduce((most, row, i) => Math.max(most, besideOf(row, i, j)), 0) : 0));
  const rowOf = (row, i) => h("tr", {}, row.map((value, j) => cell(value, withEnds[j] ? answer.intervals[i][j] : undefined, answer.types[j], unknown.has(`${i} ${j}`), widths[j])));
  const fill = (to) => {
    for (let i = body.rows.length; i < Math.min(to, answer.rows.length); i++) body.append(rowOf(answer.rows[order[i]], order[i]));
  };
  const sortBy = (column) => {
    const down = heads[column].getAttribute("aria-sort") === "ascending";
    heads.forEach((one) => one.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", down ? "descending" : "ascending");
    const number = isNumber(answer.types[column]);
    const value = (i) => (answer.rows[i][column] === null ? null : number ? toNumber(answer.rows[i][column]) : String(answer.rows[i][column]));
    const compare = (a, b) => (a === b ? 0 : a === null ? 1 : b === null ? -1 : (a < b ? -1 : 1) * (down ? -1 : 1)); // NULL stays last
    order.sort((a, b) => compare(value(a), value(b)) || a - b);
    const shown = body.rows.length;
    body.replaceChildren();
    fill(shown);
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

function cell(value, ends, type, unknown, width) {
  const right = isNumber(type) ? "right" : null;
  if (value === null && !unknown) return h("td", { class: right }, h("span", { class: "null" }, "NULL"));
  const { text, beside } = shown(value, ends, type, unknown);
  const full = ends && ends.every((end) => end !== null) ? `${value}, between ${ends[0]} and ${ends[1]}` : String(value);
  if (!isNumber(type)) return h("td", { title: text.length > 40 ? text : null }, word(text), beside ? h("span", { class: "ends" }, beside) : null);
  const quiet = h("span", { class: "ends" }, beside);
  quiet.style.minWidth = `calc(${width}ch + 8px)`;
  return h("td", { class: right, title: full }, h("span", { class: "value" }, text), ends === undefined ? null : quiet);
}

const CHART_STYLE = "svg{background:#fff;font:12px system-ui,sans-serif}.rule{stroke:#d9dee5}.tick{fill:#5a6675}.name{fill:#1c2530}.bar-fill{fill:var(--series,#0f62a8);opacity:.75}.whisker{stroke:var(--series,#1c2530)}.zero,.bar-fill~.whisker{stroke:#1c2530}.band{fill:var(--series,#0f62a8);opacity:.15}.path{fill:none;stroke:var(--series,#0f62a8);stroke-width:2}.dot{fill:var(--series,#0f62a8)}" +
  COLOURS.map((color, i) => `.series${i}{--series:${color}}`).join("");

// The chart as a file that looks the same everywhere, with the sentences below it.
function saveChart(picture) {
  const copy = picture.cloneNode(true);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  const style = document.createElementNS("http://www.w3.org/2000/svg", "style");
  style.textContent = CHART_STYLE;
  copy.prepend(style);
  const [, , width, height] = copy.getAttribute("viewBox")?.split(" ").map(Number) ?? [];
  if (height) {
    const said = wrapped(picture.closest("figure")?.querySelector("figcaption")?.textContent ?? "", width - 16);
    said.forEach((line, i) => copy.append(s("text", { x: 8, y: height + 14 + 16 * i, class: "tick" }, line)));
    copy.setAttribute("viewBox", `0 0 ${width} ${height + 16 * said.length + 8}`);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height + 16 * said.length + 8);
  }
  const place = URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" }));
  h("a", { href: place, download: "chart.svg" }).click();
  setTimeout(() => URL.revokeObjectURL(place), 10000);
}

function chartBox(answer, plan) {
  const place = h("div", { class: "drawing" }, chartOf(answer, plan, plan.measures[0]));
  if (plan.measures.length === 1) return place;
  const pick = h("select", { "aria-label": "Column to draw", onchange: () => place.replaceChildren(pick, chartOf(answer, plan, Number(pick.value))) },
    plan.measures.map((i) => h("option", { value: i }, answer.columns[i])));
  place.prepend(pick);
  return place;
}
