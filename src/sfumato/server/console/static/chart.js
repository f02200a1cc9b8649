// A chart of an answer: bars, a line or points by the types of its columns; whiskers are the answer's own intervals.
import { cellMap, isCell } from "./cellmap.js";
import { h, s } from "./dom.js";
import { brief, shown, toNumber } from "./numbers.js";

const MOST_BARS = 30, MOST_POINTS = 600, MOST_WHISKERS = 60, MOST_LINES = 5;
// Whole numbers that are names: a chart of them has bars, and no axis.
const CODE = /(^|_)(zip|zipcode|postcode|postal|plz|code|id|ward|district)(_|$)/i;
const ORDERED = ["date", "timestamp", "bigint", "numeric"];
const isTime = (type) => type === "date" || type === "timestamp";
const nameOf = (row, columns) => columns.map((k) => (row[k] === null ? "NULL" : String(row[k]))).join(" · ");

const isNumber = (type) => type === "bigint" || type === "numeric";
export const noisy = (answer) => answer.columns.map((_, i) => answer.intervals.some((row) => row[i] !== null));

// What can be drawn: which columns are measures, which one is the key.
export function planOf(answer) {
  const withEnds = noisy(answer);
  const measures = answer.columns.map((_, i) => i).filter((i) => withEnds[i] && isNumber(answer.types[i]));
  const keys = answer.columns.map((_, i) => i).filter((i) => !withEnds[i]);
  if (!measures.length || !answer.rows.length || answer.rows.length === 1) return null;
  const overTime = linesOf(answer, measures, keys);
  if (overTime) return overTime;
  const key = keys.length === 1 ? keys[0] : null;
  const named = key === null ? [] : answer.rows.map((row) => row[key]).filter((value) => value !== null);
  if (named.length > 1 && named.every((value) => isCell(value))) return { measures, keys, key, kind: "map" };
  const code = key !== null && answer.types[key] === "bigint" && CODE.test(answer.columns[key]);
  const ordered = key !== null && !code && ORDERED.includes(answer.types[key]) && answer.rows.length > 2;
  return { measures, keys, key, kind: ordered ? (isTime(answer.types[key]) || answer.rows.length > 12 ? "line" : "points") : "bars" };
}

// One date among several keys: a line for each value of the others, if these are few.
function linesOf(answer, measures, keys) {
  const times = keys.filter((k) => isTime(answer.types[k]));
  if (keys.length < 2 || times.length !== 1) return null;
  const series = keys.filter((k) => k !== times[0]);
  const count = (columns) => new Set(answer.rows.map((row) => nameOf(row, columns))).size;
  return count(series) <= MOST_LINES && count(times) > 2 ? { measures, keys, series, key: times[0], kind: "line" } : null;
}

export function chartOf(answer, plan, measure) {
  const unknown = new Set(answer.unknown.filter(([, column]) => column === measure).map(([row]) => row)); // a bar would be a number
  const all = answer.rows.map((row, i) => ({
    unknown: unknown.has(i),
    name: nameOf(row, plan.keys),
    series: (plan.series ?? []).map((k) => `${answer.columns[k]}: ${nameOf(row, [k])}`).join(" · "),
    at: plan.key === null ? null : position(row[plan.key], answer.types[plan.key]),
    value: toNumber(row[measure]),
    ends: (answer.intervals[i][measure] ?? [null, null]).map(toNumber),
    said: shown(row[measure], answer.intervals[i][measure], answer.types[measure]),
  })).filter((one) => one.value !== null && Number.isFinite(one.value) && !one.unknown);
  if (plan.kind === "map") {
    const { picture, said } = cellMap(all, answer.columns[measure], wide());
    return h("figure", {}, picture, h("figcaption", { class: "quiet" }, said));
  }
  const placed = plan.kind === "bars" ? all : all.filter((one) => one.at !== null);
  const drawn = plan.kind === "bars" ? placed.slice(0, MOST_BARS) : bySeries(placed).flatMap(([, points]) => thin(points));
  const left = placed.length - drawn.length;
  const name = answer.columns[measure];
  const picture = plan.kind === "bars" ? bars(drawn, name) : points(drawn, name, plan.kind === "line", answer.columns[plan.key], answer.types[plan.key]);
  return h("figure", {}, picture, h("figcaption", { class: "quiet" },
    `${plan.kind === "line" && drawn.length > MOST_WHISKERS ? "The band contains" : "Whiskers contain"} the exact number with ${brief(toNumber(answer.confidence) * 100)} % confidence.`,
    left > 0 ? ` Showing ${plan.kind === "bars" ? "the first " : ""}${many(drawn.length)} of ${many(placed.length)} rows${plan.kind === "bars" ? "" : ": the minimum and maximum of each interval"}.` : "",
    placed.length < all.length ? ` Rows without a ${answer.columns[plan.key]} are not drawn.` : "",
    unknown.size ? ` ${many(unknown.size)} unknown ${unknown.size === 1 ? "number is" : "numbers are"} not drawn.` : ""));
}

// The rows of each line, in the order in which the table names them.
function bySeries(all) {
  const lines = new Map();
  for (const one of all) {
    if (!lines.has(one.series)) lines.set(one.series, []);
    lines.get(one.series).push(one);
  }
  return [...lines];
}

const many = (number) => number.toLocaleString("en");

// At most so many points: of neighbouring rows the lowest and the highest, so that no peak is lost.
export function thin(all, most = MOST_POINTS) {
  if (all.length <= most) return all;
  const sorted = [...all].sort((a, b) => (a.at ?? Infinity) - (b.at ?? Infinity));
  const size = Math.ceil((2 * sorted.length) / most);
  const kept = [];
  for (let start = 0; start < sorted.length; start += size) {
    const part = sorted.slice(start, start + size);
    const low = part.reduce((a, b) => (b.value < a.value ? b : a)), high = part.reduce((a, b) => (b.value > a.value ? b : a));
    kept.push(...part.filter((one) => one === low || one === high));
  }
  return kept;
}

function position(value, type) {
  if (value === null) return null;
  return type === "date" || type === "timestamp" ? Date.parse(value) : toNumber(value);
}

function range(drawn) {
  const every = drawn.flatMap((one) => [one.value, ...one.ends]).filter((x) => x !== null && Number.isFinite(x));
  const [low, high] = [Math.min(0, ...every), Math.max(0, ...every)];
  return low === high ? [low, low + 1] : [low, high];
}

export function ticks(low, high, about = 4) {
  const raw = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((m) => m >= raw * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

const DAY = 86400000;
const STEPS = [["minute", 1], ["minute", 5], ["minute", 15], ["hour", 1], ["hour", 3], ["hour", 6], ["day", 1], ["day", 2], ["day", 7], ["day", 14], ["month", 1], ["month", 3], ["month", 6], ["year", 1], ["year", 2], ["year", 5], ["year", 10], ["year", 25], ["year", 100]];
const LENGTHS = { minute: 60000, hour: 3600000, day: DAY, month: 30.4 * DAY, year: 365.25 * DAY };

// Beginnings of years, months, days or hours, as people name them; about six of them.
export function timeTicks(first, last, about = 6) {
  const [unit, count] = STEPS.find(([name, n]) => (last - first) / (LENGTHS[name] * n) <= about) ?? ["year", 500];
  const found = [];
  const start = new Date(first);
  const year = start.getUTCFullYear();
  const at = (i) => {
    if (unit === "year") return Date.UTC(Math.floor(year / count) * count + i * count, 0);
    if (unit === "month") return Date.UTC(year, i * count);
    if (unit === "day") return Date.UTC(year, start.getUTCMonth(), start.getUTCDate() + i * count);
    const step = LENGTHS[unit] * count;
    return Math.floor(first / step) * step + i * step;
  };
  for (let i = 0; at(i) <= last; i++) if (at(i) >= first) found.push(at(i));
  const cut = { year: [0, 4], month: [0, 7], day: [0, 10] }[unit] ?? [5, 16];
  return found.map((when) => ({ at: when, name: new Date(when).toISOString().slice(...cut).replace("T", " ") }));
}

// As wide as its place, so that text keeps its size.
const wide = () => (innerWidth < 800 ? Math.max(280, innerWidth - 60) : Math.min(680, innerWidth / 2 - 80));

const fit = (text, room) => (text.length <= room ? text : `${text.slice(0, room - 1)}…`);

// Horizontal bars: long names have room, and 30 of them can be read.
function bars(drawn, name) {
  const longest = Math.max(4, ...drawn.map((one) => one.name.length));
  const right = wide();
  const left = Math.min(right / 3, 16 + longest * 7.2), row = 28, top = 8;
  const height = top + drawn.length * row + 28;
  const [low, high] = range(drawn);
  const x = (value) => left + ((value - low) / (high - low)) * (right - left - 24);
  const svg = s("svg", { viewBox: `0 0 ${right} ${height}`, class: "chart", role: "img", "aria-label": `${name} by row, with intervals; the table has the numbers` });
  for (const tick of ticks(low, high)) {
    svg.append(s("line", { x1: x(tick), x2: x(tick), y1: top, y2: height - 24, class: "rule" }),
      s("text", { x: x(tick), y: height - 8, class: "tick", "text-anchor": "middle" }, brief(tick)));
  }
  drawn.forEach((one, i) => {
    const y = top + i * row + row / 2;
    const group = s("g", {}, s("title", {}, `${one.name}: ${one.said.text} ${one.said.beside}`.trim()),
      s("text", { x: left - 8, y: y + 4, class: "name", "text-anchor": "end" }, fit(one.name, Math.floor((left - 12) / 7))),
      s("rect", { x: Math.min(x(0), x(one.value)), y: y - 8, width: Math.max(0.5, Math.abs(x(one.value) - x(0))), height: 16, class: "bar-fill" }));
    group.append(...whisker(x, one, y, true));
    svg.append(group);
  });
  svg.append(s("line", { x1: x(0), x2: x(0), y1: top, y2: height - 24, class: "zero" }));
  return svg;
}

function whisker(scale, one, at, flat) {
  const [low, high] = one.ends;
  if (low === null || high === null) return [];
  const [a, b] = [scale(low), scale(high)];
  const line = (x1, y1, x2, y2) => s("line", { x1, y1, x2, y2, class: "whisker" });
  return flat
    ? [line(a, at, b, at), line(a, at - 5, a, at + 5), line(b, at - 5, b, at + 5)]
    : [line(at, a, at, b), line(at - 3, a, at + 3, a), line(at - 3, b, at + 3, b)];
}

// A line with its band, or points with whiskers, over an axis of numbers or days.
function points(drawn, name, joined, axis, type) {
  const there = [...drawn].sort((a, b) => a.at - b.at);
  const lines = bySeries(drawn).map(([series]) => [series, there.filter((one) => one.series === series)]);
  const [low, high] = range(there);
  const longest = Math.max(...ticks(low, high).map((tick) => brief(tick).length));
  const [left, right, top, bottom] = [Math.max(40, 16 + 7.2 * longest), wide() - 12, 10, 240];
  const [first, last] = [there[0]?.at ?? 0, there.at(-1)?.at ?? 1];
  const x = (at) => (last === first ? (left + right) / 2 : left + 12 + ((at - first) / (last - first)) * (right - left - 24));
  const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
  const svg = s("svg", { viewBox: `0 0 ${right + 12} ${lines.length > 1 ? 296 + 20 * lines.length : 286}`, class: "chart", role: "img", "aria-label": `${name} by ${axis}, with intervals; the table has the numbers` });
  for (const tick of ticks(low, high)) {
    svg.append(s("line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: "rule" }),
      s("text", { x: left - 8, y: y(tick) + 4, class: "tick", "text-anchor": "end" }, brief(tick)));
  }
  const timed = isTime(type);
  const label = (one) => (timed && type === "date" ? one.name.slice(0, 10) : one.name);
  const shownAt = there.length <= 6 && lines.length === 1 ? there : timed ? timeTicks(first, last) : ticks(first, last).map((at) => ({ at, name: String(at) }));
  for (const one of shownAt) {
    const text = fit(label(one), 16);
    svg.append(s("line", { x1: x(one.at), x2: x(one.at), y1: bottom, y2: bottom + 4, class: "rule" }));
    svg.append(s("text", { x: Math.min(x(one.at), right + 12 - 3.6 * text.length), y: bottom + 18, class: "tick", "text-anchor": "middle" }, text));
  }
  svg.append(s("text", { x: (left + right) / 2, y: bottom + 38, class: "tick", "text-anchor": "middle" }, fit(axis, 40)));
  lines.forEach(([series, points], i) => {
    if (joined) {
      const band = points.filter((one) => one.ends[0] !== null && one.ends[1] !== null);
      const path = [...band.map((one) => `${x(one.at)},${y(one.ends[1])}`), ...band.reverse().map((one) => `${x(one.at)},${y(one.ends[0])}`)];
      svg.append(s("polygon", { points: path.join(" "), class: `band line${i}` }),
        s("polyline", { points: points.map((one) => `${x(one.at)},${y(one.value)}`).join(" "), class: `path line${i}` }));
    }
    for (const one of points) {
      const group = s("g", {}, s("title", {}, `${one.name}: ${one.said.text} ${one.said.beside}`.trim()), s("circle", { cx: x(one.at), cy: y(one.value), r: there.length > MOST_WHISKERS ? 1.5 : 3.5, class: `dot line${i}` }));
      if (there.length <= MOST_WHISKERS) group.append(...whisker(y, one, x(one.at), false));
      svg.append(group);
    }
    if (lines.length > 1) {
      const at = bottom + 60 + 20 * i;
      svg.append(s("line", { x1: left, x2: left + 24, y1: at, y2: at, class: `path line${i}` }), s("text", { x: left + 32, y: at + 4, class: "name" }, fit(series, 60)));
    }
  });
  return svg;
}
