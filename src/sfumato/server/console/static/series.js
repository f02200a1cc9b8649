// Rows with two keys or more: which key is the axis, which ones are lines or colours, and how these are told apart.
import { fit, isTime, textWidth } from "./axes.js";
import { s } from "./dom.js";

export const MOST_SERIES = 8;
// Whole numbers that are names: a chart of them has bars, and no axis.
const CODE = /(^|_)(zip|zipcode|postcode|postal|plz|code|id|ward|district)(_|$)/i;
export const isCode = (name, type) => type === "bigint" && CODE.test(name);

export const nameOf = (row, columns) => columns.map((k) => (row[k] === null ? "NULL" : String(row[k]))).join(" · ");

// Over a time, or else over numbers, a line for each value of the other keys; two keys of names are grouped bars.
export function seriesPlan(answer, keys) {
  if (keys.length < 2) return null;
  const count = (columns) => new Set(answer.rows.map((row) => nameOf(row, columns))).size;
  const largest = (columns) => columns.reduce((best, k) => (best === undefined || count([k]) > count([best]) ? k : best), undefined);
  const times = keys.filter((k) => isTime(answer.types[k]));
  const numbers = keys.filter((k) => ["bigint", "numeric"].includes(answer.types[k]) && !isCode(answer.columns[k], answer.types[k]));
  const axis = largest(times.length ? times : numbers);
  if (axis !== undefined && count([axis]) > 2) return { key: axis, series: keys.filter((k) => k !== axis), kind: "line" };
  if (keys.length !== 2 || keys.some((k) => count([k]) < 2)) return null;
  const key = count([keys[0]]) < count([keys[1]]) ? keys[1] : keys[0]; // fewer values are colours, more are groups
  return { key, series: keys.filter((k) => k !== key), kind: "groups" };
}

// The rows of each series, in the order in which the table names them.
export function bySeries(rows) {
  const found = new Map();
  for (const one of rows) {
    if (!found.has(one.series)) found.set(one.series, []);
    found.get(one.series).push(one);
  }
  return found;
}

// The series with the largest numbers, in the table's order.
export function largestSeries(rows, most = MOST_SERIES) {
  const sizes = [...bySeries(rows)].map(([name, points]) => [name, points.reduce((sum, one) => sum + Math.abs(one.value), 0)]);
  const chosen = new Set([...sizes].sort((a, b) => b[1] - a[1]).slice(0, most).map(([name]) => name));
  return { chosen: sizes.map(([name]) => name).filter((name) => chosen.has(name)), of: sizes.length };
}

// A line has no piece where it lacks a place of the axis, or where a step is longer than the others.
export function pieces(points, places) {
  const steps = places.slice(1).map((at, i) => at - places[i]).sort((a, b) => a - b);
  const usual = steps[Math.floor(steps.length / 2)];
  const regular = steps.filter((step) => Math.abs(step - usual) <= usual / 4).length >= 0.75 * steps.length;
  const index = new Map(places.map((at, i) => [at, i]));
  let piece = 0;
  return points.map((one, i) => {
    const before = points[i - 1];
    if (before && (index.get(one.at) - index.get(before.at) > 1 || (regular && one.at - before.at > 1.5 * usual))) piece += 1;
    return { ...one, piece };
  });
}

// Eight colours that stay apart for people with any colour blindness, and eight shapes for those who see none.
export const COLOURS = ["#0f62a8", "#db3200", "#00925f", "#c672a5", "#1c2530", "#a28f46", "#1e93fb", "#6c120e"];
const SHAPES = [
  "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0Z", "M-3.6,-3.6H3.6V3.6H-3.6Z", "M0,-5L4.6,3.6H-4.6Z", "M0,-5.2L4.6,0L0,5.2L-4.6,0Z",
  "M-1.4,-4.8H1.4V-1.4H4.8V1.4H1.4V4.8H-1.4V1.4H-4.8V-1.4H-1.4Z", "M0,5L4.6,-3.6H-4.6Z",
  "M-4.4,-2.4L-2.4,-4.4L0,-2L2.4,-4.4L4.4,-2.4L2,0L4.4,2.4L2.4,4.4L0,2L-2.4,4.4L-4.4,2.4L-2,0Z", "M-5,-2H5V2H-5Z",
];

export const marker = (i, x, y, kind = "dot") => s("path", { d: SHAPES[i % MOST_SERIES], transform: `translate(${x} ${y})`, class: `${kind} series${i}` });

// The names of the series above a chart, as many in a row as fit; and how high that is.
export function legend(head, names, width, joined) {
  const parts = [];
  let [x, y] = [4, 14];
  const put = (part, room) => {
    if (x > 4 && x + room > width) [x, y] = [4, y + 20];
    parts.push(...part(x, y));
    x += room + 12;
  };
  const title = fit(head, width / 2);
  put((at, line) => [s("text", { x: at, y: line, class: "tick" }, title)], textWidth(title));
  names.forEach((name, i) => {
    const text = fit(name, Math.min(280, width - 44)), mark = joined ? 30 : 16;
    put((at, line) => [
      ...(joined ? [s("line", { x1: at, x2: at + 24, y1: line - 4, y2: line - 4, class: `path series${i}` })] : []),
      marker(i, at + (joined ? 12 : 6), line - 4),
      s("text", { x: at + mark, y: line, class: "name" }, s("title", {}, name), text),
    ], mark + textWidth(text));
  });
  return { parts, height: y + 12 };
}
