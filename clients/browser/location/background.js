// The service worker: the only place where true positions and noise meet. Content scripts send a position, reports
// come back. One request at a time, so that no budget is spent twice.

import { LocationMechanism } from "./noise/world.js";
import { Trace } from "./trace.js";
import { LEVELS, choiceFor, load, save } from "./settings.js";

const store = {
  async read(key) {
    return (await chrome.storage.local.get(key))[key];
  },
  async write(key, value) {
    await chrome.storage.local.set({ [key]: value });
  },
};
const mechanisms = new Map();
let queue = Promise.resolve();

function mechanismOf(name) {
  if (!mechanisms.has(name)) mechanisms.set(name, new LocationMechanism(LEVELS[name].level, LEVELS[name].radius));
  return mechanisms.get(name);
}

/** What a site's script may know before a position is read: how it is treated, never more. */
async function plan(site) {
  if (site === null) return { kind: "deny" }; // nobody knows whose frame it is, so no choice can be meant for it
  const settings = await load();
  const choice = choiceFor(settings, site);
  if (choice === "real" || choice === "deny") return { kind: choice };
  if (choice.startsWith("place:")) {
    const { lat, lon } = settings.places[choice.slice(6)];
    return { kind: "fixed", coords: coords(lat, lon, 100) };
  }
  return { kind: "noise", level: choice };
}

async function report(site, lat, lon) {
  const { kind, level } = await plan(site);
  if (kind !== "noise") throw new RangeError("the choice for this site has changed");
  const mechanism = mechanismOf(level), { budget } = await load();
  const made = await new Trace(mechanism, `trace:${level}`, budget, store).report(lat, lon);
  return { coords: coords(made.lat, made.lon, mechanism.accuracy), kind: made.kind };
}

/** Every field of GeolocationCoordinates: what is not a report is null. */
function coords(latitude, longitude, accuracy) {
  return { latitude, longitude, accuracy, altitude: null, altitudeAccuracy: null, heading: null, speed: null };
}

/** Save a place under a name; noise on it is drawn once, here. */
async function savePlace(name, lat, lon, level) {
  const settings = await load();
  if (!name || Object.hasOwn(settings.places, name)) throw new RangeError("this name is taken or empty");
  if (!(Math.abs(lat) <= 90 && Math.abs(lon) <= 180)) throw new RangeError("not a position on earth");
  if (level) {
    const mechanism = mechanismOf(level), noise = mechanism.noise.sample();
    [lat, lon] = mechanism.fromGrid(mechanism.toGrid(lat, lon).map((c, i) => c + noise[i]));
  }
  settings.places[name] = { lat, lon };
  await save(settings);
  return { lat, lon };
}

/** Whose frame it is. One without an origin of its own (a sandbox) belongs to the nearest page around it that has one. */
function siteOf(sender, above) {
  for (const address of [sender.origin, sender.url, ...(above ?? [])]) {
    const site = URL.canParse(address) ? new URL(address).hostname : "";
    if (site) return site;
  }
  return sender.url?.startsWith("file:") ? "" : null; // a file of one's own is one of all other sites
}

function answer(message, sender) {
  const site = siteOf(sender, message?.above);
  switch (message?.ask) {
    case "plan": return plan(site);
    case "report": return report(site, message.lat, message.lon);
    case "place":
      if (sender.tab && !sender.url?.startsWith(chrome.runtime.getURL(""))) throw new RangeError("not for web sites");
      return savePlace(message.name, message.lat, message.lon, message.level);
    default: throw new RangeError("unknown request");
  }
}

chrome.runtime.onMessage.addListener((message, sender, respond) => {
  queue = queue
    .then(() => answer(message, sender))
    .then((result) => respond({ result }), (error) => respond({ error: String(error.message ?? error) }));
  return true;
});
