// Numbers for people. What the server sends is exact, as text; here it is only shown.
const THIN = "\u202f";

// "1/10", "0.25" or 3, as a number to draw or compare with.
export function toNumber(text) {
  if (text === null || text === undefined) return null;
  const [top, bottom] = String(text).split("/");
  return bottom === undefined ? Number(top) : Number(top) / Number(bottom);
}

export function grouped(text) {
  const [, sign, whole, rest] = /^([-−]?)(\d+)(.*)$/.exec(text) ?? [null, "", text, ""];
  const parts = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, THIN) : whole;
  return (sign ? "−" : "") + parts + rest;
}

// To so many significant digits, without the tail of zeros that says nothing.
export function brief(value, digits = 3) {
  const number = toNumber(value);
  if (number === null || !Number.isFinite(number)) return "–";
  if (number === 0) return "0";
  if (Math.abs(number) >= 10 ** digits) return grouped(number.toFixed(0));
  if (Math.abs(number) < 1e-4) return number.toExponential(digits - 1).replace("-", "−").replace(/\.?0+e/, "e");
  return grouped(String(Number(number.toPrecision(digits))));
}

// The step that the width of an interval leaves meaning to: two digits of it, or one where that says enough.
function stepOf(width) {
  const power = 10 ** Math.floor(Math.log10(width));
  return width / power > 3.5 ? power : power / 10;
}

function atStep(number, step, whole) {
  const least = whole ? Math.max(1, step) : step;
  const places = Math.max(0, -Math.floor(Math.log10(least) + 1e-9));
  return grouped((Math.round(number / least) * least).toFixed(places));
}

// A width, rounded up to three digits: never told smaller than it is.
export function wide(value) {
  const number = toNumber(value);
  if (!(number > 0)) return brief(value);
  const step = 10 ** (Math.floor(Math.log10(number)) - 2);
  return brief(Math.ceil(number / step - 1e-9) * step);
}

// A value and what stands beside it in a quieter tone; never more digits than the noise allows.
export function shown(value, ends, type) {
  if (value === null) return { text: "NULL", beside: "" };
  if (!["bigint", "numeric"].includes(type)) return { text: String(value), beside: "" };
  if (!ends || ends[0] === null || ends[1] === null) {
    return { text: ends === undefined || type === "bigint" ? grouped(String(value)) : brief(value, 6), beside: "" };
  }
  const [low, high, number] = [toNumber(ends[0]), toNumber(ends[1]), toNumber(value)];
  const width = (high - low) / 2;
  if (!(width > 0)) return { text: grouped(String(value)), beside: "" };
  const step = stepOf(width);
  const whole = type === "bigint";
  const text = atStep(number, step, whole);
  const even = Math.abs(number - (high + low) / 2) < step;
  const beside = even ? `±${atStep(Math.ceil(width / step - 1e-9) * step, step, false)}` : `${atStep(low, step, whole)} … ${atStep(high, step, whole)}`;
  return { text, beside };
}

export const percent = (value, digits = 1) => `${(Math.ceil(toNumber(value) * 100 * 10 ** digits - 1e-6) / 10 ** digits).toFixed(digits).replace(/\.0$/, "")}\u00a0%`;
