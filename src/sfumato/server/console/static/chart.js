// A chart of an answer: bars, lines or points by the types of its columns; whiskers are the answer's own intervals.
import { isTime, position, range, wide } from "./axes.js";
import { bars, groupedBars } from "./bars.js";
import { cellMap, isCell } from "./cellmap.js";
import { h } from "./dom.js";
import { hasBand, lines, thin } from "./lines.js";
import { brief, shown, toNumber } from "./numbers.js";
import { bySeries, isCode, largestSeries, nameOf, seriesPlan } from "./series.js";

const MOST_BARS = 30, MOST_GROUPED = 60;
const ORDERED = ["date", "timestamp", "bigint", "numeric"];

const isNumber = (type) => type === "bigint" || type === "numeric";
export const noisy = (answer) => answer.columns.map((_, i) => answer.intervals.some((row) => row[i] !== null));

// What can be drawn: which columns are measures, which one is the key.
export function planOf(answer) {
  const withEnds = noisy(answer);
  const measures = answer.columns.map((_, i) => i).filter((i) => withEnds[i] && isNumber(answer.types[i]));
  const keys = answer.columns.map((_, i) => i).filter((i) => !withEnds[i]);
  if (!measures.length || !answer.rows.length || answer.rows.length === 1) return null;
  const several = seriesPlan(answer, keys);
  if (several) return { measures, keys, ...several };
  const key = keys.length === 1 ? keys[0] : null;
  const named = key === null ? [] : answer.rows.map((row) => row[key]).filter((value) => value !== null);
  if (named.length > 1 && named.every((value) => isCell(value))) return { measures, keys, key, kind: "map" };
  const ordered = key !== null && !isCode(answer.columns[key], answer.types[key]) && ORDERED.includes(answer.types[key]) && answer.rows.length > 2;
  return { measures, keys, key, kind: ordered ? (isTime(answer.types[key]) || answer.rows.length > 12 ? "line" : "points") : "bars" };
}

export function chartOf(answer, plan, measure) {
  const unknown = new Set(answer.unknown.filter(([, column]) => column === measure).map(([row]) => row)); // a bar would be a number
  const rows = answer.rows.map((row, i) => ({
    unknown: unknown.has(i),
    name: nameOf(row, plan.keys),
    group: plan.key === null ? "" : nameOf(row, [plan.key]),
    series: nameOf(row, plan.series ?? []),
    at: plan.key === null ? null : position(row[plan.key], answer.types[plan.key], toNumber),
    value: toNumber(row[measure]),
    ends: (answer.intervals[i][measure] ?? [null, null]).map(toNumber),
    said: shown(row[measure], answer.intervals[i][measure], answer.types[measure]),
  }));
  const all = rows.filter((one) => one.value !== null && Number.isFinite(one.value) && !one.unknown);
  const name = answer.columns[measure];
  if (plan.kind === "map") {
    const { picture, said } = cellMap(all, name, wide());
    return h("figure", {}, picture, h("figcaption", { class: "quiet" }, said));
  }
  const { picture, said } = { bars: drawBars, groups: drawGroups, line: drawLines, points: drawLines }[plan.kind](answer, plan, rows, all, name);
  const notDrawn = unknown.size ? [`${many(unknown.size)} unknown ${unknown.size === 1 ? "number is" : "numbers are"} not drawn.`] : [];
  return h("figure", {}, picture, h("figcaption", { class: "quiet" }, [...said, ...notDrawn].join(" ")));
}

const contain = (answer, what) => `${what} the exact number with ${brief(toNumber(answer.confidence) * 100)} % confidence.`;
const headOf = (answer, plan) => (plan.series ?? []).map((k) => answer.columns[k]).join(" · ");

// At most eight series are drawn; which ones, and that there are more.
function largest(answer, plan, all, name, what) {
  const { chosen, of } = largestSeries(all);
  return { chosen, said: of > chosen.length ? [`Showing ${chosen.length} of ${many(of)} ${what} (by ${headOf(answer, plan)}), those with the largest ${name} in total; the table has all.`] : [] };
}

function drawBars(answer, plan, rows, all, name) {
  const drawn = all.slice(0, MOST_BARS);
  const left = all.length > drawn.length ? [`Showing the first ${many(drawn.length)} of ${many(all.length)} rows.`] : [];
  return { picture: bars(drawn, name), said: [contain(answer, "Whiskers contain"), ...left] };
}

function drawGroups(answer, plan, rows, all, name) {
  const told = rows.filter((one) => one.unknown || Number.isFinite(one.value)).map((one) => (one.unknown ? { ...one, value: 0 } : one));
  const { chosen, said } = largest(answer, plan, told, name, "colours");
  const groups = new Map();
  for (const one of rows.filter((row) => chosen.includes(row.series))) {
    if (!groups.has(one.group)) groups.set(one.group, new Map());
    if (one.unknown || Number.isFinite(one.value)) groups.get(one.group).set(one.series, one);
  }
  const shownGroups = [...groups].slice(0, Math.max(1, Math.floor(MOST_GROUPED / Math.max(1, chosen.length))));
  const axis = answer.columns[plan.key];
  const left = groups.size > shownGroups.length ? [`Showing the first ${many(shownGroups.length)} of ${many(groups.size)} groups (by ${axis}).`] : [];
  return { picture: groupedBars(shownGroups, chosen, name, axis, headOf(answer, plan)), said: [contain(answer, "Whiskers contain"), ...said, ...left] };
}

function drawLines(answer, plan, rows, all, name) {
  const placed = all.filter((one) => one.at !== null && Number.isFinite(one.at));
  const { chosen, said } = plan.series ? largest(answer, plan, placed, name, "lines") : { chosen: [""], said: [] };
  const series = [...bySeries(placed)].filter(([one]) => chosen.includes(one));
  const names = new Map(rows.filter((one) => one.at !== null).map((one) => [one.at, answer.types[plan.key] === "date" ? one.group.slice(0, 10) : one.group]));
  const axis = { name: answer.columns[plan.key], type: answer.types[plan.key] };
  const points = series.flatMap(([, part]) => part), drawn = series.flatMap(([, part]) => thin(part));
  const picture = lines(series, { name, axis, head: headOf(answer, plan), places: [...names.keys()].sort((a, b) => a - b), names, joined: plan.kind === "line" });
  const [low] = range(points, false);
  return { picture, said: [
    contain(answer, hasBand(points.length) && plan.kind === "line" ? (series.length > 1 ? "Bands contain" : "The band contains") : "Whiskers contain"), ...said,
    ...(low > 0 ? [`The axis starts at ${brief(low)}, not at 0.`] : []),
    ...(drawn.length < points.length ? [`Showing ${many(drawn.length)} of ${many(points.length)} rows: the minimum and maximum of each interval.`] : []),
    ...(placed.length < all.length ? [`Rows without a ${axis.name} are not drawn.`] : []),
  ] };
}

const many = (number) => number.toLocaleString("en");
