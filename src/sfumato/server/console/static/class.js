// The link of a class: a click gives the next free account. A page that is only loaded, by a mail program too, takes none.
import { call } from "./api.js";
import { $, h } from "./dom.js";
import { themeButton } from "./frame.js";
import { brief } from "./numbers.js";

document.querySelector(".bar").append(h("div", { class: "who" }, themeButton()));

async function welcome(user, password) {
  const budget = await call("/api/budget");
  $("before").hidden = true;
  $("after").hidden = false;
  $("name").textContent = user.name;
  $("epsilon").textContent = brief(budget.total.epsilon);
  const pg = document.body.dataset.pg.replace("0.0.0.0", location.hostname);
  $("password-line").hidden = !password || !pg;
  $("psql").hidden = !password || !pg;
  if (password) {
    $("password").textContent = password;
    $("psql").textContent = `psql postgresql://${user.name}:${password}@${pg}/${user.data}`;
  }
}

$("join").addEventListener("click", async () => {
  $("join").disabled = true;
  try {
    const seat = await call("/api/class", { body: { key: location.pathname.split("/")[2] ?? "" } });
    document.querySelector("h1").textContent = "Welcome";
    await welcome(seat, seat.password);
  } catch (error) {
    $("wrong").textContent = [error.message, error.hint].filter(Boolean).map((text) => text.charAt(0).toUpperCase() + text.slice(1)).join(". ").replace("..", ".");
    $("wrong").hidden = false;
    $("join").disabled = false;
  }
});

// who has joined already keeps the account
fetch("/api/me", { credentials: "same-origin" }).then(async (reply) => reply.ok && welcome(await reply.json(), null), () => null);
