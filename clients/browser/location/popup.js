import { LEVELS, choiceFor, choices, load, save } from "./settings.js";
import { FRESH } from "./trace.js";

const [tab] = await chrome.tabs.query({ active: true, currentWindow: true });
const site = tab?.url?.startsWith("http") ? new URL(tab.url).hostname : "";
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
  const key = `trace:${menu.value}`, held = (await chrome.storage.local.get(key))[key];
  line.textContent = `${(held?.spent ?? 0) / FRESH} of ${settings.budget} reports spent at this level.`;
}

menu.addEventListener("change", async () => {
  if (site) settings.sites[site] = menu.value;
  else settings.choice = menu.value;
  await save(settings);
  await tell();
});
await tell();
