// The policy as a form and as text: every mistake at its line, and the difference before anything is written.
import { call } from "./api.js";
import { $, coded, h, pause, place } from "./dom.js";
import { frame, say } from "./frame.js";
import { drawForm } from "./policyform.js";

const words = (error) => [error.message, error.detail, error.hint].filter(Boolean).join(". ");
const tell = (error) => say(words(error), { kind: "bad" });
let known, judged;

export function problemsOf(problems, field) {
  return problems.map((one) => h("div", { class: "refusal" },
    h("p", {}, h("strong", {}, one.line ? `Line ${one.line}: ` : "", one.message), one.hint ? ` ${one.hint}` : ""),
    one.position ? h("button", { class: "plain", onclick: () => { field.focus(); const at = place(field.value, one.position); field.setSelectionRange(at, at + 3); } }, "Go to line") : null));
}

function showDiff(lines) {
  const kind = (line) => (line.startsWith("@@") ? "at" : line.startsWith("+") ? "more" : line.startsWith("-") ? "less" : "");
  $("diff").replaceChildren(...lines.map((line) => h("span", { class: kind(line) || null }, line.startsWith("@@") ? "⋯" : line, "\n")));
  $("diff").hidden = !lines.length;
}

async function judge() {
  const text = $("text").value;
  const found = await call("/api/policy/check", { body: { text } });
  if (text !== $("text").value) return; // something newer was written
  judged = { ...found, text };
  showDiff(judged.diff);
  drawForm(judged.form, edit);
  const same = !judged.diff.length;
  $("problems").replaceChildren(...(judged.problems.length ? problemsOf(judged.problems, $("text")) : [h("p", { class: "quiet" }, ...coded(same ? "No changes." : "The policy is valid. `sfumato check` compares it with the rows."))]));
  if (same) judged.weaker = judged.also = []; // what is saved already was confirmed
  showWeaker(judged.weaker, judged.also);
  $("sure")?.addEventListener("change", ready);
  ready();
}

function ready() {
  const asked = judged.weaker.length + judged.also.length > 0;
  $("apply").disabled = judged.text !== $("text").value || !judged.diff.length || judged.problems.length > 0 || (asked && !$("sure")?.checked);
}

// One change at a time, each of the text that the one before it left; what is typed meanwhile in the text is not lost.
let last = Promise.resolve();

function edit(path, value, complain = null) {
  const work = async () => {
    const text = $("text").value;
    try {
      const done = await call("/api/policy/edit", { body: { text, path, value } });
      if (text !== $("text").value) throw new Error("The text has changed in the meantime. Try again");
      $("text").value = done.text;
      ready();
      await judge();
      return true;
    } catch (error) {
      if (complain) complain(words(error));
      else tell(error);
      return false;
    }
  };
  last = last.then(work, work);
  return last;
}

// What a change takes away from the people in the data, with odds; it has to be confirmed.
function showWeaker(weaker, also) {
  const list = (kind, title, changes) => (changes.length ? h("div", { class: kind, role: "alert" }, h("strong", {}, title), h("ul", {}, changes.map((one) => h("li", {}, one.words)))) : null);
  $("weaker").replaceChildren(...[
    list("weaker", "This weakens the guarantee:", weaker),
    list("weaker also", "This allows more within the same guarantee:", also),
    weaker.length + also.length ? h("label", { class: "pick" }, h("input", { type: "checkbox", id: "sure" }), weaker.length ? "I want to weaken the guarantee in this way." : "I want this change.") : null,
  ].filter(Boolean));
}

async function apply() {
  const confirm = $("sure")?.checked ? [...judged.weaker, ...judged.also].map((one) => one.words) : [];
  const text = judged.text;
  const done = await call("/api/policy/apply", { body: { text, mark: known.mark, confirm } });
  known = { ...known, text, mark: done.mark };
  await judge();
  say(`${done.name} is saved, and the previous version is kept next to it. Reload the gateway to apply it.`, { action: h("button", { onclick: () => reload().catch(tell) }, "Reload now") });
}

async function reload() {
  say("Reloading policy and data; running queries finish on the old version …");
  const done = await call("/api/policy/reload", { body: {} });
  await judge();
  say(["The new policy is served, and the change is recorded in the ledger.", ...done.warnings].join(" "));
}

async function begin() {
  await frame();
  known = await call("/api/policy");
  $("file").textContent = known.name;
  $("text").value = known.text;
  const soon = pause(() => judge().catch(tell), 300);
  $("text").addEventListener("input", () => { ready(); soon(); });
  $("apply").addEventListener("click", () => apply().catch(tell));
  $("back").addEventListener("click", () => { $("text").value = known.text; judge().catch(tell); });
  await judge();
}

if (document.body.dataset.page === "policy") begin().catch(tell);
