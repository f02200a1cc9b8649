// Numbers for people. What the server sends is exact, as text; here it is only shown.
// "1/10", "0.25" or 3, as a number to draw or compare with.
export function toNumber(text) {
  if (text === null || text === undefined) return null;
  const [top, bottom] = String(text).split("/");
  return bottom === undefined ? Number(top) : Number(top) / Number(bottom);
}

// The currency in which a budget goes on: epsilon, or rho where epsilon is used up or not counted and rho is left.
export const currencyOf = (left) => (left.epsilon === null || (!toNumber(left.epsilon) && toNumber(left.rho)) ? "rho" : "epsilon");
export const SYMBOLS = { epsilon: "ε", rho: "ρ" };

export function grouped(text) {
  const [, sign, whole, rest] = /^([-−]?)(\d+)(.*)$/.exec(text) ?? [null, "", text, ""];
  const parts = whole.replace(/\B(?=(\d{3})+$)/g, ",");
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

// How many queries of one cost a budget allows; where they are more than epsilon divided by it, why. Under zCDP queries
// with the same epsilon may differ in rho, so the count holds for queries like the one that was asked.
export function enoughFor(queries, each, left, alike = false) {
  const sign = each.epsilon === null ? "rho" : "epsilon";
  const composed = sign === "epsilon" && toNumber(left.epsilon) && queries * toNumber(each.epsilon) > toNumber(left.epsilon) * (1 + 1e-9); // 7 * 0.1 is above 0.7
  return `enough for about ${brief(queries)} ${queries === 1 ? "query" : "queries"}${alike && composed ? " like this one" : ""} at ${SYMBOLS[sign]} ${brief(each[sign])}${composed ? ", composed with zCDP" : ""}`;
}

// The step that the half width of an interval leaves meaning to: two digits of it, as gateway/rounding.py does.
const stepOf = (width) => 10 ** (Math.floor(Math.log10(width) + 1e-12) - 1);

const decimals = (text) => (String(text).split(".")[1] ?? "").length;
const nearest = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x)); // ties to even

// A number at a step, with no decimals that it does not have.
function atStep(number, step, has, round = nearest) {
  const places = Math.min(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)), has);
  const least = Math.max(step, 10 ** -places);
  const slack = round === Math.ceil ? -1e-9 : round === Math.floor ? 1e-9 : 0; // 0.3 / 0.1 is not quite 3
  return grouped((round(number / least + slack) * least).toFixed(places).replace(/^-(0(?:\.0*)?)$/, "$1"));
}

// A half width, rounded up to two digits; below 1,000 whole ones as they are.
export function wide(value) {
  const number = toNumber(value);
  if (!(number > 0)) return brief(value);
  if (Number.isInteger(number) && number < 1000) return grouped(String(number));
  return atStep(number, stepOf(number), 12, Math.ceil).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "");
}

// A value and what stands beside it in a quieter tone; never more digits than the noise allows. Keys are as they are.
export function shown(value, ends, type, unknown = false) {
  const counted = ["bigint", "numeric"].includes(type);
  if (unknown && (!ends || !counted)) return { text: "unknown", beside: ends ? `(${ends[0]} to ${ends[1]})` : "" };
  if (value === null && !unknown) return { text: "NULL", beside: "" };
  if (!counted) return { text: String(value), beside: ends ? `(${ends[0]} to ${ends[1]})` : "" };
  if (!ends || ends[0] === null || ends[1] === null) return { text: String(value).replace("-", "−"), beside: "" };
  const [low, high, number] = [toNumber(ends[0]), toNumber(ends[1]), toNumber(value)];
  const width = (high - low) / 2;
  if (!(width > 0)) return { text: grouped(String(value)), beside: "" };
  const step = stepOf(width);
  const range = `(${atStep(low, step, decimals(ends[0]), Math.floor)} to ${atStep(high, step, decimals(ends[1]), Math.ceil)})`;
  if (unknown) return { text: "unknown", beside: range };
  const [least, most] = [number - low, high - number].sort((a, b) => a - b);
  const even = least >= 0 && most <= least * 1.05;
  const has = Math.max(decimals(value), decimals(most === high - number ? ends[1] : ends[0]));
  const beside = even ? `±${atStep(most, stepOf(most), has, Math.ceil)}` : range;
  return { text: atStep(number, step, decimals(value)), beside };
}

// Rounded up; with more digits where fewer would make a certainty of it.
export function percent(value, digits = 1) {
  const up = Math.ceil(toNumber(value) * 100 * 10 ** digits - 1e-6) / 10 ** digits;
  if (up >= 100 && toNumber(value) < 1 && digits < 6) return percent(value, digits + 1);
  return `${up.toFixed(digits).replace(/\.0+$/, "")}\u00a0%`;
}
