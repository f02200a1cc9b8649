// Real numbers enclosed by BigInts: an enclosure of x at `bits` is [low, high] with low <= x 2^bits <= high.
// The same bounds as src/sfumato/reals.py proves; every operation rounds outward.

const shiftUp = (value, bits) => -((-value) >> bits);
const floorDiv = (a, b) => (a < 0n && a % b !== 0n ? a / b - 1n : a / b); // b > 0
const ceilDiv = (a, b) => -floorDiv(-a, b);

/** The largest whole number whose square is at most n. */
export function isqrt(n) {
  if (n < 2n) return n;
  let x = 1n << BigInt((n.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (x + n / x) >> 1n;
    if (next >= x) return x;
    x = next;
  }
}

/** Enclose e^-x for a fraction x = p/q >= 0. */
export function boundExpNeg(p, q, bits) {
  if (p === 0n) return [1n << bits, 1n << bits];
  if (10n * p >= 7n * (bits + 1n) * q) return [0n, 1n]; // ln 2 < 7/10
  const halvings = BigInt((p / q).toString(2).length + (p / q === 0n ? -1 : 0) + 6);
  const guard = bits + halvings + 24n;
  const one = 1n << guard;
  const y = (p << guard) / (q << halvings);
  let term = one, total = one, n = 0n;
  while (term) {
    n += 1n;
    term = ((term * y) >> guard) / n;
    total += n & 1n ? -term : term;
  }
  const slack = 6n * n + 8n;
  let low = total - slack, high = total + slack;
  for (let i = 0n; i < halvings; i++) {
    low = (low * low) >> guard;
    high = shiftUp(high * high, guard);
  }
  const shift = guard - bits;
  const top = 1n << bits;
  low >>= shift;
  high = shiftUp(high, shift);
  return [low > 0n ? low : 0n, high < top ? high : top];
}

function boundArtanh(p, q, bits) {
  const guard = bits + 24n;
  let power = (p << guard) / q;
  const square = (power * power) >> guard;
  let total = 0n, n = 0n;
  while (power) {
    total += power / (2n * n + 1n);
    power = (power * square) >> guard;
    n += 1n;
  }
  return [(2n * total) >> 24n, shiftUp(2n * (total + 4n * n + 4n), 24n)];
}

/** Enclose ln(p/q) for p > q > 0. */
export function boundLn(p, q, bits) {
  let e = BigInt(p.toString(2).length - q.toString(2).length);
  // m = (p/q) / 2^e brought into (2/3, 4/3]
  let a = p, b = q << e;
  while (3n * a > 4n * b) { b <<= 1n; e += 1n; }
  while (3n * a <= 2n * b) { a <<= 1n; e -= 1n; }
  const guard = BigInt(e.toString(2).length) + 8n;
  const two = boundArtanh(1n, 3n, bits + guard);
  const t = a - b;
  let [low, high] = boundArtanh(t < 0n ? -t : t, a + b, bits + guard);
  if (t < 0n) [low, high] = [-high, -low];
  return [(low + e * two[0]) >> guard, shiftUp(high + e * two[1], guard)];
}

/** Enclose sqrt(n) for a whole n. */
export function boundSqrt(n, bits) {
  const scaled = n << (2n * bits);
  const root = isqrt(scaled);
  return [root, root * root === scaled ? root : root + 1n];
}

/** A positive number times ln(odds), or times 1: `times` and `odds` are fractions [p, q]; odds may be null. */
export class Exact {
  constructor(times, odds = null) {
    this.times = times;
    this.odds = odds;
  }

  /** Multiply by a fraction. */
  scaled(p, q) {
    return new Exact([this.times[0] * p, this.times[1] * q], this.odds);
  }

  enclose(bits) {
    const [p, q] = this.times;
    if (this.odds === null) return [floorDiv(p << bits, q), ceilDiv(p << bits, q)];
    const [low, high] = boundLn(this.odds[0], this.odds[1], bits);
    return [floorDiv(low * p, q), ceilDiv(high * p, q)];
  }

  /** The nearest float but for an error of at most one unit in the last place. */
  toNumber() {
    const [low] = this.enclose(160n);
    const length = low.toString(2).length;
    return length > 64 ? Number(low >> BigInt(length - 64)) * 2 ** (length - 64 - 160) : Number(low) * 2 ** -160;
  }
}

/** A fraction [p, q] from what a person writes: 200, "0.5", "3/2". */
export function fraction(text) {
  const found = /^\s*(\d+)(?:\.(\d*))?(?:\s*\/\s*(\d+))?\s*$/.exec(String(text));
  if (!found || (found[2] !== undefined && found[3] !== undefined)) throw new RangeError(`"${text}" is not a number`);
  const decimals = found[2] ?? "";
  const p = BigInt(found[1] + decimals), q = BigInt(found[3] ?? 1) * 10n ** BigInt(decimals.length);
  if (q === 0n) throw new RangeError(`"${text}" is not a number`);
  return [p, q];
}

/** A level as people write it: "ln 4", "2 ln 3", 0.5. */
export function level(text) {
  const found = /^\s*(?:([\d./]+)\s*\*?\s*)?ln\s*\(?\s*([\d./]+)\s*\)?\s*$/i.exec(String(text));
  if (!found) {
    const times = fraction(text);
    if (times[0] === 0n) throw new RangeError("a level is above 0");
    return new Exact(times);
  }
  const times = fraction(found[1] ?? 1), odds = fraction(found[2]);
  if (times[0] === 0n || odds[0] <= odds[1]) throw new RangeError("a level is above 0");
  return new Exact(times, odds);
}
