// People and tokens, for owners.
import { call } from "./api.js";
import { $, h, word } from "./dom.js";
import { frame, say } from "./frame.js";
import { openDialog } from "./hand.js";
import { moment, tableOf } from "./statement.js";

let user, known = [];
const tell = (error) => say([error.message, error.hint].filter(Boolean).join(". "), { kind: "bad" });
const doing = (work) => () => work().then(refresh).catch(tell);

function once(title, secret, note, what) {
  const done = h("span", { class: "quiet", role: "status" });
  const copy = () => navigator.clipboard.writeText(secret).then(() => (done.textContent = " copied"), () => (done.textContent = " select the text and copy it"));
  openDialog(title, h("pre", { class: "code", tabindex: 0 }, secret), h("p", { class: "quiet" }, note), h("p", {}, h("button", { class: "main", onclick: copy }, `Copy ${what}`), done));
}

function sure(title, text, word_, work) {
  openDialog(title, h("p", {}, text), h("p", {}, h("button", { class: "danger", onclick: () => { $("dialog").close(); doing(work)(); } }, word_)));
}

function personOf(one) {
  const token = async () => {
    const made = await call("/api/people/token", { body: { name: one.name, days: 90 } });
    once(`A token for ${one.name}`, made.token, `It expires on ${made.ends.slice(0, 10)}. Only a hash of it is stored, and it is not shown again.`, "token");
  };
  const remove = () => call("/api/people/remove", { body: { name: one.name } });
  return h("tr", {},
    h("td", {}, word(one.name)), h("td", {}, one.role),
    h("td", {}, one.role === "analyst" ? (one.share ? `ε ${one.share}` : h("span", { class: "quiet" }, "shared: what is left of the total")) : h("span", { class: "quiet" }, one.role === "owner" ? "the total" : "cannot query")),
    h("td", {}, h("button", { class: "plain", onclick: doing(token) }, "New token"),
      one.name === user.name ? null : h("button", { class: "plain", onclick: () => sure(`Remove ${one.name}?`, "Tokens and sessions are revoked. Spending stays in the ledger.", "Remove", remove) }, "Remove")),
  );
}

function tokenOf(one) {
  const end = () => call("/api/people/revoke", { body: { name: one.user, id: one.id } });
  return h("tr", {}, h("td", { class: "mono" }, one.id), h("td", {}, word(one.user)), h("td", {}, one.kind), h("td", { class: "nowrap" }, moment(one.ends)),
    h("td", {}, h("button", { class: "plain", onclick: doing(end) }, "Revoke")));
}

async function add(name, role) {
  const made = await call("/api/people/add", { body: { name, role } });
  $("name").value = "";
  await refresh();
  once(`${made.name} can log in as ${made.role}`, made.password, "This password is not stored and is not shown again.", "password");
}

async function refresh() {
  const { users, tokens } = await call("/api/people");
  known = users;
  $("users").replaceChildren(tableOf(["name", "role", "budget", ""], users.map(personOf), { name: "People", kind: "statement" }));
  $("tokens").replaceChildren(tokens.length ? tableOf(["id", "user", "kind", "expires (UTC)", ""], tokens.map(tokenOf), { name: "Tokens", kind: "statement" }) : h("p", { class: "empty" }, "None."));
}

async function begin() {
  user = await frame();
  $("add").addEventListener("submit", async (event) => {
    event.preventDefault();
    const [name, role] = [$("name").value, $("role").value];
    const old = known.find((one) => one.name === name);
    if (old) sure(`Replace ${name}?`, `${name} is ${old.role} now and becomes ${role}, with a new password. Tokens and sessions are revoked.`, "Replace", () => add(name, role));
    else await add(name, role).catch(tell);
  });
  await refresh();
}

begin().catch(tell);
