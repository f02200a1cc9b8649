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
  $("problems").replaceChildren(...(judged.problems.length ? problemsOf(judged.problems, $("text")) : [h("p", { class: "quiet" }, same ? "Nothing: this is what is written." : "No mistake was found in it. The rows are looked at by `sfumato check`.")]));
  $("apply").disabled = same || judged.problems.length > 0;
}

async function apply() {
  const done = await call("/api/policy/apply", { body: { text: $("text").value, mark: known.mark } });
  known = { ...known, text: $("text").value, mark: done.mark };
  await judge();
  say(`${done.name} is written, and the one before it kept beside it. It takes effect when it is reloaded.`, { action: h("button", { onclick: () => reload().catch(tell) }, "Reload now") });
}

async function reload() {
  say("Reading policy and rows anew; questions that run finish as they began …");
  const done = await call("/api/policy/reload", { body: {} });
  say(["It is served now, and the change is an entry of the ledger.", ...done.warnings].join(" "));
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
