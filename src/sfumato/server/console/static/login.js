import { call } from "./api.js";
import { $ } from "./dom.js";
import { themeButton } from "./frame.js";
import { h } from "./dom.js";

// Only to a page of this door: the whole address, for a path alone like //elsewhere would lead away.
function next() {
  const made = new URL(new URLSearchParams(location.search).get("next") ?? "/", location.origin);
  return made.origin === location.origin ? made.href : "/";
}

if (new URLSearchParams(location.search).has("next")) $("ended").hidden = false;
document.querySelector(".bar").append(h("div", { class: "who" }, themeButton()));
// somebody who is in already was only sent here from elsewhere
if (new URLSearchParams(location.search).has("next")) fetch("/api/me", { credentials: "same-origin" }).then((reply) => reply.ok && location.replace(next()), () => null);

$("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  $("wrong").hidden = true;
  try {
    await call("/login", { body: { name: $("name").value, password: $("password").value } });
    location.replace(next());
  } catch (error) {
    $("wrong").textContent = error.status === 429 ? "Too many tries. Wait a little, then try again." : error.status ? "Wrong name or password." : error.message;
    $("wrong").hidden = false;
    $("password").select();
  }
});
$("name").focus();
