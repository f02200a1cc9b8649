// A survey for anybody: the task comes from the collector, the noise is added here, and the report goes back.
import { $, h, word } from "./dom.js";
import { Device, parseTask } from "./sfumato-local.js";

const name = location.pathname.split("/").at(-1);
const url = `/api/collect/${encodeURIComponent(name)}`;
const device = new Device(localStorage);

function fields(task) {
  if (task.takes === "numbers") return [h("label", {}, `From ${task.low} to ${task.high} `, h("input", { name: "answer", type: "number", step: "any", required: true }))];
  if (task.takes === "strings") return [h("label", {}, "One word ", h("input", { name: "answer", required: true, maxlength: 200 }))];
  const values = task.values ?? Array.from({ length: task.parameters.size }, (_, i) => String(i));
  return values.map((value) => h("label", { class: "choice" }, h("input", { type: "radio", name: "answer", value, required: true }), " ", word(value)));
}

function showBudget() {
  $("budget").textContent = `On all surveys of this site together, this browser spends at most epsilon ${device.budget}; so far it has spent ${device.spent.toFixed(2)}.`;
}

function wrong(error) {
  $("wrong").textContent = error.message;
  $("wrong").hidden = false;
}

function thank(task, sent) {
  const odds = Math.exp(task.epsilon);
  $("form").hidden = true;
  showBudget();
  $("sent").replaceChildren(
    h("p", {}, "Thank you. Only this was sent:"),
    h("pre", { class: "code", tabindex: 0 }, sent.report),
    h("p", { class: "quiet" }, `With any other answer the same report would have been at most ${odds.toFixed(2)} times less likely (epsilon ${task.epsilon.toFixed(2)}).`));
}

async function begin() {
  const reply = await fetch(`${url}/task`);
  if (!reply.ok) throw new Error((await reply.json()).message);
  const task = parseTask(await reply.text());
  $("question").textContent = task.question ?? task.name;
  $("choices").replaceChildren(...fields(task));
  $("form").hidden = false;
  showBudget();
  $("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    $("wrong").hidden = true;
    try {
      thank(task, await device.send(task, new FormData(event.target).get("answer"), url));
    } catch (error) {
      wrong(error);
    }
  });
  await device.flush(task, url).catch(() => null);
}

begin().catch((error) => $("sent").replaceChildren(h("p", { class: "wrong" }, error.message)));
