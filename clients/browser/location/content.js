// Runs beside the page in a world of its own: the page cannot see its variables or change its functions. It hands the
// page's questions to the service worker and the reports back; it never sees a position that the page may not see.

(() => {
  const REQUEST = "sfumato-location-request", RESPONSE = "sfumato-location-response";
  const PERIOD = 60_000; // a watch looks at fixed times: updates sent on movement would tell when somebody moves
  const watches = new Map();

  const say = (id, body) => document.dispatchEvent(new CustomEvent(RESPONSE, { detail: JSON.stringify({ id, ...body }) }));

  /** Whether the page around lets this frame ask. */
  const allowed = () => isSecureContext && (document.featurePolicy?.allowsFeature("geolocation") ?? window === top);

  /** Whether the browser refuses: where it does not, the add-on cannot protect. */
  const refused = async () => (await navigator.permissions.query({ name: "geolocation" })).state === "denied";

  async function answer(options) {
    if (!allowed() || !(await refused())) throw Object.assign(new Error("User denied Geolocation"), { code: 1 });
    const { result, error } = await chrome.runtime.sendMessage({ ask: "position", options, above: [...(location.ancestorOrigins ?? [])] });
    if (error) throw error;
    return result;
  }

  const failure = ({ code, message }) => ({ error: { code: code ?? 2, message: String(message) } });

  async function once(id, options) {
    say(id, await answer(options).then((coords) => ({ coords }), failure));
  }

  function watch(id, options) {
    let last = null;
    const look = async () => {
      const told = await answer(options).then((coords) => ({ coords }), failure), text = JSON.stringify(told);
      if ((told.error || text !== last) && watches.has(id)) say(id, told);
      last = text;
    };
    watches.set(id, setInterval(look, PERIOD));
    look();
  }

  if (allowed()) refused().then((yes) => yes || chrome.runtime.sendMessage({ ask: "warn" })).catch(() => {});

  document.addEventListener(REQUEST, (event) => {
    let request;
    try {
      request = JSON.parse(event.detail);
    } catch {
      return;
    }
    const { id, kind, options } = request;
    if (kind === "once") once(id, options);
    if (kind === "watch" && !watches.has(id)) watch(id, options);
    if (kind === "clear") {
      clearInterval(watches.get(id));
      watches.delete(id);
    }
  });
})();
