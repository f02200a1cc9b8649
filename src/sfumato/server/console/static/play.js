// The playground: one idea a page. Every number and every picture comes from the server; a page is a link.
import { call } from "./api.js";
import { $, h, pause, picture } from "./dom.js";
import { frame, say } from "./frame.js";
import { IDEAS, tabs } from "./ideas.js";

const WORDS = { epsilon: "ε", rho: "ρ", delta: "δ", k: "how many, k", sensitivity: "what one person changes, Δ", grid: "grid", colours: "colours", traits: "traits", n: "people, n", seen: "what was shown", mechanism: "mechanism", prior: "prior belief", gain: "gain", side: "cells a side", column: "column of the true cell", row: "row of the true cell", people: "people attacked", guess: "how often a guess is right" };
const NAMED = { identity: "1 if the guess is right", distance: "n minus the distance", uniform: "all equally likely", binomial: "a coin for each person", rare: "one in ten for each person" };
const LINEAR = ["k", "sensitivity", "colours", "traits", "n", "seen", "side", "column", "row", "people"];
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
  tabs((await frame()).role, `/play?page=${page}`);
  $("name").textContent = name;
  $("idea").textContent = idea;
  $("formula").textContent = formula;
  $("row").textContent = `${/ /.test(rows) ? "Ideas" : "Idea"} ${rows} of docs/lectures.md.`;
  await draw();
}

begin().catch((error) => say([error.message, error.hint].filter(Boolean).join(". "), { kind: "bad" }));
