// What the axes of charts share: where numbers and times are marked, and how much text fits beside them.

export const isTime = (type) => type === "date" || type === "timestamp";

export function position(value, type, toNumber) {
  if (value === null) return null;
  return isTime(type) ? Date.parse(value) : toNumber(value);
}

// The numbers of a chart with the ends of their intervals, and 0. A line far above 0 starts where its numbers are.
export function range(drawn, fromZero = true) {
  const every = drawn.flatMap((one) => [one.value, ...one.ends]).filter((x) => x !== null && Number.isFinite(x));
  const [least, most] = [Math.min(...every), Math.max(...every)];
  if (!fromZero && least > 2 * (most - least) && most > least) return [ticks(least, most)[0] - stepOf(least, most), most];
  const [low, high] = [Math.min(0, least), Math.max(0, most)];
  return low === high ? [low, low + 1] : [low, high];
}

function stepOf(low, high, about = 4) {
  const raw = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((m) => m * power).find((m) => m >= raw * 0.999);
}

export function ticks(low, high, about = 4) {
  const step = stepOf(low, high, about);
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
export const wide = () => (innerWidth < 800 ? Math.max(280, innerWidth - 60) : Math.min(680, innerWidth / 2 - 80));

// About how many pixels a text takes at 12 pixels a letter: signs of East Asia and pictures are twice as wide.
const widthOf = (sign) => (sign.codePointAt(0) >= 0x1100 ? 13 : /[A-Zmw@%<>&+=]/.test(sign) ? 9.8 : 7.2);
export const textWidth = (text) => [...text].reduce((sum, sign) => sum + widthOf(sign), 0);

export function fit(text, room) {
  if (textWidth(text) <= room) return text;
  let [cut, used] = ["", 10];
  for (const sign of text) {
    used += widthOf(sign);
    if (used > room) break;
    cut += sign;
  }
  return `${cut}…`;
}

// A text in lines of such a width.
export function wrapped(text, room) {
  const found = [];
  for (const part of text.split(" ")) {
    if (found.length && textWidth(`${found.at(-1)} ${part}`) <= room) found.push(`${found.pop()} ${part}`);
    else found.push(fit(part, room));
  }
  return found.filter(Boolean);
}
