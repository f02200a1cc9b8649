// Reads the true position for the service worker, with the add-on's own permission. Nobody else is answered: a message of
// a content script comes from a tab.

const FIELDS = ["latitude", "longitude", "accuracy", "altitude", "altitudeAccuracy", "heading", "speed"];

chrome.runtime.onMessage.addListener((message, sender, respond) => {
  if (message?.ask !== "where" || sender.tab || sender.id !== chrome.runtime.id) return false;
  const { enableHighAccuracy, timeout, maximumAge } = message.options;
  const options = { enableHighAccuracy: Boolean(enableHighAccuracy), maximumAge: Number(maximumAge) || 0 };
  if (Number.isFinite(timeout) && timeout > 0) options.timeout = timeout;
  navigator.geolocation.getCurrentPosition(
    ({ coords }) => respond({ read: Object.fromEntries(FIELDS.map((name) => [name, coords[name]])) }),
    ({ code, message: text }) => respond({ error: { code, message: text } }),
    options,
  );
  return true;
});
