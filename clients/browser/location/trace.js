// Reports for one person's positions, with a budget: src/sfumato/geo/traces.py in JavaScript.
// The last report is repeated while a private test finds it near, and held once the day's budget is spent. All sites
// share one trace for each setting, so that sites which compare notes learn no more than one of them. Positions are looked
// at 1, 2, 4, ... minutes after each other while sites go on asking, every 32 minutes in the end: who asks more often gets
// the last report and spends nothing. The clock and the questions decide that, never a position.

import { isqrt } from "./noise/reals.js";
import { SystemBits } from "./noise/random.js";
import { twoSided } from "./noise/lattice.js";

export const FRESH = 4, TEST = 1; // quarters of the level: a fresh report costs the level, a test a quarter of it
export const PERIOD = 60_000, LONGEST = 32 * PERIOD; // the shortest and the longest time between two looks
export const DAY = 24 * 60 * PERIOD; // a day begins with the first question after the day before has ended
const NEAR = 6.295793622, SCALES = 2; // 95 % of fresh reports, and so many scales of the test's noise: see traces.py

/**
 * What is kept about a trace, with the budget of a new day where the last one is over. The clock is compared at each
 * question with the one before (`seen`): `ran` is how far it went since the day began. It may be set back, and be set
 * right at any later time, which looks like time that passes; so a day is longer by as much as it is `behind`. A clock that
 * is `lost`, by a day or more, is set right by a step of at least as much, of which the rest counts, unless this day began
 * while it was lost (`doubt`); until then what it shows is taken for time. Not known are time that passed between a question
 * and a set-back after it, a clock that is set right after nobody had asked for a day, a lost one that is set to another
 * wrong time, and one that goes ahead: a worker has no other clock that outlives it.
 */
export function today(kept, now) {
  const held = { spent: 0, last: null, ran: 0, behind: 0, lost: 0, doubt: false, ...kept, seen: now };
  let step = now - (kept?.seen ?? kept?.day ?? now);
  if (step < 0) {
    held[-step < DAY ? "behind" : "lost"] -= step;
    step = 0;
  } else if (step >= DAY && step >= held.lost) {
    const missing = held.behind + held.lost, rest = held.doubt ? 0 : Math.max(0, step - missing);
    Object.assign(held, { behind: step < missing ? held.behind : 0, lost: 0, doubt: false });
    step = rest;
  }
  held.ran += step;
  return left(held) > 0 ? held : { ...held, spent: 0, ran: 0, doubt: held.lost > 0 };
}

/** How long a day still lasts. */
export function left({ ran, behind }) {
  return DAY + behind - ran;
}

/** Whether a level's budget allows no look any more until the day is over. */
export function isSpent(held, budget) {
  return held.spent + FRESH + (held.last ? TEST : 0) > FRESH * budget;
}

export class Trace {
  /**
   * `budget` is how many fresh reports a day allows; `store` keeps {spent, last, at, wait} for a key beside what `today`
   * keeps, and writes before it returns: the quarters spent, the last report, the last look, how long to wait after it.
   */
  constructor(mechanism, key, budget, store, bits = new SystemBits(), clock = Date.now) {
    Object.assign(this, { mechanism, key, budget, store, bits, clock });
    this.total = FRESH * budget;
    // the test: |z - g| in whole steps against a threshold; two positions within the radius change it by at most
    // (radius + slack + step)/step, so the rate is (level/4) step/(radius + slack + step), as a fraction from below
    const { level, reach, step } = mechanism;
    const [p, q] = [reach[0] * step[1] + step[0] * reach[1], reach[1] * step[1]];
    const [low] = level.scaled(q * step[0], 4n * p * step[1]).enclose(60n);
    this.rate = [low, 1n << 60n];
    this.threshold = BigInt(Math.round(NEAR / mechanism.noise.number + SCALES / (Number(low) / 2 ** 60)));
  }

  /** Whether a grid point counts as near the last report. */
  passes(point, last) {
    const square = point.reduce((sum, c, i) => sum + (c - last[i]) ** 2n, 0n);
    return isqrt(square) <= this.threshold + twoSided(...this.rate, this.bits);
  }

  /**
   * The next report: {lat, lon, kind, spent, total}. `look` reads the position; it is called where a test or a draw needs
   * it. The kind is fresh, repeated, cached (it was looked a moment ago), unread (no position) or held (the budget is spent).
   */
  async report(look) {
    const now = this.clock(), kept = await this.store.read(this.key);
    const held = today(kept, now), last = held.last?.map(BigInt);
    await this.store.write(this.key, held);
    const since = now >= held.at ? now - held.at : Infinity, wait = held.wait ?? PERIOD;
    if (isSpent(held, this.budget)) {
      if (!last) throw new RangeError("the budget does not allow a report");
      return this.#told(last, "held", held.spent);
    }
    if (since < wait) {
      if (!last) throw new RangeError("the position could not be read a moment ago");
      return this.#told(last, "cached", held.spent);
    }
    // nobody asked for long: start again; a first look may be tried again soon
    held.wait = !last || since >= wait + LONGEST ? PERIOD : Math.min(2 * wait, LONGEST);
    held.at = now;
    // before the look: one that fails is one, too, or what is left of the budget would tell where positions can be read
    if (last) held.spent += TEST;
    await this.store.write(this.key, held);
    let point;
    try {
      point = this.mechanism.toGrid(...(await look()));
    } catch (error) {
      if (!last) throw error;
      return this.#told(last, "unread", held.spent); // where positions cannot be read also tells something
    }
    if (last && this.passes(point, last)) return this.#told(last, "repeated", held.spent);
    held.spent += FRESH;
    await this.store.write(this.key, held); // before the draw
    const noise = this.mechanism.noise.sample(this.bits);
    const fresh = point.map((c, i) => c + noise[i]);
    held.last = fresh.map(String);
    await this.store.write(this.key, held);
    return this.#told(fresh, "fresh", held.spent);
  }

  #told(point, kind, spent) {
    const [lat, lon] = this.mechanism.fromGrid(point);
    return { lat, lon, kind, spent, total: this.total };
  }
}
