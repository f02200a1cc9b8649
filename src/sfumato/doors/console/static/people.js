// People and tokens, for owners.
import { call } from "./api.js";
import { $, h, word } from "./dom.js";
import { frame, say } from "./frame.js";
import { openDialog } from "./hand.js";
import { moment, tableOf } from "./statement.js";

let user;
const tell = (error) => say([error.message, error.hint].filter(Boolean).join(". "), { kind: "bad" });
const doing = (work) => () => work().then(refresh).catch(tell);

function once(title, secret, note) {
  openDialog(title, h("pre", { class: "code", tabindex: 0 }, secret), h("p", { class: "quiet" }, note));
}

function sure(title, text, word_, work) {
  openDialog(title, h("p", {}, text), h("p", {}, h("button", { class: "danger", onclick: () => { $("dialog").close(); doing(work)(); } }, word_)));
}

function personOf(one) {
  const token = async () => {
    const made = await call("/api/people/token", { body: { name: one.name, days: 90 } });
    once(`A token for ${one.name}`, made.token, `It ends on ${made.ends.slice(0, 10)}, is kept as a hash alone and is not shown again.`);
  };
  const remove = () => call("/api/people/remove", { body: { name: one.name } });
  return h("tr", {},
    h("td", {}, word(one.name)), h("td", {}, one.role),
    h("td", {}, one.role === "analyst" ? (one.share ? `ε ${one.share}` : h("span", { class: "quiet" }, "what is left of the total")) : h("span", { class: "quiet" }, one.role === "owner" ? "the total" : "does not ask")),
    h("td", {}, h("button", { class: "plain", onclick: doing(token) }, "Make a token"),
      one.name === user.name ? null : h("button", { class: "plain", onclick: () => sure(`Remove ${one.name}?`, "Tokens and sessions end at once. What was spent stays in the ledger.", "Remove", remove) }, "Remove")),
  );
}

function tokenOf(one) {
  const end = () => call("/api/people/revoke", { body: { name: one.user, id: one.id } });
  return h("tr", {}, h("td", { class: "mono" }, one.id), h("td", {}, word(one.user)), h("td", {}, one.kind), h("td", { class: "nowrap" }, moment(one.ends)),
    h("td", {}, h("button", { class: "plain", onclick: doing(end) }, "End it")));
}

async function refresh() {
  const { users, tokens } = await call("/api/people");
  $("users").replaceChildren(tableOf(["name", "role", "may spend", ""], users.map(personOf), { name: "People", kind: "statement" }));
  $("tokens").replaceChildren(tokens.length ? tableOf(["id", "of", "kind", "ends (UTC)", ""], tokens.map(tokenOf), { name: "Tokens", kind: "statement" }) : h("p", { class: "empty" }, "None."));
}

async function begin() {
  user = await frame();
  $("add").addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const made = await call("/api/people/add", { body: { name: $("name").value, role: $("role").value } });
      $("name").value = "";
      await refresh();
      once(`${made.name} may come in as ${made.role}`, made.password, "This password is not stored and is not shown again.");
    } catch (error) {
      tell(error);
    }
  });
  await refresh();
}

begin().catch(tell);
