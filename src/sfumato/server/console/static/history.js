// What somebody has paid for, like a bank statement.
import { call } from "./api.js";
import { $, h } from "./dom.js";
import { frame, say, showBudget } from "./frame.js";
import { moment, priceOf, tableOf } from "./statement.js";

const ENDS = { answer: "answered", failed: "failed: the charge stands", open: "no answer yet" };
let body;

function rowOf(one) {
  const again = `/?${new URLSearchParams({ sql: one.sql, epsilon: one.epsilon })}`;
  return h("tr", {},
    h("td", { class: "nowrap" }, h("time", { datetime: one.time }, moment(one.time))),
    h("td", { class: "sql" }, h("a", { href: again, class: "mono" }, one.sql)),
    h("td", { class: "right cost nowrap" }, priceOf(one.cost)),
    h("td", { class: one.end === "failed" ? "bad" : null }, ENDS[one.end]),
    h("td", { class: "mono quiet", title: one.receipt }, `${one.receipt.slice(0, 8)}…`),
  );
}

async function more(before) {
  const page = await call(`/api/history?limit=100${before ? `&before=${before}` : ""}`);
  const rows = page.questions.map(rowOf);
  if (before) body.append(...rows);
  else $("list").replaceChildren(rows.length ? tableOf(["when (UTC)", "query", "cost", "outcome", "receipt"], rows, { name: "Queries", right: [2], kind: "statement" }) : h("p", { class: "empty" }, "Nothing yet. ", h("a", { href: "/" }, "Ask your first question"), ". You see its cost first."));
  body = $("list").querySelector("tbody");
  $("list").querySelector(".earlier")?.remove();
  if (page.next !== null) $("list").append(h("button", { class: "earlier", onclick: () => more(page.next) }, "Show earlier queries"));
}

async function begin() {
  await frame();
  call("/api/budget").then(showBudget);
  await more(null);
}

begin().catch((error) => say(error.message, { kind: "bad" }));
