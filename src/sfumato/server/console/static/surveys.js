// Surveys: how many reports there are, and the running estimate with its intervals.
import { call } from "./api.js";
import { $, h, word } from "./dom.js";
import { frame, say } from "./frame.js";
import { brief } from "./numbers.js";
import { tableOf } from "./statement.js";

const WHOM = { fixed: "the people who reported", sampled: "the population that they were sampled from" };
const EVERY = 5000;
let population = "fixed";

const rowOf = (one) => h("tr", {}, h("td", {}, word(one.value)), ...[one.estimate, one.low, one.high].map((number) => h("td", { class: "right" }, brief(number, 3))));

function panel(found) {
  const waiting = found.waiting ? `, ${found.waiting} waiting until a batch of ${found.minimum_batch} is full` : "";
  return h("section", { class: "panel", "aria-label": found.task },
    h("h2", {}, word(found.question ?? found.task)),
    h("p", {}, h("strong", {}, `${found.reports} reports`), `${waiting}; ${found.mechanism}, epsilon ${brief(found.epsilon)} each. `, h("a", { href: `/survey/${encodeURIComponent(found.task)}` }, "Take part")),
    found.estimates.length
      ? tableOf(["value", "estimate", "low", "high"], found.estimates.map(rowOf), { name: `Estimates of ${found.task}`, right: [1, 2, 3] })
      : h("p", { class: "empty" }, found.candidates ? `No estimate yet: it needs a full batch, and the candidate texts, one per line, in ${found.candidates} in the state directory.` : "No estimate yet: it needs a full batch."),
    h("p", { class: "quiet" }, `95 % intervals for ${WHOM[found.population]}.`));
}

async function show() {
  const { tasks } = await call("/api/collect");
  if (!tasks.length) return $("list").replaceChildren(h("p", { class: "empty" }, "No surveys yet. Plan a task and let this server collect reports: ", h("code", {}, "sfumato local collect --task FILE")));
  const found = await Promise.all(tasks.map((one) => call(`/api/collect/${encodeURIComponent(one.task)}/estimate?population=${population}`)));
  const choose = h("label", {}, "Intervals for ", h("select", { id: "population", onchange: (event) => { population = event.target.value; show(); } },
    Object.entries(WHOM).map(([name, text]) => h("option", { value: name, selected: name === population }, text))));
  $("list").replaceChildren(h("p", {}, choose), ...found.map(panel));
}

async function begin() {
  await frame();
  await show();
  setInterval(() => document.hidden || document.activeElement?.id === "population" || show().catch(() => null), EVERY);
}

begin().catch((error) => say(error.message, { kind: "bad" }));
