// The policy as text: every mistake at its line, and the difference before anything is written.
import { call } from "./api.js";
import { $, h, pause, place } from "./dom.js";
import { frame, say } from "./frame.js";

const tell = (error) => say([error.message, error.detail, error.hint].filter(Boolean).join(". "), { kind: "bad" });
let known, judged;

export function problemsOf(problems, field) {
  return problems.map((one) => h("div", { class: "refusal" },
    h("p", {}, h("strong", {}, one.line ? `Line ${one.line}: ` : "", one.message), one.hint ? ` ${one.hint}` : ""),
    one.position ? h("button", { class: "plain", onclick: () => { field.focus(); const at = place(field.value, one.position); field.setSelectionRange(at, at + 3); } }, "Show it") : null));
}

function showDiff(lines) {
  const kind = (line) => (line.startsWith("@@") ? "at" : line.startsWith("+") ? "more" : line.startsWith("-") ? "less" : "");
  $("diff").replaceChildren(...lines.map((line) => h("span", { class: kind(line) || null }, line.startsWith("@@") ? "⋯" : line, "\n")));
  $("diff").hidden = !lines.length;
}

async function judge() {
  const text = $("text").value;
  judged = await call("/api/policy/check", { body: { text } });
  if (text !== $("text").value) return;
  showDiff(judged.diff);
  const same = !judged.diff.length;
  $("problems").replaceChildren(...(judged.problems.length ? problemsOf(judged.problems, $("text")) : [h("p", { class: "quiet" }, same ? "No changes." : "The policy is valid. `sfumato check` compares it with the rows.")]));
  showWeaker(judged.weaker);
  const ready = () => ($("apply").disabled = same || judged.problems.length > 0 || (judged.weaker.length > 0 && !$("sure")?.checked));
  $("sure")?.addEventListener("change", ready);
  ready();
}

// What a change takes away from the people in the data, with odds; it has to be confirmed.
function showWeaker(weaker) {
  $("weaker").replaceChildren(...(weaker.length ? [
    h("div", { class: "weaker", role: "alert" }, h("strong", {}, "This weakens the promise:"), h("ul", {}, weaker.map((one) => h("li", {}, one.words)))),
    h("label", { class: "pick" }, h("input", { type: "checkbox", id: "sure" }), "I want to weaken the promise in this way."),
  ] : []));
}

async function apply() {
  const done = await call("/api/policy/apply", { body: { text: $("text").value, mark: known.mark, confirm: Boolean($("sure")?.checked) } });
  known = { ...known, text: $("text").value, mark: done.mark };
  await judge();
  say(`${done.name} is saved, and the previous version is kept beside it. It takes effect after a reload.`, { action: h("button", { onclick: () => reload().catch(tell) }, "Reload now") });
}

async function reload() {
  say("Reloading policy and rows; running queries finish on the old ones …");
  const done = await call("/api/policy/reload", { body: {} });
  say(["The new policy is served, and the change is recorded in the ledger.", ...done.warnings].join(" "));
}

async function begin() {
  await frame();
  known = await call("/api/policy");
  $("file").textContent = known.name;
  $("text").value = known.text;
  $("text").addEventListener("input", pause(() => judge().catch(tell), 300));
  $("apply").addEventListener("click", () => apply().catch(tell));
  $("back").addEventListener("click", () => { $("text").value = known.text; judge().catch(tell); });
  await judge();
}

if (document.body.dataset.page === "policy") begin().catch(tell);
