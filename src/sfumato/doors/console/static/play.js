// The playground: one idea a page. Every number and every picture comes from the server; a page is a link.
import { call } from "./api.js";
import { $, h, pause, picture } from "./dom.js";
import { frame, say } from "./frame.js";

const IDEAS = {
  geometric: ["Geometric noise", "Two databases that differ by Bob give almost the same answers: at no answer are the two bars further apart than e^ε.", "P(noise = z) ∝ e^(−|z| ε / Δ)", "6 and 35"],
  laplace: ["Laplace noise on a grid", "The law of the lectures, drawn exactly: on multiples of a step, for floats would give away what they round.", "P(noise = z) ∝ e^(−|z| ε / Δ), z a multiple of the grid", "5 and 20"],
  gaussian: ["Gaussian noise", "Lighter tails, but no ε of its own: far out one of the two bars is as much higher as you like, only seldom.", "P(noise = z) ∝ e^(−z² / 2σ²), ρ = Δ² / 2σ²", "34"],
  averaging: ["Averaging", "If the same question got fresh noise each time, the noise would average away. So an answer is drawn once, stored, and given again for nothing.", "± of the mean of k answers shrinks like 1/√k, their price grows like k", "7"],
  composition: ["Many questions", "What k questions with the same ε cost together, by every rule. The ledger counts both ways at once and lets a question pass if one of them allows it.", "k ε;  ε √(2k ln 1/δ) + k ε (e^ε − 1);  ρ adds up", "8 and 14"],
  response: ["Randomized response", "Everybody answers for herself: the truth with some probability, else the other answer. No gateway has to be trusted.", "P(truth) = e^ε / (e^ε + 1)", "16"],
  utility: ["Utility", "An answer is worth what somebody can do with it. Who knows the prior and the mechanism guesses again after each answer; the best guess gives the gain. Noise that is cut off at the ends loses nothing by it, and for counts no private mechanism is worth more. Randomized response treats far and near alike, and is worth less.", "gain = Σ over shown z of the largest Σ over x of π(x) K(z|x) g(w, x)", "31, 35 to 37"],
  joint: ["Eye colours", "A person has one colour of eyes: counts by colour are one price together. Eyes and hair of the same people add up.", "the largest of groups that exclude each other; the sum of those that do not", "8 and 19"],
};
const WORDS = { epsilon: "ε", rho: "ρ", delta: "δ", k: "how many, k", sensitivity: "what one person changes, Δ", grid: "grid", colours: "colours", traits: "traits", n: "people, n", seen: "what was shown", mechanism: "mechanism", prior: "prior belief", gain: "gain" };
const NAMED = { identity: "1 if the guess is right", distance: "n less the distance", uniform: "all equally likely", binomial: "a coin for each person", rare: "one in ten for each person" };
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
