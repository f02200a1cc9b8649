// Reports for one person's positions, with a budget: src/sfumato/geo/traces.py in JavaScript.
// The last report is repeated while a private test finds it near, and held once the budget is spent. All sites share one
// trace for each setting, so that sites which compare notes learn no more than one of them. Positions are looked at once
// a minute at most: who asks more often gets the last report and spends nothing. That is decided by the clock alone.

import { isqrt } from "./noise/reals.js";
import { SystemBits } from "./noise/random.js";
import { twoSided } from "./noise/lattice.js";

export const FRESH = 4, TEST = 1; // quarters of the level: a fresh report costs the level, a test a quarter of it
export const PERIOD = 60_000;

export class Trace {
  /** `budget` is how many fresh reports there may be; `store` keeps {spent, last, at} for a key, and writes before it returns. */
  constructor(mechanism, key, budget, store, bits = new SystemBits(), clock = Date.now) {
    Object.assign(this, { mechanism, key, store, bits, clock });
    this.total = FRESH * budget;
    // the test: |z - g| in whole steps against a threshold; two positions within the radius change it by at most
    // (radius + slack + step)/step, so the rate is (level/4) step/(radius + slack + step), as a fraction from below
    const { level, reach, step } = mechanism;
    const [p, q] = [reach[0] * step[1] + step[0] * reach[1], reach[1] * step[1]];
    const [low] = level.scaled(q * step[0], 4n * p * step[1]).enclose(60n);
    this.rate = [low, 1n << 60n];
    this.threshold = BigInt(Math.round(mechanism.accuracy / mechanism.metres));
  }

  /** Whether a grid point counts as near the last report. */
  passes(point, last) {
    const square = point.reduce((sum, c, i) => sum + (c - last[i]) ** 2n, 0n);
    return isqrt(square) <= this.threshold + twoSided(...this.rate, this.bits);
  }

  /** The next report: {lat, lon, kind, spent, total}. */
  async report(lat, lon) {
    const point = this.mechanism.toGrid(lat, lon);
    const held = (await this.store.read(this.key)) ?? { spent: 0, last: null };
    const last = held.last?.map(BigInt), now = this.clock();
    if (last) {
      if (now >= held.at && now - held.at < PERIOD) return this.#told(last, "cached", held.spent);
      if (held.spent + TEST + FRESH > this.total) return this.#told(last, "held", held.spent);
      held.spent += TEST;
      held.at = now;
      await this.store.write(this.key, held); // before the draw
      if (this.passes(point, last)) return this.#told(last, "repeated", held.spent);
    }
    if (held.spent + FRESH > this.total) throw new RangeError("the budget does not allow a report");
    held.spent += FRESH;
    held.at = now;
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
