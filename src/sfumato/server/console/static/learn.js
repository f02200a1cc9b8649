// The exercises: a question, a field, and whether the answer is right, by the server's own code.
import { call } from "./api.js";
import { $, h } from "./dom.js";
import { frame, say } from "./frame.js";
import { tabs } from "./ideas.js";

const KEPT = "exercises"; // which were answered, in this browser alone
const words = (error) => [error.message, error.hint].filter(Boolean).join(". ");
const tell = (error) => say(words(error), { kind: "bad" });
let names = [];

const solved = () => new Set(JSON.parse(localStorage.getItem(KEPT) ?? "[]"));

function count() {
  const found = names.filter((name) => solved().has(name)).length;
  $("done").textContent = found === 0 ? "" : found === names.length ? `All ${names.length} answered.` : `${found} of ${names.length} answered.`;
}

function exercise(one) {
  const id = `answer-${one.name}`;
  const input = h("input", { id, autocomplete: "off", size: 14, maxlength: 100 });
  const said = h("p", { role: "status", class: "said" });
  const hear = (found) => {
    if (found.right) localStorage.setItem(KEPT, JSON.stringify([...solved().add(one.name)]));
    said.className = `said ${found.right === false ? "bad" : ""}`;
    said.replaceChildren(...(found.right === false
      ? ["Not right. Try again."]
      : [h("strong", {}, found.right ? "Right. " : ""), `The answer is ${found.answer}. On the command line: `, h("code", {}, found.shown_by)]));
    count();
  };
  const ask = (body) => call("/api/learn/answer", { body: { name: one.name, ...body } }).then(hear, (error) => {
    said.className = "said bad";
    said.textContent = words(error);
  });
  const form = h("form", { class: "row" },
    h("label", { for: id }, "Your answer", input),
    h("button", { class: "main" }, "Check answer"),
    h("button", { type: "button", class: "plain", onclick: () => ask({}) }, "Show answer"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim()) ask({ answer: input.value.trim() });
  });
  return h("li", { class: "panel", id: one.name }, h("p", {}, solved().has(one.name) ? h("span", { class: "quiet" }, "✓ ") : null, one.question), form, said);
}

async function begin() {
  tabs((await frame()).role, "/learn");
  const { exercises } = await call("/api/learn");
  names = exercises.map((one) => one.name);
  $("exercises").replaceChildren(...exercises.map(exercise));
  count();
}

begin().catch(tell);
