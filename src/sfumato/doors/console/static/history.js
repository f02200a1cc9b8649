// What somebody has paid for, like a bank statement.
import { call } from "./api.js";
import { $, h } from "./dom.js";
import { frame, say, showBudget } from "./frame.js";
import { brief } from "./numbers.js";

const ENDS = { answer: "answered", failed: "failed: the debit stands", open: "no answer yet" };
const body = h("tbody");

export const moment = (text) => `${text.slice(0, 10)} ${text.slice(11, 19)}`;

function rowOf(one) {
  const price = one.cost.epsilon === null ? `ρ ${brief(one.cost.rho)}` : `ε ${brief(one.cost.epsilon)}`;
  const again = `/?${new URLSearchParams({ sql: one.sql, epsilon: one.epsilon })}`;
  return h("tr", {},
    h("td", { class: "nowrap" }, h("time", { datetime: one.time }, moment(one.time))),
    h("td", { class: "sql" }, h("a", { href: again, class: "mono" }, one.sql)),
    h("td", { class: "right cost nowrap" }, price),
    h("td", { class: one.end === "failed" ? "bad" : null }, ENDS[one.end]),
    h("td", { class: "mono quiet", title: one.receipt }, `${one.receipt.slice(0, 8)}…`),
  );
}

async function more(before) {
  const page = await call(`/api/history?limit=100${before ? `&before=${before}` : ""}`);
  body.append(...page.questions.map(rowOf));
  return page.next;
}

async function begin() {
  await frame();
  call("/api/budget").then(showBudget);
  let next = await more(null);
  if (!body.rows.length) {
    return $("list").replaceChildren(h("p", { class: "empty" }, "Nothing yet. ", h("a", { href: "/" }, "Ask the first question"), "; its price is shown before."));
  }
  const button = h("button", { hidden: next === null, onclick: async () => { next = await more(next); button.hidden = next === null; } }, "Earlier ones");
  const heads = ["when (UTC)", "question", "cost", "", "receipt"].map((name) => h("th", { scope: "col", class: name === "cost" ? "right" : null }, name || h("span", { class: "unseen" }, "what became of it")));
  $("list").replaceChildren(h("div", { class: "box wide", tabindex: 0, role: "region", "aria-label": "Questions" }, h("table", { class: "statement" }, h("thead", {}, h("tr", {}, heads)), body)), button);
}

begin().catch((error) => say(error.message, { kind: "bad" }));
