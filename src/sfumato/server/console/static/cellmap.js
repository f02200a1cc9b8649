// A map of squares, for an answer whose key is the cell of a point: "48.85175,2.35299", the centre of each cell.
import { h, s } from "./dom.js";
import { brief } from "./numbers.js";

const CELL = /^(-?\d{1,2}\.\d+),(-?\d{1,3}\.\d+)$/;
const MOST_SQUARES = 5000;

export const isCell = (text) => CELL.test(text);

// Where the centres lie on one axis: the first and the last one, and the smallest step between two of them.
function axis(values, other) {
  const sorted = [...new Set(values)].sort((a, b) => a - b);
  const steps = sorted.slice(1).map((value, i) => value - sorted[i]);
  const step = steps.length ? Math.min(...steps) : other;
  return { low: sorted[0], high: sorted.at(-1), step };
}

// Rows and columns from the north-west, and how wide a cell is in units of its height.
export function layout(cells) {
  const lats = cells.map((one) => one.lat), lons = cells.map((one) => one.lon);
  const north = axis(lats, null), east = axis(lons, null);
  north.step ??= east.step ?? 1;
  east.step ??= north.step;
  const narrow = Math.cos((((north.low + north.high) / 2) * Math.PI) / 180);
  const count = ({ low, high, step }) => Math.round((high - low) / step) + 1;
  return {
    rows: count(north), columns: count(east), ratio: Math.max(0.05, (east.step * narrow) / north.step),
    place: (one) => [Math.round((north.high - one.lat) / north.step), Math.round((one.lon - east.low) / east.step)],
    north, east,
  };
}

// The darker, the larger. A number below zero is noise, and drawn as zero.
const shade = (value, most) => (most > 0 ? Math.max(0, Math.min(1, value / most)) : 0);

export function cellMap(drawn, name, room) {
  const cells = drawn.filter((one) => isCell(one.name)).map((one) => {
    const [, lat, lon] = CELL.exec(one.name);
    return { ...one, lat: Number(lat), lon: Number(lon) };
  });
  const plan = layout(cells);
  const most = cells.reduce((top, one) => Math.max(top, one.value), 0);
  const size = Math.min(room / (plan.columns * plan.ratio), 480 / plan.rows, 40);
  const picture = cells.length <= MOST_SQUARES ? squares(cells, plan, most, size, name) : pixels(cells, plan, most, size, name);
  const rest = drawn.filter((one) => !isCell(one.name));
  const said = [`An empty square is 0 or less, the darkest is ${brief(most)}. `];
  if (cells.length <= MOST_SQUARES) said.push("A framed square is above 0 by its whole interval. ");
  for (const one of rest) said.push(`No position: ${[one.said.text, one.said.beside].filter(Boolean).join(" ")}. `);
  return { picture, said: said.join("") };
}

function squares(cells, plan, most, size, name) {
  const wide = size * plan.ratio;
  const svg = s("svg", { viewBox: `0 0 ${plan.columns * wide + 2} ${plan.rows * size + 2}`, width: plan.columns * wide + 2, height: plan.rows * size + 2, class: "chart cells", role: "img", "aria-label": `${name} by cell of a map, north above; the table has the numbers` });
  for (const one of cells) {
    const [row, column] = plan.place(one);
    const sure = one.ends[0] !== null && one.ends[0] > 0;
    svg.append(s("rect", { x: 1 + column * wide, y: 1 + row * size, width: wide, height: size, class: sure ? "cell sure" : "cell", "fill-opacity": shade(one.value, most).toFixed(3) },
      s("title", {}, `${one.name}: ${one.said.text} ${one.said.beside}`)));
  }
  return svg;
}

// Many cells: one pixel for each, without a title of their own.
function pixels(cells, plan, most, size, name) {
  const canvas = h("canvas", { width: plan.columns, height: plan.rows, class: "chart cells", role: "img", "aria-label": `${name} by cell of a map, north above; the table has the numbers` });
  canvas.style.width = `${Math.ceil(plan.columns * size * plan.ratio)}px`;
  canvas.style.height = `${Math.ceil(plan.rows * size)}px`;
  const draw = canvas.getContext("2d");
  draw.fillStyle = getComputedStyle(document.body).getPropertyValue("--accent").trim() || "#225";
  for (const one of cells) {
    const [row, column] = plan.place(one);
    draw.globalAlpha = shade(one.value, most);
    draw.fillRect(column, row, 1, 1);
  }
  return canvas;
}
