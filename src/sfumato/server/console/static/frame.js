// The bar above every page: where one is, what is left, who one is.
import { call, me } from "./api.js";
import { $, h, word } from "./dom.js";
import { brief, currencyOf, enoughFor, SYMBOLS, toNumber } from "./numbers.js";

const PAGES = [
  ["/", "Ask", ["analyst", "owner"]],
  ["/history", "History", ["analyst", "owner"]],
  ["/ledger", "Ledger", ["owner", "auditor"]],
  ["/redteam", "Attacks", ["owner", "auditor"]],
  ["/people", "Users", ["owner"]],
  ["/policy", "Policy", ["owner"]],
  ["/release", "Release", ["owner"]],
  ["/wizard", "New policy", ["owner"]],
  ["/surveys", "Surveys", ["analyst", "owner", "auditor"]],
  ["/play", "Playground", ["analyst", "owner", "auditor"]],
  ["/map", "Location", ["analyst", "owner", "auditor"]],
];
const PARTS = { "/learn": "/play", "/bob": "/play" }; // pages of another one
const gauge = h("div", { class: "gauge", hidden: true });

export async function frame() {
  const user = await me();
  const bar = document.querySelector(".bar");
  const here = PAGES.filter(([path, , roles]) => roles.includes(user.role));
  const links = here.map(([path, name]) =>
    h("a", { href: path, "aria-current": path === (PARTS[location.pathname] ?? location.pathname) ? "page" : null }, name),
  );
  if (user.data) bar.querySelector(".brand").append(" · ", word(user.data));
  bar.append(
    h("nav", { "aria-label": "Pages" }, links),
    h("div", { class: "side" }, gauge, h("div", { class: "who" }, themeButton(), word(user.name, "name"), h("button", { class: "plain", onclick: leave }, "Log out"))),
  );
  return user;
}

async function leave() {
  await call("/logout", { body: {} }).catch(() => null);
  location.assign("/login");
}

export function themeButton() {
  const root = document.documentElement;
  const dark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const button = h("button", { class: "plain", title: "Light or dark", onclick: turn });
  const tell = () => {
    button.textContent = dark() ? "☀" : "☾";
    button.setAttribute("aria-label", dark() ? "Light colours" : "Dark colours");
  };
  function turn() {
    root.dataset.theme = dark() ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
    tell();
  }
  tell();
  return button;
}

// What is left, as people count it: questions first, then epsilon.
export function showBudget(standing, preview = null) {
  const currency = currencyOf(standing.remaining);
  const [total, left] = [standing.total, standing.remaining].map((part) => toNumber(part[currency]));
  const part = total > 0 ? Math.max(0, Math.min(1, left / total)) : 0;
  const bar = h("span", { class: "left" });
  bar.style.width = `${part * 100}%`;
  const text = `${brief(left)} of ${brief(total)} ${SYMBOLS[currency]} left`;
  const more = tellMore(standing, preview);
  gauge.replaceChildren(
    h("span", { class: "words" }, text),
    h("span", { class: "track", role: "meter", "aria-label": "Budget", "aria-valuemin": 0, "aria-valuemax": total, "aria-valuenow": left, "aria-valuetext": text }, bar),
    h("span", { class: "words quiet", title: more }, more.replace(", composed with zCDP", "")), // a longer line would move the page
  );
  gauge.classList.toggle("low", part < 0.2);
  gauge.hidden = false;
}

// Like the question that is written, if there is one; else at the usual price.
function tellMore(standing, preview) {
  const { cost, before } = preview ?? {};
  if (cost && before?.queries > 0 && (toNumber(cost.epsilon) || toNumber(cost.rho))) return enoughFor(before.queries, cost, before, true);
  return standing.queries > 0 ? enoughFor(standing.queries, { epsilon: standing.query_epsilon }, standing.remaining) : "spent: repeated queries stay free";
}

export function say(text, { kind = "", action = null } = {}) {
  const place = $("say");
  if (!text) return place.replaceChildren();
  place.replaceChildren(
    h("p", { class: `saying ${kind}` }, text, action, h("button", { class: "plain", "aria-label": "Close", onclick: () => say("") }, "×")),
  );
}
