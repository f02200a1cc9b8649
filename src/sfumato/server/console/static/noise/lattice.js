// Integer vectors v with probability proportional to e^(-rate |v|), exactly: the law and the proof are those of
// src/sfumato/geo/lattice_noise.py. Proposals are independent two-sided geometric numbers with ratio e^-a; a vector is
// kept with probability e^-(rate |v| - a sum|v_i|). Floats decide where the word is at least 2^-30 away from that
// probability, BigInt enclosures decide where it is not.

import { boundExpNeg, boundSqrt } from "./reals.js";
import { SystemBits, uniform } from "./random.js";

const CELLS = 256, REACH = 64, FAR = 512, MARGIN = 2 ** -30, GUARD = 48n;

const TABLE = (() => {
  // e^(-k/256) for all k, from 160-bit products of lower ends: off by less than 2^-140
  const bits = 160n, ratio = boundExpNeg(1n, BigInt(CELLS), bits)[0];
  const table = new Float64Array(CELLS * REACH);
  let value = 1n << bits;
  for (let k = 0; k < table.length; k++) {
    table[k] = Number(value >> 60n) * 2 ** -100;
    value = (value * ratio) >> bits;
  }
  return table;
})();

/** e^-x for x >= 0, within 2^-48, by basic operations only; anything above 63.99 counts as 63.99. */
export function expNeg(x) {
  x = Math.min(x, REACH - 0.01);
  const cell = Math.floor(x * CELLS), r = x - cell / CELLS;
  return TABLE[cell] * (1 + r * (-1 + r * (0.5 + r * (-1 / 6 + r * (1 / 24 + r * (-1 / 120))))));
}

/** True with probability e^(-p/q), p/q >= 0, exactly. */
export function bernoulliExp(p, q, bits) {
  let word = BigInt(bits.word()), width = 32n;
  if (p === 0n) return true;
  for (;;) {
    const [low, high] = boundExpNeg(p, q, width + GUARD);
    if (((word + 1n) << GUARD) <= low) return true;
    if ((word << GUARD) >= high) return false;
    word = (word << 32n) | BigInt(bits.word());
    width += 32n;
  }
}

/** A two-sided geometric number: P(x) proportional to e^(-|x| p/q), for a positive fraction p/q. */
export function twoSided(p, q, bits) {
  // |x| = floor(u / p) for u = d + q g, d uniform below q and kept with e^(-d/q), g geometric with ratio e^-1
  for (;;) {
    const d = uniform(q, bits);
    if (!bernoulliExp(d, q, bits)) continue;
    let g = 0n;
    while (bernoulliExp(1n, 1n, bits)) g += 1n;
    const size = (d + q * g) / p;
    const negative = bits.word() >>> 31;
    if (negative && size === 0n) continue;
    return negative ? -size : size;
  }
}

/** A fraction of 20 bits at most `number` (an enclosure at 64 bits), and at most 40. */
function dyadicBelow(low) {
  if (low >= 40n << 64n) return [40n, 1n];
  const drop = Math.max(0, low.toString(2).length - 20);
  let p = low >> BigInt(drop), shift = 64 - drop;
  while (shift > 0 && (p & 1n) === 0n) { p >>= 1n; shift -= 1; }
  return shift >= 0 ? [p, 1n << BigInt(shift)] : [p << BigInt(-shift), 1n];
}

export class LatticeNoise {
  /** `rate` is an Exact, per grid step. */
  constructor(rate, dimensions = 3) {
    this.rate = rate;
    this.dimensions = dimensions;
    const [low] = rate.enclose(96n), [, high] = boundSqrt(BigInt(dimensions), 96n);
    this.proposal = dyadicBelow((low << 64n) / high);
    if (this.proposal[0] === 0n) throw new RangeError("the grid is too fine for this level of protection");
    this.number = rate.toNumber();
    this.a = Number(this.proposal[0]) / Number(this.proposal[1]);
  }

  /** One vector of BigInts. */
  sample(bits = new SystemBits()) {
    for (;;) {
      const vector = [];
      for (let i = 0; i < this.dimensions; i++) vector.push(twoSided(...this.proposal, bits));
      if (this.coin(vector, bits)) return vector;
    }
  }

  /** Whether a proposed vector is kept; `settled` on the class counts how often floats did not decide. */
  coin(vector, bits) {
    let total = 0, square = 0;
    for (const c of vector) {
      const size = Math.abs(Number(c));
      total += size;
      square += size * size;
    }
    const word = bits.word(), length = this.number * Math.sqrt(square);
    const above = expNeg(Math.max(length - this.a * total, 0)) * 2 ** 32 - word;
    const margin = MARGIN * 2 ** 32;
    if (length <= FAR && above >= 1 + margin) return true;
    if (length <= FAR && above <= -margin) return false;
    LatticeNoise.settled += 1;
    return this.settle(vector, word, bits);
  }

  /** The same decision by exact enclosures, with more random bits where the word alone does not decide. */
  settle(vector, first, bits) {
    const square = vector.reduce((sum, c) => sum + c * c, 0n);
    if (square === 0n) return true;
    const total = vector.reduce((sum, c) => sum + (c < 0n ? -c : c), 0n);
    let word = BigInt(first), width = 32n;
    for (;;) {
      const bits2 = width + GUARD;
      const [rootLow, rootHigh] = boundSqrt(square, bits2);
      const [rateLow, rateHigh] = this.rate.enclose(bits2);
      const less = (this.proposal[0] * total << bits2) / this.proposal[1]; // exact up to one unit
      let low = (rootLow * rateLow >> bits2) - less - 1n, high = (rootHigh * rateHigh >> bits2) + 1n - less;
      if (low < 0n) low = 0n;
      const least = boundExpNeg(high, 1n << bits2, bits2)[0], most = boundExpNeg(low, 1n << bits2, bits2)[1];
      if (((word + 1n) << GUARD) <= least) return true;
      if ((word << GUARD) >= most) return false;
      word = (word << 32n) | BigInt(bits.word());
      width += 32n;
    }
  }
}

LatticeNoise.settled = 0;
