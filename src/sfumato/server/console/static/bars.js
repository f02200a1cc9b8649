// Horizontal bars with whiskers: long names have room, and thirty of them can be read. Grouped ones have a legend.
import { fit, range, textWidth, ticks, wide } from "./axes.js";
import { s } from "./dom.js";
import { whisker } from "./lines.js";
import { legend, marker } from "./series.js";
import { brief } from "./numbers.js";

function frame(title, about, head, names, longest, heightOf, drawn) {
  const right = wide();
  const key = names.length ? legend(head, names, right) : { parts: [], height: 0 };
  const left = Math.min(right / 3, 16 + longest), top = key.height + 8;
  const bottom = top + heightOf;
  const [low, high] = range(drawn);
  const x = (value) => left + ((value - low) / (high - low)) * (right - left - 24);
  const svg = s("svg", { viewBox: `0 0 ${right} ${bottom + 44}`, class: "chart", role: "img", "aria-label": about }, key.parts);
  let free = -Infinity;
  for (const tick of ticks(low, high)) {
    const text = brief(tick), half = textWidth(text) / 2;
    svg.append(s("line", { x1: x(tick), x2: x(tick), y1: top, y2: bottom, class: "rule" }));
    if (x(tick) - half < free) continue;
    svg.append(s("text", { x: x(tick), y: bottom + 16, class: "tick", "text-anchor": "middle" }, text));
    free = x(tick) + half + 6;
  }
  svg.append(s("line", { x1: x(0), x2: x(0), y1: top, y2: bottom, class: "zero" }),
    s("text", { x: (left + right) / 2, y: bottom + 36, class: "tick", "text-anchor": "middle" }, fit(title, right - left)));
  return { svg, x, left, top };
}

const bar = (x, one, y, height, kind) => s("rect", { x: Math.min(x(0), x(one.value)), y, width: Math.max(0.5, Math.abs(x(one.value) - x(0))), height, class: kind });
const spoken = (one) => s("title", {}, `${one.name}: ${one.said.text} ${one.said.beside}`.trim());

export function bars(drawn, name) {
  const row = 28, longest = Math.max(28, ...drawn.map((one) => textWidth(one.name)));
  const { svg, x, left, top } = frame(name, `${name} by row, with intervals; the table has the numbers`, "", [], longest, drawn.length * row, drawn);
  drawn.forEach((one, i) => {
    const y = top + i * row + row / 2;
    svg.append(s("g", {}, spoken(one),
      s("text", { x: left - 8, y: y + 4, class: "name", "text-anchor": "end" }, fit(one.name, left - 12)),
      bar(x, one, y - 8, 16, "bar-fill"), ...whisker(x, one, y, true)));
  });
  return svg;
}

// For each group a bar of each series; where the answer has no number for it, that is written in its place.
export function groupedBars(groups, series, name, axis, head) {
  const row = 16, gap = 10, high = series.length * row + gap;
  const drawn = groups.flatMap(([, rows]) => [...rows.values()].filter((one) => !one.unknown));
  const longest = Math.max(28, ...groups.map(([group]) => textWidth(group))) + 16;
  const { svg, x, left, top } = frame(name, `${name} by ${axis} and ${head}, with intervals; the table has the numbers`, head, series, longest, groups.length * high, drawn);
  groups.forEach(([group, rows], g) => {
    const start = top + g * high + gap / 2;
    svg.append(s("text", { x: left - 24, y: start + (series.length * row) / 2 + 4, class: "name", "text-anchor": "end" }, s("title", {}, group), fit(group, left - 28)));
    series.forEach((one, i) => {
      const y = start + i * row + row / 2, point = rows.get(one);
      svg.append(marker(i, left - 10, y));
      if (!point || point.unknown) svg.append(s("text", { x: x(0) + 6, y: y + 4, class: "tick" }, point ? "unknown" : "no row"));
      else svg.append(s("g", { class: `series${i}` }, spoken(point), bar(x, point, y - 5, 10, "bar-fill"), ...whisker(x, point, y, true)));
    });
  });
  return svg;
}
