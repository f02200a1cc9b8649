// A site that nobody has decided about asks where the person is: a window asks the person. Who closes it without a choice
// has refused until the browser is started again, for all frames of the page in front. There is one window at a time, so
// that no page can open many.

import { choiceFor, load } from "./settings.js";

let open = null;

/** The choice for a site, after the person made it; "deny" where none was made. `top` is the site of the page in front. */
export async function consent(site, top) {
  if (open && open.site !== site) return "deny";
  open ??= { site, done: ask(site, top).finally(() => { open = null; }) };
  await open.done;
  const choice = choiceFor(await load(), site);
  return choice === "ask" ? "deny" : choice;
}

async function ask(site, top) {
  const keys = [`asked:${site}`, `asked:${top}`], asked = chrome.storage.session;
  if (Object.keys(await asked.get(keys)).length) return;
  await asked.set(Object.fromEntries(keys.map((key) => [key, true]))); // before the window: the worker may be stopped
  const made = await chrome.windows.create({ url: `popup.html?${new URLSearchParams({ site })}`, type: "popup", width: 440, height: 320 });
  await new Promise((resolve) => {
    chrome.windows.onRemoved.addListener(function gone(id) {
      if (id !== made.id) return;
      chrome.windows.onRemoved.removeListener(gone);
      resolve();
    });
  });
  if (choiceFor(await load(), site) !== "ask") await asked.remove(keys);
}
