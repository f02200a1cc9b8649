// The playground: one idea a page. Every number and every picture comes from the server; a page is a link.
import { call } from "./api.js";
import { $, h, pause, picture } from "./dom.js";
import { frame, say } from "./frame.js";

const IDEAS = {
  geometric: ["Geometric noise", "Two databases that differ by Bob give almost the same answers: for every answer, the ratio of the two bars is at most e^ε.", "P(noise = z) ∝ e^(−|z| ε / Δ)", "6 and 35"],
  laplace: ["Laplace noise on a grid", "The textbook distribution, drawn exactly on multiples of a step, because rounding of floats would leak the true value.", "P(noise = z) ∝ e^(−|z| ε / Δ), z a multiple of the grid", "5 and 20"],
  gaussian: ["Gaussian noise", "Lighter tails, but no ε: far out, the ratio of the two bars is unbounded, with small probability.", "P(noise = z) ∝ e^(−z² / 2σ²), ρ = Δ² / 2σ²", "34"],
  averaging: ["Averaging", "If the same query got fresh noise each time, the noise would average out. So an answer is drawn once, stored, and returned again for free.", "± of the mean of k answers shrinks like 1/√k, their cost grows like k", "7"],
  composition: ["Many questions", "What k queries with the same ε cost together, by each composition rule. The ledger tracks both and admits a query if one of them allows it.", "k ε;  ε √(2k ln 1/δ) + k ε (e^ε − 1);  ρ adds up", "8 and 14"],
  response: ["Randomized response", "Each person answers with the truth with some probability, and with the other answer otherwise. No gateway has to be trusted.", "P(truth) = e^ε / (e^ε + 1)", "16"],
  utility: ["Utility", "An answer is worth what somebody can do with it. A user who knows the prior and the mechanism updates their guess after each answer; the best guess gives the gain. Truncating the noise at the ends loses nothing, and for counts no private mechanism has a higher utility. Randomized response treats near and far values alike, and has a lower utility.", "gain = Σ over shown z of the largest Σ over x of π(x) K(z|x) g(w, x)", "31, 35 to 37"],
  joint: ["Eye colours", "A person has one eye colour, so all counts by colour together cost as much as one. Counts by eye and by hair colour of the same people add up.", "the largest of groups that exclude each other; the sum of those that do not", "8 and 19"],
};
const WORDS = { epsilon: "ε", rho: "ρ", delta: "δ", k: "how many, k", sensitivity: "what one person changes, Δ", grid: "grid", colours: "colours", traits: "traits", n: "people, n", seen: "what was shown", mechanism: "mechanism", prior: "prior belief", gain: "gain" };
const NAMED = { identity: "1 if the guess is right", distance: "n minus the distance", uniform: "all equally likely", binomial: "a coin for each person", rare: "one in ten for each person" };
const LINEAR = ["k", "sensitivity", "colours", "traits", "n", "seen"];
const STEPS = 100;
let page, numbers = {}, found = null;

// From a place on the slider to a number and back: whole numbers as they are, prices by their logarithm.
const toValue = (name, at, [low, high]) => {
  if (LINEAR.includes(name)) return String(at);
  const value = Number(low) * (Number(high) / Number(low)) ** (at / STEPS);
  return String(Number(value.toPrecision(2)));
};
const toPlace = (name, value, [low, high]) => {
  if (LINEAR.includes(name)) return value;
  return Math.round((Math.log(value / low) / Math.log(high / low)) * STEPS);
};

async function draw() {
  const query = new URLSearchParams({ page, ...numbers });
  const number = ++asked;
  const drawn = await call(`/api/play?${query}`);
  if (number !== asked) return; // something newer was chosen
  found = drawn;
  history.replaceState(null, "", `/play?${new URLSearchParams({ page, ...found.numbers, ...found.chosen })}`);
  const made = !$("sliders").children.length;
  if (made) $("sliders").replaceChildren(...Object.keys(found.numbers).map(slider), ...Object.keys(found.choices).map(choice));
  for (const [name, value] of Object.entries(found.numbers)) {
    $(`value-${name}`).textContent = value;
    if (LINEAR.includes(name)) $(`slide-${name}`).max = found.limits[name][1]; // what is above it, the browser brings down
    if (Number(numbers[name]) > Number(found.limits[name][1])) numbers[name] = value;
  }
  $("picture").replaceChildren(picture(found.svg));
  $("rows").replaceChildren(h("dl", { class: "sums" }, found.rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
  $("code").textContent = found.code;
}

let asked = 0;
const soon = pause(() => draw().catch((error) => say([error.message, error.hint].filter(Boolean).join(". "), { kind: "bad" })), 80);

function slider(name) {
  const limits = found.limits[name].map(Number);
  const [low, high] = LINEAR.includes(name) ? limits : [0, STEPS];
  const input = h("input", { type: "range", min: low, max: high, value: toPlace(name, Number(found.numbers[name]), limits), id: `slide-${name}` });
  input.addEventListener("input", () => {
    numbers[name] = toValue(name, Number(input.value), found.limits[name]);
    say("");
    soon();
  });
  return h("div", { class: "slide" }, h("label", { for: `slide-${name}` }, WORDS[name] ?? name), h("output", { id: `value-${name}`, for: `slide-${name}`, class: "mono" }), input);
}

function choice(name) {
  const pick = h("select", { id: `pick-${name}` }, found.choices[name].map((word) => h("option", { value: word, selected: word === found.chosen[name] }, NAMED[word] ?? word.replaceAll("-", " "))));
  pick.addEventListener("change", () => {
    numbers[name] = pick.value;
    say("");
    soon();
  });
  return h("div", { class: "slide" }, h("label", { for: `pick-${name}` }, WORDS[name]), pick);
}

async function begin() {
  const given = Object.fromEntries(new URLSearchParams(location.search));
  page = given.page in IDEAS ? given.page : "geometric";
  delete given.page;
  numbers = given;
  const [name, idea, formula, rows] = IDEAS[page];
  await frame();
  $("pages").replaceChildren(...Object.entries(IDEAS).map(([key, [title]]) => h("a", { href: `/play?page=${key}`, "aria-current": key === page ? "page" : null }, title)));
  $("name").textContent = name;
  $("idea").textContent = idea;
  $("formula").textContent = formula;
  $("row").textContent = `Idea ${rows} of docs/lectures.md.`;
  await draw();
}

begin().catch((error) => say([error.message, error.hint].filter(Boolean).join(". "), { kind: "bad" }));
