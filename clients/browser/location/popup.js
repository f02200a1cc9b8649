import { LEVELS, choiceFor, choices, load, save } from "./settings.js";
import { FRESH, isSpent, left, today } from "./trace.js";

const CALM = 1000; // milliseconds without a key or a click
// the button of the add-on opens it for the site in front; consent.js opens it for a site that asks
const asked = new URLSearchParams(location.search).get("site");
const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });
const site = asked ?? (tab?.url?.startsWith("http") ? new URL(tab.url).hostname : "");
const settings = await load();
const menu = document.querySelector("#choice");
document.querySelector("#site").textContent = site || "every other site";
menu.append(...choices(settings).map(([value, title]) => new Option(title, value)));
menu.value = site ? choiceFor(settings, site) : settings.choice;

async function tell() {
  const line = document.querySelector("#budget");
  if (!Object.hasOwn(LEVELS, menu.value)) {
    line.textContent = "";
    return;
  }
  const key = `trace:${menu.value}`, now = Date.now(), held = today((await chrome.storage.local.get(key))[key], now);
  const until = new Date(now + left(held)).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  line.textContent = isSpent(held, settings.daily)
    ? `The budget of this level is spent. Sites get its last report, wherever you are, until ${until}. Settings can start a new budget.`
    : `${held.spent / FRESH} of ${settings.daily} reports of today are spent at this level.`;
}

async function keep() {
  const now = await load(); // another page may have saved something since this one was opened
  if (site) now.sites[site] = menu.value;
  else now.choice = menu.value;
  await save(now);
}

/** A page picks the moment of this window: keys and clicks that were meant for the page decide nothing, however many. */
function calm() {
  const controls = document.querySelector("#controls");
  let timer;
  const wait = () => {
    controls.disabled = true;
    clearTimeout(timer);
    timer = setTimeout(() => { controls.disabled = false; }, CALM);
  };
  window.addEventListener("focus", wait);
  for (const name of ["keydown", "pointerdown"]) window.addEventListener(name, () => controls.disabled && wait(), true);
  wait();
}

if (asked === null) menu.addEventListener("change", () => keep().then(tell));
else {
  calm();
  document.querySelector("#asks").hidden = document.querySelector("#decide").hidden = false;
  menu.addEventListener("change", tell);
  document.querySelector("#decide").addEventListener("click", () => keep().then(() => window.close()));
}
await tell();
