// Runs in the page, before the page's own scripts: navigator.geolocation asks the add-on. True positions never get here.

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
  for (const [name, value] of Object.entries(methods)) {
    Object.defineProperty(Geolocation.prototype, name, { value, writable: false, configurable: false, enumerable: true });
  }
})();
