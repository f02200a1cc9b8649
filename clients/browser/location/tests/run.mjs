// `node tests/run.mjs`: the shared vectors, the law of the noise, and budgets. Exits with 1 where something is wrong.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { LatticeNoise, bernoulliExp, expNeg, twoSided } from "../noise/lattice.js";
import { SystemBits } from "../noise/random.js";
import { Exact, boundExpNeg, boundLn, boundSqrt, fraction, isqrt, level } from "../noise/reals.js";
import { LocationMechanism, niceStep, toDegrees, toMetres } from "../noise/world.js";
import { DAY, FRESH, LONGEST, PERIOD, TEST, Trace, isSpent, today } from "../trace.js";

const tests = [];
const test = (name, run) => tests.push([name, run]);
function equal(a, b, what = "") {
  const [left, right] = [a, b].map((v) => JSON.stringify(v, (_, x) => (typeof x === "bigint" ? `${x}n` : x)));
  if (left !== right) throw new Error(`${what} ${left} is not ${right}`);
}
function near(a, b, by, what = "") {
  if (!(Math.abs(a - b) <= by)) throw new Error(`${what} ${a} is not within ${by} of ${b}`);
}
function throws(run, what) {
  try { run(); } catch (error) { if (error instanceof RangeError) return; throw error; }
  throw new Error(`${what} was accepted`);
}

class Words {
  constructor(words) { this.words = words; this.used = 0; }
  word() { return this.words[this.used++]; }
}

/** Words that a name determines, so that tests of laws pass again: SHA-256 of the name and a counter. */
class FixedBits {
  constructor(name) { this.name = name; this.blocks = 0; this.held = []; }
  word() {
    if (!this.held.length) {
      const block = createHash("sha256").update(`${this.name} ${this.blocks++}`).digest();
      for (let i = 0; i < 32; i += 4) this.held.push(block.readUInt32LE(i));
    }
    return this.held.pop();
  }
}

const { positions, settings } = JSON.parse(readFileSync(new URL("./vectors.json", import.meta.url)));

test("shared vectors: grids, rates and degrees", () => {
  for (const vector of settings) {
    const made = new LocationMechanism(vector.level, vector.radius);
    const [p, q] = made.step, [a, b] = vector.step.map(BigInt);
    equal(p * b, a * q, "step");
    const [low, high] = made.noise.rate.enclose(96n), [least, most] = vector.rate.map(BigInt);
    if (low > most || least > high || high - low > 64n) throw new Error("the rate is another one");
    equal(made.noise.proposal, vector.proposal.map(BigInt), "proposal");
    const trace = new Trace(made, "a", 1, null), [rate, unit] = trace.rate, [top, bottom] = vector.test_rate.map(BigInt);
    equal([rate * bottom, Number(trace.threshold)], [top * unit, vector.threshold], "test");
    equal(positions.map(([lat, lon]) => made.toGrid(lat, lon).map(Number)), vector.grid, "grid");
    vector.shifted.forEach((point, i) => {
      const [lat, lon] = made.fromGrid(point.map(BigInt));
      near(lat, vector.degrees[i][0], 1.01e-7, "latitude");
      const apart = Math.abs(lon - vector.degrees[i][1]) % 360;
      near(Math.min(apart, 360 - apart) * Math.cos(lat * Math.PI / 180), 0, 1.01e-7, "longitude");
    });
  }
});

test("shared vectors: every coin falls the same way from the same bits", () => {
  let coins = 0, longer = 0;
  LatticeNoise.settled = 0;
  for (const vector of settings) {
    const { noise } = new LocationMechanism(vector.level, vector.radius);
    for (const coin of vector.coins) {
      const words = new Words(coin.words);
      equal(noise.coin(coin.vector.map(BigInt), words), coin.kept, `coin ${JSON.stringify(coin)}`);
      equal(words.used, coin.used, `bits of ${JSON.stringify(coin)}`);
      coins += 1;
      longer += coin.used > 1;
    }
  }
  if (coins < 500 || longer < 50 || LatticeNoise.settled < 100) throw new Error(`only ${coins}, ${longer}, ${LatticeNoise.settled}`);
});

test("enclosures hold what they enclose", () => {
  for (const [p, q] of [[1n, 3n], [5n, 1n], [1n, 1000n], [40n, 1n], [69n, 100n]]) {
    const [low, high] = boundExpNeg(p, q, 64n), x = Number(p) / Number(q);
    if (high - low > 2n) throw new Error("wide");
    near(Number(low) * 2 ** -64, Math.exp(-x), 1e-15);
    near(expNeg(x), Math.exp(-x), 2 ** -50);
  }
  for (const [p, q] of [[4n, 1n], [3n, 2n], [1000001n, 1000000n], [10n ** 20n, 7n]]) {
    const [low, high] = boundLn(p, q, 80n);
    if (high - low > 4n) throw new Error("wide");
    near(Number(low) / 2 ** 80, Math.log(Number(p) / Number(q)), 1e-14);
  }
  for (const n of [0n, 1n, 2n, 3n, 16n, 10n ** 30n + 7n]) {
    const root = isqrt(n);
    if (root * root > n || (root + 1n) ** 2n <= n) throw new Error(`isqrt ${n}`);
    const [low, high] = boundSqrt(n, 40n);
    if (low * low > n << 80n || high * high < n << 80n) throw new Error(`sqrt ${n}`);
  }
});

/** The upper tail of a chi-square with many degrees of freedom, by Wilson and Hilferty. */
function suspicious(chi, degrees) {
  const z = ((chi / degrees) ** (1 / 3) - (1 - 2 / (9 * degrees))) / Math.sqrt(2 / (9 * degrees));
  return z > 5.5;
}

function frequencies(draw, count) {
  const seen = new Map();
  for (let i = 0; i < count; i++) {
    const key = String(draw());
    seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  return seen;
}

function check(seen, masses, count) {
  let chi = 0, degrees = 0, rest = count, restExpected = count;
  for (const [key, mass] of masses) {
    const expected = mass * count;
    if (expected < 8) continue;
    chi += ((seen.get(key) ?? 0) - expected) ** 2 / expected;
    rest -= seen.get(key) ?? 0;
    restExpected -= expected;
    degrees += 1;
  }
  if (degrees < 8) throw new Error("too few cells");
  if (restExpected > 8) chi += (rest - restExpected) ** 2 / restExpected;
  if (suspicious(chi, degrees)) throw new Error(`chi-square ${chi} with ${degrees} degrees of freedom`);
}

test("two-sided geometric numbers have their law", () => {
  const bits = new FixedBits("two-sided"), count = 40_000;
  for (const [p, q] of [[1n, 3n], [2n, 1n], [7n, 50n]]) {
    const r = Math.exp(-Number(p) / Number(q)), masses = new Map();
    for (let x = -200; x <= 200; x++) masses.set(String(x), ((1 - r) / (1 + r)) * r ** Math.abs(x));
    if (p === 2n) masses.forEach((_, key) => Math.abs(Number(key)) > 6 && masses.delete(key));
    const seen = frequencies(() => twoSided(p, q, bits), count);
    if (p === 2n) near((seen.get("0") ?? 0) / count, masses.get("0"), 0.02);
    else check(seen, masses, count);
  }
  let hits = 0;
  for (let i = 0; i < 20_000; i++) hits += bernoulliExp(1n, 2n, bits);
  near(hits / 20_000, Math.exp(-0.5), 0.02);
});

test("coins of e^-x are decided by the first word unless it is the one that holds e^-x", () => {
  const bits = new FixedBits("edges");
  for (let i = 0; i < 500; i++) {
    const q = BigInt(1 + bits.word() % 1e6), p = 1n + BigInt(bits.word()) % (20n * q), [low] = boundExpNeg(p, q, 200n);
    const edge = Number(low >> 168n), next = Number((low >> 136n) & 0xffffffffn);
    for (const [words, kept] of [[[edge - 1], true], [[edge + 1], false], [[edge, next - 1], true], [[edge, next + 1], false]]) {
      if (words.some((word) => word < 0 || word > 0xffffffff)) continue;
      const given = new Words(words);
      equal([bernoulliExp(p, q, given), given.used], [kept, words.length], `e^-${p}/${q}`);
    }
  }
});

for (const [dimensions, rate] of [[2, new Exact([4n, 5n])], [3, new Exact([1n, 2n], [8n, 1n])]]) {
  test(`lattice noise in ${dimensions} dimensions has the exact law`, () => {
    const noise = new LatticeNoise(rate, dimensions), bits = new FixedBits(`lattice ${dimensions}`), count = 30_000, e = rate.toNumber();
    const reach = Math.ceil(30 / e), masses = new Map();
    let total = 0;
    const axis = Array.from({ length: 2 * reach + 1 }, (_, i) => i - reach);
    for (const x of axis) for (const y of axis) for (const z of dimensions === 3 ? axis : [0]) {
      const mass = Math.exp(-e * Math.sqrt(x * x + y * y + z * z));
      total += mass;
      if (mass * count > 1e-3) masses.set(String(dimensions === 3 ? [x, y, z] : [x, y]), mass);
    }
    masses.forEach((mass, key) => masses.set(key, mass / total));
    check(frequencies(() => noise.sample(bits), count), masses, count);
  });
}

test("reports are as far away as the level says", () => {
  const made = new LocationMechanism("ln 4", 500), bits = new FixedBits("far");
  let sum = 0, within = 0;
  const count = 3000, from = toMetres(48.8584, 2.2945);
  for (let i = 0; i < count; i++) {
    const noise = made.noise.sample(bits);
    const [lat, lon] = made.fromGrid(made.toGrid(48.8584, 2.2945).map((c, k) => c + noise[k]));
    const far = Math.hypot(...toMetres(lat, lon).map((c, k) => c - from[k]));
    sum += far;
    within += far <= made.accuracy;
  }
  near(sum / count / (2.356 * 500 / Math.log(4)), 1, 0.08);
  near(within / count, 0.95, 0.03);
});

/** A clock that moves on by the longest wait whenever it is read. */
const patient = () => { let now = 1e12; return () => (now += LONGEST); };

/** A store in memory, and what it keeps. */
function memory() {
  const kept = new Map();
  return [{ read: async (key) => structuredClone(kept.get(key)), write: async (key, value) => kept.set(key, structuredClone(value)) }, kept];
}

test("who asks often gets the last report, and spends nothing", async () => {
  const [store, kept] = memory();
  let now = 1e12;
  const made = new LocationMechanism("ln 4", 200), trace = new Trace(made, "a", 50, store, new FixedBits("often"), () => now);
  const first = await trace.report(() => [48, 2]);
  for (let i = 0; i < 1000; i++, now += PERIOD / 1001) {
    const step = await trace.report(() => [48 + i / 100, 2]); // wherever the person is: the clock decides, not the position
    equal([step.kind, step.lat, step.lon, step.spent], ["cached", first.lat, first.lon, FRESH]);
  }
  now += PERIOD;
  equal((await trace.report(() => [58, 2])).spent > FRESH, true);
  now -= 10 * PERIOD; // a clock that was set back does not hold the report for as long
  const before = kept.get("a").spent;
  equal((await trace.report(() => [48, 2])).spent > before, true);
});

test("looks are farther and farther apart, by the clock and the questions alone", async () => {
  const kinds = [];
  for (const wander of [0, 1]) { // at rest, and in another city at each look
    const [store] = memory(), looks = [];
    let now = 1e12;
    const trace = new Trace(new LocationMechanism("ln 4", 200), "a", 1000, store, new FixedBits("apart"), () => now);
    const look = () => { looks.push((now - 1e12) / PERIOD); return [48 + wander * looks.length, 2]; };
    for (let i = 0; i < 200; i++, now += PERIOD) await trace.report(look); // a page that watches
    equal(looks, [0, 1, 3, 7, 15, 31, 63, 95, 127, 159, 191]);
    now += 3 * LONGEST; // nobody asks
    looks.length = 0;
    const again = (now - 1e12) / PERIOD;
    for (let i = 0; i < 20; i++, now += PERIOD) kinds.push((await trace.report(look)).kind);
    equal(looks.map((at) => at - again), [0, 1, 3, 7, 15]);
  }
  equal(kinds.includes("fresh") && kinds.includes("repeated"), true);
});

test("the budget of a day lasts a day at rest, and the next day has its own", async () => {
  const [store, kept] = memory();
  let now = 1e12, place = [48, 2], kinds = new Set();
  const trace = new Trace(new LocationMechanism("ln 4", 500), "a", 20, store, new FixedBits("day"), () => now);
  const ask = async () => { const made = await trace.report(() => place); kinds.add(made.kind); return made; };
  for (let i = 0; i < 24 * 60; i++, now += PERIOD) await ask();
  equal(kinds.has("held"), false, "at rest");
  const spent = kept.get("a").spent / FRESH;
  if (!(spent > 12 && spent < 18)) throw new Error(`${spent} spent in a day`);
  await ask(); // a new day: the last report is tested, at the new day's cost
  equal(kept.get("a").spent <= TEST + FRESH, true, "a new day");
  for (let i = 0; i < 30 * 60 && !isSpent(today(kept.get("a"), now), 20); i++, now += PERIOD) {
    place = [48 + i % 50, 2]; // far away each time: the budget is spent before the day is over
    await ask();
  }
  const begun = kept.get("a").seen - kept.get("a").ran, held = await ask();
  equal([held.kind, kept.get("a").spent <= 20 * FRESH], ["held", true]);
  place = [-33, 151];
  now = begun + DAY - 1;
  equal((({ lat, lon, kind }) => [lat, lon, kind])(await ask()), [held.lat, held.lon, "held"], "until the day is over");
  now += 1;
  const moved = await ask();
  equal(moved.kind, "fresh", "and no longer");
  near(moved.lat, -33, 1);
  // a clock that is set back begins no day, and does not make the present one last for more than a day
  kept.get("a").spent = 20 * FRESH;
  now -= 400 * DAY;
  equal((await ask()).kind, "held");
  now += DAY;
  equal((await ask()).kind !== "held", true);
});

test("a clock that is lost and set right again begins no day", async () => {
  const [store, kept] = memory();
  const begun = 1e12 + 5 * DAY, hour = 60 * PERIOD, spent = 3 * FRESH;
  let now = begun;
  const trace = new Trace(new LocationMechanism("ln 4", 500), "a", 3, store, new FixedBits("clock"), () => now);
  await trace.report(() => [48, 2]);
  const kinds = async (...times) => {
    const seen = [];
    for (now of times) seen.push((await trace.report(() => [48, 2])).kind);
    return seen;
  };
  const spend = () => { kept.get("a").spent = spent; };
  spend();
  // lost twice, once to an earlier time still, and looked at in each; then right again on the same day
  equal(await kinds(begun + hour, 5000, 1000, 9000, begun + 2 * hour, begun + DAY - 1), Array(6).fill("held"));
  equal((await kinds(begun + DAY))[0] !== "held", true, "and ends when it should");
  // a new day that a lost clock begins lasts for a day, too, and is over no sooner when the clock is right again
  spend();
  const later = begun + DAY + hour;
  equal(await kinds(0, 23 * hour), ["held", "held"]);
  equal((await kinds(24 * hour))[0] !== "held", true);
  spend();
  equal(await kinds(later + 24 * hour, later + 25 * hour, later + 46 * hour), ["held", "held", "held"]);
  equal((await kinds(later + 48 * hour))[0] !== "held", true);
  // set back by hours only: the day may end later, never sooner
  spend();
  const next = later + 48 * hour;
  equal(await kinds(next - 2 * hour, next + 21 * hour, next + 23 * hour), ["held", "held", "held"]);
  equal((await kinds(next + 24 * hour))[0] !== "held", true);
});

test("a clock that was ahead and is set right begins a day later", async () => {
  const [store, kept] = memory(), hour = 60 * PERIOD, begun = 1e12;
  let now = begun + 9000 * DAY;
  const trace = new Trace(new LocationMechanism("ln 4", 500), "a", 3, store, new FixedBits("ahead"), () => now);
  const kinds = async (...times) => {
    const seen = [];
    for (now of times) seen.push((await trace.report(() => [48, 2])).kind);
    return seen;
  };
  await kinds(now);
  kept.get("a").spent = 3 * FRESH;
  equal(await kinds(begun, begun + 23 * hour), ["held", "held"]);
  equal((await kinds(begun + DAY))[0] !== "held", true);
});

/**
 * Hours between days, for questions at random times to a clock that is right at first, is set back at random (at once after
 * a question, or to 1970 at any time) and set right at any time. Every day's budget is spent at once.
 */
function gaps(bits, questions) {
  const found = [], pick = (many) => bits.word() % many, hour = 60 * PERIOD;
  let real = 1e12, shown = real, held, last = null, wrong = 0;
  const ask = () => {
    held = today(held, shown);
    if (!held.spent) {
      if (last !== null) found.push((real - last) / hour);
      last = real;
    }
    held.spent = 80;
  };
  for (let i = 0; i < questions; i++) {
    ask();
    const step = [PERIOD, hour, 5 * hour, 11 * hour][pick(4)] + pick(1000) * 1000, act = pick(8);
    if (act === 0) {
      shown -= [1000, hour, 7 * hour, 23 * hour][pick(4)];
      ask();
    }
    real += step;
    shown += step;
    if (act === 1) shown = real;
    if (act === 2 && shown > 1e11) shown = pick(5) * 1000;
    wrong += shown < real;
  }
  return [found, wrong];
}

test("no two days begin within a day, whatever a clock does but going ahead", async () => {
  let days = 0, behind = 0, least = Infinity;
  for (let run = 0; run < 400; run++) {
    const [found, wrong] = gaps(new FixedBits(`gaps ${run}`), run % 2 ? 400 : 40);
    [days, behind, least] = [days + found.length, behind + wrong, Math.min(least, ...found)];
  }
  equal(least >= 24, true, `a day of ${least} hours`);
  equal(days > 4000 && behind > 20_000, true, `${days} days, ${behind} questions to a clock that is behind`);
});

test("positions are looked at once a minute, and not at all without need", async () => {
  const [store, kept] = memory();
  let now = 1e12, looks = 0, broken = true;
  const look = async () => { looks += 1; if (broken) throw new RangeError("no signal"); return [48, 2]; };
  const made = new LocationMechanism("ln 4", 200), trace = new Trace(made, "a", 3, store, new FixedBits("looks"), () => now);
  const errors = [];
  for (let i = 0; i < 3; i++) await trace.report(look).catch((error) => errors.push(error.message));
  equal([looks, errors.length, errors[0], kept.get("a").spent], [1, 3, "no signal", 0], "a first look that fails");
  now += PERIOD;
  broken = false;
  const first = await trace.report(look);
  for (let i = 0; i < 20; i++) await trace.report(look);
  equal([first.kind, looks], ["fresh", 2], "within the minute");
  now += PERIOD;
  broken = true; // nobody learns from an error, or from what is left of the budget, where there is no signal
  for (let i = 0; i < 3; i++) equal((({ lat, lon, spent, kind }) => [lat, lon, spent, kind])(await trace.report(look)), [first.lat, first.lon, FRESH + TEST, i ? "cached" : "unread"]);
  equal(looks, 3, "a look that fails");
  broken = false;
  kept.get("a").spent = 3 * FRESH;
  for (let i = 0; i < 5; i++, now += PERIOD) equal((await trace.report(look)).kind, "held");
  equal(looks, 3, "a budget that is spent");
});

test("a trace spends before it draws, repeats, and is held when the budget is spent", async () => {
  const kept = new Map(), log = [];
  const store = {
    async read(key) { return kept.has(key) ? structuredClone(kept.get(key)) : undefined; },
    async write(key, value) { log.push(value.spent); kept.set(key, structuredClone(value)); },
  };
  const made = new LocationMechanism("ln 4", 500);
  const still = new Trace(made, "a", 30, store, new FixedBits("a"), patient()), kinds = [];
  for (let i = 0; i < 40; i++) kinds.push((await still.report(() => [48.8584, 2.2945])).kind);
  equal(kinds[0], "fresh");
  if (kinds.filter((kind) => kind === "repeated").length < 20) throw new Error(`too few repetitions: ${kinds}`);
  if (kept.get("a").spent > 30 * FRESH) throw new Error("overspent");
  const far = new Trace(made, "b", 4, store, new FixedBits("b"), patient()), seen = [];
  for (let i = 0; i < 40; i++) seen.push(await far.report(() => [48 + (i % 2), 2]));
  equal(seen.at(-1).kind, "held");
  if (kept.get("b").spent > 4 * FRESH) throw new Error("overspent");
  equal([seen.at(-1).lat, seen.at(-1).lon], [seen.at(-2).lat, seen.at(-2).lon]);
  const broken = new Trace(made, "c", 3, store, { word() { throw new RangeError("power cut"); } });
  await broken.report(() => [1, 1]).then(() => { throw new Error("drawn"); }, (error) => equal(error.message, "power cut"));
  equal(kept.get("c").spent, FRESH);
  equal(TEST < FRESH, true);
});

test("the words of the system are uniform and never the same", () => {
  const bits = [new SystemBits(), new SystemBits()], words = Array.from({ length: 4096 }, (_, i) => bits[i % 2].word());
  if (new Set(words).size < 4080) throw new Error("words are repeated");
  for (let bit = 0; bit < 32; bit++) near(words.filter((word) => (word >>> bit) & 1).length, 2048, 240, `bit ${bit}`);
});

test("wrong numbers are refused", () => {
  for (const text of ["", "x", "-1", "0", "ln 1", "ln 0.5", "0 ln 4", "1.5/2", "1/0"]) throws(() => level(text), `level ${text}`);
  for (const size of ["0", "-3", "x"]) throws(() => new LocationMechanism("ln 4", size), `radius ${size}`);
  throws(() => new LocationMechanism("ln 4", 200).toGrid(91, 0), "latitude 91");
  throws(() => new LocationMechanism("ln 4", 200).toGrid(NaN, 0), "no latitude");
  equal(fraction("12.50"), [1250n, 100n]);
  equal(niceStep(7n, 1n), [5n, 1n]);
  equal(niceStep(3n, 1000n), [2n, 1000n]);
  for (const point of [[0, 0, 0], [1, 0, 0], [0, 0, 1e9], [-1e9, 0, 0]]) {
    const [lat, lon] = toDegrees(point);
    if (!(Math.abs(lat) <= 90 && lon >= -180 && lon < 180)) throw new Error(`${point} is at ${lat}, ${lon}`);
  }
});

let failed = 0;
for (const [name, run] of tests) {
  try {
    await run();
    console.log(`ok   ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL ${name}: ${error.stack}`);
  }
}
process.exit(failed ? 1 : 0);
