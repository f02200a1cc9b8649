import { LEVELS, choices, load, save } from "./settings.js";
import { FRESH, isSpent, today } from "./trace.js";

const at = (selector) => document.querySelector(selector);

function row(table, texts, label, act) {
  const line = at(`${table} tbody`).insertRow();
  for (const text of texts) line.insertCell().textContent = text;
  const button = document.createElement("button");
  button.textContent = label;
  button.addEventListener("click", act);
  line.insertCell().append(button);
}

async function change(edit) {
  const settings = await load();
  edit(settings);
  await save(settings);
  await show();
}

async function show() {
  const settings = await load(), titles = Object.fromEntries(choices(settings));
  at("#choice").replaceChildren(...choices(settings).map(([value, title]) => new Option(title, value)));
  at("#choice").value = settings.choice;
  at("#budget").value = settings.daily;
  for (const table of ["#sites", "#places", "#spent"]) at(`${table} tbody`).replaceChildren();
  for (const [site, choice] of Object.entries(settings.sites)) {
    row("#sites", [site, titles[choice] ?? choice], "Remove", () => change((s) => delete s.sites[site]));
  }
  for (const [name, { lat, lon }] of Object.entries(settings.places)) {
    row("#places", [name, `${lat.toFixed(5)}, ${lon.toFixed(5)}`], "Remove", () => change((s) => delete s.places[name]));
  }
  for (const [name, { title }] of Object.entries(LEVELS)) {
    const key = `trace:${name}`, held = today((await chrome.storage.local.get(key))[key], Date.now());
    const said = isSpent(held, settings.daily) ? ": sites get the last report, wherever you are, until the day is over" : "";
    row("#spent", [title, `${held.spent / FRESH} of ${settings.daily} spent today${said}`], "Start a new budget", async () => {
      if (confirm("Those who saw the old reports still have them. Start a new budget?")) {
        await chrome.storage.local.remove(key);
        await show();
      }
    });
  }
}

at("#add select").append(...Object.entries(LEVELS).map(([name, { title }]) => new Option(title, name)));
at("#choice").addEventListener("change", (event) => change((s) => { s.choice = event.target.value; }));
at("#budget").addEventListener("change", (event) => change((s) => {
  s.daily = Math.min(10000, Math.max(1, Math.round(Number(event.target.value)) || s.daily));
}));
at("#add").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = new FormData(event.target);
  const message = { ask: "place", name: form.get("name").trim(), level: form.get("level") };
  const { error } = await chrome.runtime.sendMessage({ ...message, lat: Number(form.get("lat")), lon: Number(form.get("lon")) });
  at("#said").textContent = error?.message ?? "Saved.";
  if (!error) event.target.reset();
  await show();
});
await show();
