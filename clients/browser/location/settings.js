// What the person chose: a default, a choice for some sites, levels, and saved places. Kept in the browser's storage.

export const LEVELS = {
  low: { level: "ln 4", radius: 200, title: "Low: ln 4 within 200 m" },
  medium: { level: "ln 4", radius: 500, title: "Medium: ln 4 within 500 m" },
  high: { level: "ln 4", radius: 2000, title: "High: ln 4 within 2 km" },
};

export const DEFAULTS = {
  choice: "ask", // ask, low, medium, high, real, deny, or place:NAME
  sites: {},
  places: {}, // name -> {lat, lon}: what is reported; noise on it was drawn once, when it was saved
  daily: 20, // fresh reports a day for each level
};

export async function load(storage = chrome.storage.local) {
  const { settings } = await storage.get("settings");
  return { ...structuredClone(DEFAULTS), ...settings };
}

export async function save(settings, storage = chrome.storage.local) {
  await storage.set({ settings });
}

/** What applies to a site. Who chose a place that is gone did not choose that anything about the true one is told. */
export function choiceFor(settings, site) {
  const choice = Object.hasOwn(settings.sites, site) ? settings.sites[site] : settings.choice;
  return isChoice(settings, choice) ? choice : "deny";
}

export function isChoice(settings, choice) {
  if (["ask", "real", "deny"].includes(choice) || Object.hasOwn(LEVELS, choice)) return true;
  return choice.startsWith("place:") && Object.hasOwn(settings.places, choice.slice(6));
}

/** All choices with their titles, for menus. */
export function choices(settings) {
  const levels = Object.entries(LEVELS).map(([name, { title }]) => [name, title]);
  const places = Object.keys(settings.places).map((name) => [`place:${name}`, `Fixed place: ${name}`]);
  return [["ask", "Ask me"], ...levels, ...places, ["deny", "Refuse"], ["real", "True position"]];
}
