// See README.md. A tape t gives the same reports in Python.
const utf8 = (text) => new TextEncoder().encode(text), { ceil, floor, log, max, min } = Math, Bytes = Uint8Array;
const fail = (why) => { throw new Error(why); };
const subtle = () => crypto.subtle ?? fail("this page needs https");
const sha256 = async (bytes) => new Bytes(await subtle().digest("SHA-256", bytes));
const join = (...parts) => Bytes.from(parts.flatMap((part) => [...part]));
const to64 = (bytes) => btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join("")), from64 = (text) => Bytes.from(atob(text), (c) => c.charCodeAt(0));

export class RandomTape {
	take(count) {
		const bytes = new Bytes(count);
		for (let at = 0; at < count; at += 65536) crypto.getRandomValues(bytes.subarray(at, at + 65536));
		return bytes;
	}
}

export class GivenTape {
	constructor(bytes) { this.bytes = bytes; this.at = 0; }
	take(count) {
		if (this.at + count > this.bytes.length) fail("no bytes are left");
		return this.bytes.subarray(this.at, (this.at += count));
	}
}
async function keyedBytes(key, label, count) {
	const hmac = await subtle().importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
	const blocks = [];
	for (let i = 0; i * 32 < count; i++) blocks.push(...new Bytes(await subtle().sign("HMAC", hmac, join(label, little(i, 4)))));
	return Bytes.from(blocks);
}

// true with threshold/2^bits
export function coins(t, count, threshold, bits) {
	const heads = new Bytes(count);
	if (threshold === 2 ** bits) return heads.fill(1);
	let open = [...heads.keys()];
	for (let shift = bits - 8; shift >= 0 && open.length; shift -= 8) {
		const digit = floor(threshold / 2 ** shift) % 256, bytes = t.take(open.length);
		open = open.filter((place, i) => {
			if (bytes[i] < digit) heads[place] = 1;
			return bytes[i] === digit;
		});
	}
	return heads;
}

// uniform below size <= 2^32
export function below(t, size) {
	const width = bitsFor(size), stored = width <= 8 ? 1 : width <= 16 ? 2 : 4;
	for (;;) {
		const word = width ? unpack(t.take(stored)) % 2 ** width : 0;
		if (word < size) return word;
	}
}
const coin = (t, p, name = "truth") => coins(t, 1, p[name], p.bits)[0];
const unpack = (bytes) => Number(bigLittle(bytes));
const little = (value, octets) => Bytes.from({ length: octets }, (_, i) => floor(value / 256 ** i) % 256);
const bitsFor = (size) => 32 - Math.clz32(size - 1);
const octetsFor = (size) => max(1, ceil(bitsFor(size) / 8));
function packBits(bits) {
	const bytes = new Bytes(ceil(bits.length / 8));
	bits.forEach((bit, i) => { bytes[i >> 3] |= bit << (i & 7); });
	return bytes;
}
const bucketOf = (sum, p) => Number((sum % BigInt(p.prime)) * BigInt(p.buckets ?? p.columns) / BigInt(p.prime));
const hashLimbs = (a, c, b, x) => BigInt(a) * BigInt.asUintN(30, x) + BigInt(c) * (x >> 30n) + BigInt(b);
const bigLittle = (bytes) => bytes.reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n);
const fingerprint = async (text) => BigInt.asUintN(60, bigLittle((await sha256(utf8(text))).subarray(0, 8)));
function respond(value, size, p, t) {
	const lie = !coin(t, p), other = 1 + below(t, size - 1);
	return lie ? (value + other) % size : value;
}
const kary = (p, value, t) => little(respond(value, p.size, p, t), octetsFor(p.size));
function unary(p, value, t) {
	const bits = coins(t, p.size, p.zero, p.bits);
	bits[value] = coin(t, p, "one");
	return packBits(bits);
}
function hadamard(p, value, t) {
	const rows = 2 ** max(1, bitsFor(p.size)), row = below(t, rows);
	let sign = row & value;
	for (let shift = 16; shift; shift >>= 1) sign ^= sign >> shift;
	return little(2 * row + ((sign & 1) ^ !coin(t, p)), octetsFor(2 * rows));
}
function hashing(p, value, t) {
	const a = below(t, p.prime), b = below(t, p.prime), n = octetsFor(p.prime);
	const told = respond(bucketOf(BigInt(a) * BigInt(value) + BigInt(b), p), p.buckets, p, t);
	return join(little(a, n), little(b, n), little(told, octetsFor(p.buckets)));
}
function subset(p, value, t) {
	const own = coin(t, p), set = new Bytes(p.size);
	let needed = p.chosen - own;
	for (let i = 0; i < p.size - 1; i++) {
		set[i] = below(t, p.size - 1 - i) < needed;
		needed -= set[i];
	}
	set[p.size - 1] = set[min(value, p.size - 2)];
	set[value] = own;
	return packBits(set);
}
function bitFlip(p, value, t) {
	const chosen = [];
	for (let j = 0; j < p.sampled; j++) {
		const top = p.size - p.sampled + j, drawn = below(t, top + 1);
		chosen.push(chosen.includes(drawn) ? top : drawn);
	}
	chosen.sort((x, y) => x - y);
	const truths = coins(t, p.sampled, p.truth, p.bits), told = chosen.map((v, i) => (v === value) ^ !truths[i]);
	return join(...chosen.map((v) => little(v, octetsFor(p.size))), packBits(told));
}
const duchi = (p, value, t) => Bytes.of((below(t, p.grid) < value) ^ !coin(t, p));
function piecewise(p, value, t) {
	const inside = coin(t, p), near = value + below(t, p.window), far = below(t, p.cells - p.window);
	return little(inside ? near : far + (far >= value ? p.window : 0), 2);
}
function hybrid(p, value, t) {
	const first = coin(t, p, "choice"), cell = piecewise(p, value, t);
	const end = duchi({ ...p, grid: p.cells - p.window, truth: p.bit_truth }, value, t);
	return first ? join([1], cell) : join([0], end, [0]);
}
async function sketch(p, text, t) {
	const j = below(t, p.hashes), bits = coins(t, p.columns, p.truth, p.bits).map((truth) => 1 - truth);
	const seed = await sha256(utf8(`sketch/${p.salt}/${j}`));
	const [a, c, b] = [0, 8, 16].map((at) => bigLittle(seed.subarray(at, at + 8)) % BigInt(p.prime));
	bits[bucketOf(hashLimbs(a, c, b, await fingerprint(text)), p)] ^= 1;
	return join(little(j, 2), packBits(bits));
}
function prefix(p, text, t) {
	const letters = utf8(text), group = below(t, p.letters);
	const [a, c, b] = [0, 1, 2].map(() => below(t, p.prime));
	let code = 0n;
	for (let i = 0; i <= group; i++) code = code * 256n + BigInt(letters[i] ?? 0);
	const told = respond(bucketOf(hashLimbs(a, c, b, code), p), p.buckets, p, t);
	return join([group], little(a, 4), little(c, 4), little(b, 4), little(told, octetsFor(p.buckets)));
}
// once for a device and a task
async function drawCopy(p, text, { task, cohort, key }) {
	if (key.length < 16 || !(cohort >= 0 && cohort < p.cohorts)) fail("a device needs a key and a cohort");
	const ours = little(cohort, 2), digest = await sha256(join(ours, utf8(text))), copy = new Bytes(p.filter);
	for (let i = 0; i < p.hashes; i++) copy[unpack(digest.subarray(4 * i, 4 * i + 4)) % p.filter] = 1;
	const label = join(await sha256(utf8(task.identity)), ours, await sha256(utf8(text)));
	const memo = new GivenTape(await keyedBytes(key, label, (p.filter * p.bits) / 8));
	return coins(memo, p.filter, p.flip, p.bits).map((wrong, i) => wrong ^ copy[i]);
}
async function rappor(p, text, t, device) {
	const copy = device.copy ?? await drawCopy(p, text, device);
	const ones = coins(t, p.filter, p.one, p.bits), zeros = coins(t, p.filter, p.zero, p.bits);
	return join(little(device.cohort, 2), packBits(copy.map((bit, i) => (bit ? ones : zeros)[i])));
}

const odds = (x) => x / (1 - x);
const of = (p, name = "truth") => odds(p[name] / 2 ** p.bits);
const twoBits = (p) => of(p, "one") / of(p, "zero");
const overRest = (p) => of(p) * (p.buckets - 1);
const hybridRatio = (p, both = [windowed(p), of(p, "bit_truth")]) => min(...both) > 1 && max(...both);
const windowed = (p) => of(p) * (p.cells - p.window) / p.window;
function rapporRatio(p) {
	const [f, one, zero] = [p.flip, p.one, p.zero].map((t) => t / 2 ** p.bits);
	return (odds((1 - f) * one + f * zero) / odds(f * one + (1 - f) * zero)) ** p.hashes;
}
// encoder, ratio, parameters but bits
const UNARY = [unary, twoBits, "one size zero"];
const ENCODERS = {
	warner: [kary, of, "size truth"],
	"k-ary": [kary, (p) => of(p) * (p.size - 1), "size truth"],
	"symmetric-unary": UNARY,
	"optimised-unary": UNARY,
	hadamard: [hadamard, of, "size truth"],
	"local-hashing": [hashing, overRest, "buckets prime size truth"],
	subset: [subset, (p) => of(p) * (p.size - p.chosen) / p.chosen, "chosen size truth"],
	dbitflip: [bitFlip, (p) => of(p) ** min(2, p.sampled), "sampled size truth"],
	rappor: [rappor, rapporRatio, "cohorts filter flip hashes one zero"],
	"count-mean-sketch": [sketch, (p) => of(p) ** 2, "columns hashes prime salt truth"],
	prefix: [prefix, overRest, "buckets letters prime truth"],
	duchi: [duchi, of, "grid truth"],
	piecewise: [piecewise, windowed, "cells truth window"],
	hybrid: [hybrid, hybridRatio, "bit_truth cells choice truth window"],
};
const K = 2 ** 16, G = 2 ** 31 - 1;
const MOST = { bits: 48, size: 256 * K, chosen: G, sampled: 256, prime: G, salt: G, filter: 4096, cohorts: 1024, letters: 7 };
// as in Python
function sound(p, mechanism) {
	const unit = 2 ** p.bits;
	for (let d = 2; d * d <= p.prime; d++) if (p.prime % d === 0) return false;
	return p.bits % 8 === 0 && !(p.chosen >= p.size || p.sampled > p.size || p.window >= p.cells || 2 * p.flip >= unit
		|| p.size > p.prime || (p.buckets ?? p.columns) > p.prime || p.size > 2 && mechanism === "warner" || p.filter && p.hashes > 8)
		&& Object.entries(p).every(([key, n]) => {
			const free = key === "choice" || (p.filter && /one|zero/.test(key));
			const most = /truth|one|zero|flip|choice/.test(key) ? unit - !free : MOST[key] ?? K;
			return Number.isSafeInteger(n) && n <= most && n >= (free || key === "salt" ? 0 : /siz|buc|col|filt/.test(key) ? 2 : 1);
		});
}
const number = (text) => String(text).split("/").map(Number).reduce((a, b) => a / b);
export function parseTask(text) {
	const p = {}, doc = {};
	let place = doc;
	for (const line of text.split("\n").map((raw) => raw.trim())) {
		if (line === "[parameters]") place = p;
		if (!line || line[0] === "#" || line === "[parameters]") continue;
		const [, key, value] = /^([a-z]\w*)\s*=\s*(.+)$/.exec(line) ?? fail("this is not a task file");
		place[key in place ? fail("a key stands twice") : key] = JSON.parse(value.replace(/\s+#[^"\]]*$/, ""));
	}
	const { name, mechanism, values: v } = doc, parameters = Object.fromEntries(Object.entries(p).sort());
	const [, ratio, wanted] = ENCODERS[mechanism] ?? [], takes = p.size ? "values" : p.grid || p.cells ? "numbers" : "strings";
	const [epsilon, lifetime, low, high] = [doc.epsilon, doc.lifetime ?? doc.epsilon, doc.low, doc.high].map(number);
	if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name) || name in {} || typeof name + typeof mechanism !== "stringstring"
		|| Object.keys(parameters).join(" ").replace("bits ", "") !== wanted || !sound(p, mechanism)
		|| !/^\d{4}-\d\d-\d\d$/.test(doc.expires ?? "2000-01-01") || (takes === "numbers" && !(high > low && high - low < Infinity))
		|| (v && !(Array.isArray(v) && v.length === p.size && new Set(v).size === p.size))) fail("the task is not sound");
	const odd = ratio(p), permanent = p.filter ? -2 * p.hashes * log(of(p, "flip")) : null;
	if (!(odd > 1 && log(odd) <= epsilon + 1e-12 * (1 + epsilon) && epsilon + lifetime < Infinity)) fail("the task costs more than it states");
	const identity = JSON.stringify({ mechanism, name, parameters }), unitCost = permanent ?? epsilon;
	return { ...doc, parameters, takes, epsilon, lifetime, low, high, permanent, identity, unitCost };
}

// if line 1 signs the rest
export async function verifyTask(text, pem) {
	const [first, raw] = /^signature = "([^"]+)"\n/.exec(text) ?? [];
	if (!raw) return false;
	const der = from64(pem.replace(/-----[^-]+-----|\s/g, ""));
	const key = await subtle().importKey("spki", der, { name: "ECDSA", namedCurve: "P-256" }, false, ["verify"]);
	return subtle().verify({ name: "ECDSA", hash: "SHA-256" }, key, from64(raw), utf8(text.slice(first.length)));
}
function asInput(task, value) {
	const p = task.parameters;
	if (task.expires && new Date().toISOString().slice(0, 10) > task.expires) fail("the task has expired");
	if (task.takes === "strings") return typeof value === "string" ? value : fail("the value must be a text");
	if (task.takes === "values") {
		const values = (task.values ?? [...Array(p.size).keys()]).map(String);
		const index = [String(value), task.other].map((one) => values.indexOf(one)).find((i) => i >= 0);
		return index ?? fail("the value is not one of the task's values");
	}
	/^(string|number) *[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)? *$/i.test(typeof value + value) && isFinite(value) || fail("the value is not a number");
	const { low, high } = task, grid = p.grid ?? p.cells - p.window;
	return floor((min(max(value, low), high) - low) / (high - low) * grid + 0.5);
}

// RAPPOR needs `kept`: { cohort, key }, or { cohort, copy }
export const encode = async (task, value, t = new RandomTape(), kept = {}) =>
	ENCODERS[task.mechanism][0](task.parameters, asInput(task, value), t, { task, ...kept });

export class Device {
	constructor(storage, { budget = 8, name = "sfumato-local" } = {}) { Object.assign(this, { storage, budget, name }); }
	#load() { return JSON.parse(this.storage.getItem(this.name)) ?? { spent: 0, tasks: {} }; }
	#edit(task, change) {
		const state = this.#load(), done = change((state.tasks[task.name] ??= { spent: 0 }), state);
		this.storage.setItem(this.name, JSON.stringify(state));
		return done;
	}
	get spent() { return this.#load().spent; }

	// paid before it is told; RAPPOR tells all texts by one copy
	report(task, value, t) {
		const work = async () => {
			asInput(task, value);
			const { identity: which, parameters: p, unitCost } = task;
			let drawn;
			if (task.permanent && !this.#load().tasks[task.name]?.kept?.[which]) {
				const r = new RandomTape(), cohort = below(r, p.cohorts), key = r.take(32); // of this copy alone
				drawn = { cohort, copy: to64(await drawCopy(p, value, { task, cohort, key })) };
			}
			const kept = this.#edit(task, (own, state) => {
				if ((own.kept ??= {})[which]) return own.kept[which];
				for (const [book, most] of [[own, task.lifetime], [state, this.budget]])
					if (!((book.spent += unitCost) * (1 - 1e-12) <= most)) fail("this device has spent its budget");
				return drawn && (own.kept[which] = drawn);
			});
			const report = await encode(task, value, t, kept && { ...kept, copy: from64(kept.copy) });
			return this.#edit(task, (own) => (own.of = which, own.pending = { id: to64(new RandomTape().take(16)), report: to64(report) }));
		};
		return globalThis.navigator?.locks ? navigator.locks.request(this.name, work) : work();
	}

	async send(task, value, url) {
		await this.flush(task, url);
		await this.report(task, value);
		return this.flush(task, url);
	}

	async flush(task, url) {
		const { of, pending } = this.#load().tasks[task.name] ?? {};
		if (!pending || of !== task.identity) return null;
		const headers = { "Content-Type": "application/json" }, body = JSON.stringify({ reports: [pending] });
		const sent = await fetch(url, { method: "POST", credentials: "omit", headers, body });
		if (!sent.ok) fail((await sent.json().catch(() => ({}))).message ?? `the collector says ${sent.status}`);
		this.#edit(task, (own) => own.pending?.id === pending.id && delete own.pending);
		return pending;
	}
}
