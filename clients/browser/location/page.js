// Runs in the page, before the page's own scripts: navigator.geolocation and <geolocation> ask the add-on. This is for
// the page's convenience. Where it has not run, the browser's own functions refuse, because the add-on made it so.

(() => {
  if (!("geolocation" in navigator)) return;
  const REQUEST = "sfumato-location-request", RESPONSE = "sfumato-location-response";
  const waiting = new Map();
  let next = 1;

  const ask = (body) => document.dispatchEvent(new CustomEvent(REQUEST, { detail: JSON.stringify(body) }));

  function position(coords) {
    const timestamp = Date.now();
    const values = (object, fields) => Object.defineProperties(object, Object.fromEntries(
      Object.entries(fields).map(([key, value]) => [key, { value, enumerable: true }]),
    ));
    const place = values(Object.create(GeolocationCoordinates.prototype), { ...coords, toJSON: () => ({ ...coords }) });
    const json = () => ({ coords: { ...coords }, timestamp });
    return values(Object.create(GeolocationPosition.prototype), { coords: place, timestamp, toJSON: json });
  }

  const failure = ({ code, message }) => Object.create(GeolocationPositionError.prototype, {
    code: { value: code, enumerable: true },
    message: { value: message, enumerable: true },
  });

  document.addEventListener(RESPONSE, (event) => {
    const { id, coords, error } = JSON.parse(event.detail);
    const asked = waiting.get(id);
    if (!asked) return;
    if (asked.kind === "once") waiting.delete(id);
    if (error) asked.failed?.(failure(error));
    else asked.succeeded(position(coords));
  });

  function start(kind, succeeded, failed, options) {
    if (typeof succeeded !== "function") throw new TypeError("the first argument must be a function");
    const id = next++;
    waiting.set(id, { kind, succeeded, failed: typeof failed === "function" ? failed : null });
    const { enableHighAccuracy, timeout, maximumAge } = options ?? {};
    ask({ id, kind, options: { enableHighAccuracy, timeout, maximumAge } });
    return id;
  }

  const methods = {
    getCurrentPosition(succeeded, failed, options) {
      start("once", succeeded, failed, options);
    },
    watchPosition(succeeded, failed, options) {
      return start("watch", succeeded, failed, options);
    },
    clearWatch(id) {
      if (waiting.get(id)?.kind === "watch") {
        waiting.delete(id);
        ask({ id, kind: "clear" });
      }
    },
  };
  const fixed = (kind, name, words) => Object.defineProperty(kind.prototype, name, { configurable: false, enumerable: true, ...words });
  for (const [name, value] of Object.entries(methods)) fixed(Geolocation, name, { value, writable: false });

  // the browser refuses for all sites, which is not what a page needs to know: the add-on decides when it is asked
  const query = Permissions.prototype.query;
  fixed(Permissions, "query", { writable: false, async value(wanted, ...rest) {
    const status = await query.call(this, wanted, ...rest);
    return wanted?.name === "geolocation" ? Object.defineProperty(status, "state", { value: "prompt" }) : status;
  } });

  // the element with which people say where they are: pressing it asks the add-on
  if (!("HTMLGeolocationElement" in globalThis)) return;
  const Finder = HTMLGeolocationElement, found = new WeakMap(), asking = new WeakSet();
  for (const name of ["position", "error"]) fixed(Finder, name, { get() { return found.get(this)?.[name] ?? null; }, set: undefined });
  window.addEventListener("click", (event) => {
    const element = event.target, watched = element.watch;
    if (!event.isTrusted || !(element instanceof Finder) || asking.has(element)) return;
    event.preventDefault();
    asking.add(element);
    const tell = (answer) => {
      if (!watched) asking.delete(element);
      found.set(element, answer);
      element.dispatchEvent(new Event("location", { bubbles: true, cancelable: true }));
    };
    start(watched ? "watch" : "once", (position) => tell({ position }), (error) => tell({ error }));
  }, true);
})();
