// Runs beside the page in a world of its own: the page cannot see its variables or change its functions. It reads the
// true position and hands it to the service worker; only reports go to the page.

(() => {
  const REQUEST = "sfumato-location-request", RESPONSE = "sfumato-location-response";
  const PERIOD = 60_000; // a watch looks at fixed times: updates sent on movement would tell when somebody moves
  const watches = new Map();

  const say = (id, body) => document.dispatchEvent(new CustomEvent(RESPONSE, { detail: JSON.stringify({ id, ...body }) }));

  async function ask(message) {
    const { result, error } = await chrome.runtime.sendMessage({ ...message, above: [...(location.ancestorOrigins ?? [])] });
    if (error) throw Object.assign(new Error(error), { code: 2 });
    return result;
  }

  const read = (options) => new Promise((resolve, reject) => navigator.geolocation.getCurrentPosition(resolve, reject, options));

  async function answer(options) {
    const plan = await ask({ ask: "plan" });
    if (plan.kind === "deny") throw Object.assign(new Error("User denied Geolocation"), { code: 1 });
    if (plan.kind === "fixed") return plan.coords;
    const { coords } = await read(options);
    if (plan.kind === "real") {
      const { latitude, longitude, accuracy, altitude, altitudeAccuracy, heading, speed } = coords;
      return { latitude, longitude, accuracy, altitude, altitudeAccuracy, heading, speed };
    }
    return (await ask({ ask: "report", lat: coords.latitude, lon: coords.longitude })).coords;
  }

  async function once(id, options) {
    try {
      say(id, { coords: await answer(options) });
    } catch (error) {
      say(id, { error: { code: error.code ?? 2, message: String(error.message ?? error) } });
    }
  }

  function watch(id, options) {
    let last = null;
    const look = async () => {
      try {
        const coords = await answer(options), text = JSON.stringify(coords);
        if (text !== last && watches.has(id)) say(id, { coords });
        last = text;
      } catch (error) {
        if (watches.has(id)) say(id, { error: { code: error.code ?? 2, message: String(error.message ?? error) } });
      }
    };
    watches.set(id, setInterval(look, PERIOD));
    look();
  }

  document.addEventListener(REQUEST, (event) => {
    let request;
    try {
      request = JSON.parse(event.detail);
    } catch {
      return;
    }
    const { id, kind } = request;
    const { enableHighAccuracy, timeout, maximumAge } = request.options ?? {};
    const options = { enableHighAccuracy: Boolean(enableHighAccuracy), maximumAge: Number(maximumAge) || 0 };
    if (Number.isFinite(timeout) && timeout > 0) options.timeout = timeout;
    if (kind === "once") once(id, options);
    if (kind === "watch" && !watches.has(id)) watch(id, options);
    if (kind === "clear") {
      clearInterval(watches.get(id));
      watches.delete(id);
    }
  });
})();
