// Lines with bands, or points with whiskers, over an axis of numbers or times: one for each series, broken at gaps.
import { fit, isTime, range, textWidth, ticks, timeTicks, wide } from "./axes.js";
import { s } from "./dom.js";
import { brief } from "./numbers.js";
import { legend, marker, pieces } from "./series.js";

const MOST_POINTS = 600, MOST_WHISKERS = 60, FULL_MARKERS = 10;
export const hasBand = (count) => count > MOST_WHISKERS;

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

export function whisker(scale, one, at, flat) {
  const [low, high] = one.ends;
  if (low === null || high === null) return [];
  const [a, b] = [scale(low), scale(high)];
  const line = (x1, y1, x2, y2) => s("line", { x1, y1, x2, y2, class: "whisker" });
  return flat
    ? [line(a, at, b, at), line(a, at - 5, a, at + 5), line(b, at - 5, b, at + 5)]
    : [line(at, a, at, b), line(at - 3, a, at + 3, a), line(at - 3, b, at + 3, b)];
}

// Where the axis is labelled: at round times, at every value where they are few, or at round numbers.
function labels(places, names, axis, room) {
  const [first, last] = [places[0], places.at(-1)];
  if (isTime(axis.type)) {
    const found = timeTicks(first, last, Math.max(2, Math.floor(room / 90)));
    return found.length > 1 ? found : [first, last].map((at) => ({ at, name: names.get(at) }));
  }
  if (places.length <= 13 && places.length * 36 <= room) return places.map((at) => ({ at, name: names.get(at) }));
  return ticks(first, last).filter((at) => at >= first && at <= last).map((at) => ({ at, name: String(at).replace("-", "−") }));
}

// `series` are [name, points] with at least one point in all; `places` are all places of the answer's rows.
export function lines(series, { name, axis, head, places, names, joined }) {
  const several = series.length > 1 || head;
  const drawn = series.flatMap(([, points]) => points);
  const whiskers = !hasBand(drawn.length);
  const [low, high] = range(drawn, false);
  const marks = ticks(low, high).filter((at) => at >= low - 1e-12 * Math.abs(low));
  const [left, right] = [Math.max(40, 16 + Math.max(...marks.map((at) => textWidth(brief(at, 4))))), wide() - 12];
  const key = several ? legend(head, series.map(([one]) => one), right, joined) : { parts: [], height: 0 };
  const top = key.height + 30, bottom = top + 230;
  const [first, last] = [places[0] ?? 0, places.at(-1) ?? 1];
  const margin = several && whiskers ? 28 : 12;
  const x = (at) => (last === first ? (left + right) / 2 : left + margin + ((at - first) / (last - first)) * (right - left - 2 * margin));
  const y = (value) => bottom - ((value - low) / (high - low)) * (bottom - top);
  const svg = s("svg", { viewBox: `0 0 ${right + 12} ${bottom + 46}`, class: "chart", role: "img", "aria-label": `${name} by ${axis.name}${several ? ` and ${head}` : ""}, with intervals; the table has the numbers` });
  svg.append(...key.parts, s("text", { x: 4, y: top - 14, class: "tick" }, fit(name, right - 8)));
  for (const tick of marks) {
    svg.append(s("line", { x1: left, x2: right, y1: y(tick), y2: y(tick), class: tick === 0 ? "zero" : "rule" }),
      s("text", { x: left - 8, y: y(tick) + 4, class: "tick", "text-anchor": "end" }, brief(tick, 4)));
  }
  let free = -Infinity;
  for (const one of labels(places, names, axis, right - left)) {
    const text = fit(one.name, 110), half = textWidth(text) / 2, middle = Math.min(x(one.at), right + 10 - half);
    svg.append(s("line", { x1: x(one.at), x2: x(one.at), y1: bottom, y2: bottom + 4, class: "rule" }));
    if (middle - half < free) continue; // two labels would run into each other
    svg.append(s("text", { x: middle, y: bottom + 18, class: "tick", "text-anchor": "middle" }, text));
    free = middle + half + 6;
  }
  svg.append(s("text", { x: (left + right) / 2, y: bottom + 38, class: "tick", "text-anchor": "middle" }, fit(axis.name, right - left)));
  const apart = several && whiskers ? Math.min(6, (0.7 * (right - left)) / places.length / series.length) : 0;
  series.forEach(([, points], i) => svg.append(one(points, i)));
  return svg;

  function one(points, i) {
    const shift = (i - (series.length - 1) / 2) * apart;
    const at = (point) => x(point.at) + shift;
    const sorted = thin(pieces([...points].sort((a, b) => a.at - b.at), places));
    const parts = sorted.reduce((all, point) => {
      if (all.at(-1)?.[0].piece === point.piece) all.at(-1).push(point);
      else all.push([point]);
      return all;
    }, []);
    const line = s("g", { class: several ? `series${i}` : "alone" });
    const path = (list) => list.map((pair, k) => `${k ? "L" : "M"}${pair.join(",")}`).join("");
    if (joined) {
      const bands = several && whiskers ? [] : parts.map((part) => part.filter((point) => point.ends[0] !== null && point.ends[1] !== null)).filter((part) => part.length > 1);
      const around = (part) => `${path([...part.map((point) => [at(point), y(point.ends[1])]), ...[...part].reverse().map((point) => [at(point), y(point.ends[0])])])}Z`;
      line.append(s("path", { d: bands.map(around).join(""), class: "band" }),
        s("path", { d: parts.filter((part) => part.length > 1).map((part) => path(part.map((point) => [at(point), y(point.value)]))).join(""), class: "path" }));
    }
    const every = Math.max(1, Math.round(sorted.length / FULL_MARKERS));
    sorted.forEach((point, k) => {
      const full = whiskers || (several && k % every === Math.floor((every * i) / series.length));
      const group = s("g", {}, s("title", {}, `${point.name}: ${point.said.text} ${point.said.beside}`.trim()));
      if (whiskers) group.append(...whisker(y, point, at(point), false));
      group.append(full ? marker(several ? i : 0, at(point), y(point.value)) : s("circle", { cx: at(point), cy: y(point.value), r: 1.5, class: "dot" }));
      line.append(group);
    });
    return line;
  }
}
