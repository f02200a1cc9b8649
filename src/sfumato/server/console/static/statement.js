// Pieces of a bank statement: moments, prices, standings, a chart of what was spent.
import { h, s, word } from "./dom.js";
import { ticks } from "./axes.js";
import { brief, currencyOf, enoughFor, SYMBOLS, toNumber } from "./numbers.js";

export const moment = (text) => `${text.slice(0, 10)} ${text.slice(11, 19)}`;

export function priceOf(cost) {
  if (!cost) return "";
  const main = cost.epsilon === null ? `ρ ${brief(cost.rho)}` : `ε ${brief(cost.epsilon)}`;
  return toNumber(cost.delta) ? `${main}, δ ${brief(cost.delta)}` : main;
}

export function tableOf(heads, rows, { name, right = [], kind = "" }) {
  return h("div", { class: "box wide", tabindex: 0, role: "region", "aria-label": name }, h("table", { class: kind || null },
    h("thead", {}, h("tr", {}, heads.map((text, i) => h("th", { scope: "col", class: right.includes(i) ? "right" : null }, text || h("span", { class: "unseen" }, "actions"))))),
    h("tbody", {}, rows)));
}

const SHADES = 6;

// Areas on each other, one for each analyst, under the line of what may be spent in all.
export function burn(spending) {
  const { points, total } = spending;
  if (!points.length) return h("p", { class: "empty" }, "No query has been charged yet.");
  const sign = points.at(-1).everybody.epsilon === null ? "rho" : "epsilon";
  const limit = toNumber(total[sign]);
  const names = [...new Set(points.map((one) => one.analyst))].sort();
  const own = Object.fromEntries(names.map((name) => [name, 0]));
  const steps = points.map((one) => {
    own[one.analyst] = toNumber(one.own[sign]) ?? own[one.analyst];
    return { at: Date.parse(one.time), all: toNumber(one.everybody[sign]), ...{ own: { ...own } } };
  });
  const [left, right, top, bottom] = [56, Math.min(1100, innerWidth - 110), 12, 200];
  const span = Math.max(1, steps.at(-1).at - steps[0].at);
  const [first, last] = [steps[0].at, Math.max(steps.at(-1).at + span / 20, Date.now())]; // what was spent last stands until now
  const high = Math.max(...steps.map((one) => Object.values(one.own).reduce((a, b) => a + b, 0)), ...steps.map((one) => one.all));
  const roof = limit !== null && limit < high * 12 ? Math.max(high, limit) : high * 1.1;
  const x = (at) => left + ((at - first) / (last - first)) * (right - left);
  const y = (value) => bottom - (value / roof) * (bottom - top);
  const svg = s("svg", { viewBox: `0 0 ${right + 10} ${bottom + 32}`, class: "chart", role: "img", "aria-label": "What was spent over time, by analyst; the table below has the numbers" });
  for (const tick of ticks(0, roof)) {
    svg.append(s("line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: "rule" }), s("text", { x: left - 8, y: y(tick) + 4, class: "tick", "text-anchor": "end" }, brief(tick)));
  }
  const below = steps.map(() => 0);
  names.forEach((name, i) => {
    const upper = steps.map((one, k) => below[k] + one.own[name]);
    const path = [...stairs(steps, upper, { x, y, last }), ...stairs(steps, below, { x, y, last }).reverse()];
    svg.append(s("polygon", { points: path.join(" "), class: `area shade-${i % SHADES}` }, s("title", {}, `${name}: ${brief(steps.at(-1).own[name])}`)));
    upper.forEach((value, k) => (below[k] = value));
  });
  if (limit !== null && limit <= roof) svg.append(s("line", { x1: left, x2: right, y1: y(limit), y2: y(limit), class: "limit" }), s("text", { x: right, y: y(limit) + 16, class: "tick", "text-anchor": "end" }, `total budget: ${SYMBOLS[sign]} ${brief(limit)}`));
  for (const [at, anchor] of [[first, "start"], [last, "end"]]) svg.append(s("text", { x: x(at), y: bottom + 20, class: "tick", "text-anchor": anchor }, right < 500 ? moment(new Date(at).toISOString()).slice(5, 16) : moment(new Date(at).toISOString())));
  const legend = h("ul", { class: "legend" }, names.map((name, i) => h("li", {}, s("svg", { viewBox: "0 0 12 12", class: "chart swatch" }, s("rect", { width: 12, height: 12, class: `area shade-${i % SHADES}` })), word(name), h("span", { class: "quiet" }, `${SYMBOLS[sign]} ${brief(steps.at(-1).own[name])}`))));
  const note = spending.partition ? "People are partitioned into cells: the amount spent is that of the largest cell, which is less than these areas together." : null;
  return h("figure", { class: "burn" }, svg, h("figcaption", {}, legend, note ? h("p", { class: "quiet" }, note) : null));
}

// Money does not flow between two questions: each step stands until the next.
function stairs(steps, values, { x, y, last }) {
  const found = [`${x(steps[0].at)},${y(0)}`];
  steps.forEach((one, k) => {
    if (k) found.push(`${x(one.at)},${y(values[k - 1])}`);
    found.push(`${x(one.at)},${y(values[k])}`);
  });
  found.push(`${x(last)},${y(values.at(-1))}`);
  return found;
}

// Budgets as bars: total, spent, left.
export function standings(budget) {
  const rows = [{ ...budget, analyst: null }, ...(budget.analysts ?? [])];
  return h("ul", { class: "standings" }, rows.map((one) => {
    const currency = currencyOf(one.remaining);
    const [total, left] = [one.total, one.remaining].map((part) => toNumber(part[currency]));
    const bar = h("span", { class: "left" });
    bar.style.width = `${total > 0 ? Math.min(100, (left / total) * 100) : 0}%`;
    return h("li", {}, one.analyst === null ? h("strong", {}, "all analysts") : word(one.analyst), h("span", { class: "track" }, bar),
      h("span", { class: "words" }, `${SYMBOLS[currency]} ${brief(left)} of ${brief(total)} left`), h("span", { class: "quiet" }, one.queries ? enoughFor(one.queries, { epsilon: one.query_epsilon }, one.remaining) : "not enough for a query at the default cost"));
  }));
}
