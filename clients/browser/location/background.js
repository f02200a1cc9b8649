// The service worker: the only place where true positions and noise meet. The browser refuses positions to all web
// sites, whichever frame, window or element asks; the add-on reads them in a page of its own and answers with reports.

import { LocationMechanism } from "./noise/world.js";
import { Trace, isSpent, today } from "./trace.js";
import { LEVELS, choiceFor, load, save } from "./settings.js";
import { consent } from "./consent.js";

const WEB = ["http://*/*", "https://*/*"];
const READER = "reader.html";
const store = {
  async read(key) {
    return (await chrome.storage.local.get(key))[key];
  },
  async write(key, value) {
    await chrome.storage.local.set({ [key]: value });
  },
};
const LOOK = { timeout: 30_000 }; // for reports: a page's own words do not reach the reader
const mechanisms = new Map();
let opening = null;
let queue = Promise.resolve();

/** A page can always find a window in which no script of an add-on has run: only the browser can refuse there. */
const closed = Promise.all(WEB.map((primaryPattern) => chrome.contentSettings.location.set({ primaryPattern, setting: "block" })));
chrome.storage.local.setAccessLevel({ accessLevel: "TRUSTED_CONTEXTS" }); // content scripts need nothing of it

/** One after another, so that no budget is spent twice. */
function inTurn(run) {
  const done = queue.then(run);
  queue = done.catch(() => {});
  return done;
}

function mechanismOf(name) {
  if (!mechanisms.has(name)) mechanisms.set(name, new LocationMechanism(LEVELS[name].level, LEVELS[name].radius));
  return mechanisms.get(name);
}

const failure = (code, message) => Object.assign(new Error(message), { code });

/** What a site gets: the coordinates of a report, of a fixed place, or the true ones where a person chose that. */
async function position(site, top, options) {
  await closed;
  let choice = site === null ? "deny" : choiceFor(await load(), site); // nobody knows whose frame it is
  if (choice === "ask") choice = await consent(site, top ?? site);
  if (choice === "deny") throw failure(1, "User denied Geolocation");
  const { places, daily } = await load();
  if (choice.startsWith("place:")) {
    const { lat, lon } = places[choice.slice(6)];
    return coords(lat, lon, 100);
  }
  if (choice === "real") return whereabouts(options);
  const mechanism = mechanismOf(choice);
  const look = () => whereabouts(LOOK).then(({ latitude, longitude }) => [latitude, longitude]);
  const made = await inTurn(() => new Trace(mechanism, `trace:${choice}`, daily, store).report(look));
  return coords(made.lat, made.lon, mechanism.accuracy);
}

/** The true position, from the add-on's own page. */
async function whereabouts(options) {
  opening ??= openReader().finally(() => { opening = null; });
  await opening;
  const { read, error } = await chrome.runtime.sendMessage({ ask: "where", options });
  if (error) throw failure(error.code, error.message);
  return read;
}

async function openReader() {
  if (await chrome.offscreen.hasDocument()) return;
  await chrome.offscreen.createDocument({ url: READER, reasons: ["GEOLOCATION"], justification: "Sites get a report about the position." });
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

/** The host of a web address, or of a blob that a page made; null where there is none. */
function host(address) {
  const origin = URL.canParse(address) ? new URL(address).origin : "null";
  return (origin !== "null" && new URL(origin).hostname) || null;
}

/**
 * Whose frame it is. A sandbox has the address that it was loaded from; what a page wrote into one (srcdoc) belongs to the
 * page just around it. Where that one has no origin either, nobody knows: a farther page did not write it.
 */
function siteOf(sender, above) {
  return host(sender.origin) ?? host(sender.url) ?? (sender.url === "about:srcdoc" ? host(above?.[0]) : null);
}

/** The person sees that the browser does not refuse positions on a page: it may tell them without the add-on. */
async function warn({ tab }) {
  if (!tab) return;
  await chrome.action.setBadgeText({ tabId: tab.id, text: "!" });
  await chrome.action.setTitle({ tabId: tab.id, title: "The browser itself may tell this page where you are. Set its location setting to refuse." });
}

/** The person sees that the budget of a level is spent: sites get an old report until the day is over. */
async function showSpent() {
  const { daily } = await load(), now = Date.now();
  const kept = await chrome.storage.local.get(Object.keys(LEVELS).map((name) => `trace:${name}`));
  const old = Object.values(kept).some((held) => isSpent(today(held, now), daily));
  await chrome.action.setBadgeText({ text: old ? "old" : "" });
  const usual = chrome.runtime.getManifest().action.default_title;
  await chrome.action.setTitle({ title: old ? "Today's budget of a level is spent: sites get its last report, wherever you are." : usual });
}

chrome.storage.local.onChanged.addListener(showSpent);
showSpent();

function answer(message, sender) {
  const ours = sender.url?.startsWith(chrome.runtime.getURL(""));
  if (message?.ask === "position" && !ours) {
    return position(siteOf(sender, message.above), host(message.above?.at(-1)), message.options ?? {});
  }
  if (message?.ask === "warn" && !ours) return warn(sender);
  if (message?.ask === "place" && ours) return inTurn(() => savePlace(message.name, message.lat, message.lon, message.level));
  throw new RangeError("unknown request");
}

chrome.runtime.onMessage.addListener((message, sender, respond) => {
  Promise.resolve()
    .then(() => answer(message, sender))
    .then((result) => respond({ result }), (error) => respond({ error: { code: error.code ?? 2, message: String(error.message ?? error) } }));
  return true;
});
