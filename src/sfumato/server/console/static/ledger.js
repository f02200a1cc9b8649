// The ledger for owners and auditors: a statement, what was spent by whom, and whether the chain holds.
import { call, Refused } from "./api.js";
import { $, h, word } from "./dom.js";
import { frame, say } from "./frame.js";
import { openDialog } from "./hand.js";
import { brief, toNumber } from "./numbers.js";
import { burn, moment, priceOf, standings, tableOf } from "./statement.js";

const WORDS = { opened: "ledger opened", policy: "policy", debit: "query", answer: "answered", failed: "failed", frozen: "frozen", thawed: "unfrozen", reopened: "reopened" };
const PAGE = 100;
let user, spending, answers = false;

function rowOf(entry) {
  const { body } = entry;
  const about = entry.kind === "debit" ? h("span", { class: "mono" }, body.text) : entry.kind === "policy" ? `epsilon ${brief(body.now.epsilon)}, digest ${body.now.digest.slice(0, 8)}…` : body.who ? word(`by ${body.who}`) : body.data ?? "";
  return h("tr", {},
    h("td", { class: "right" }, String(entry.seq)),
    h("td", { class: "nowrap" }, h("time", { datetime: entry.time }, moment(entry.time))),
    h("td", { class: entry.kind === "failed" || entry.kind === "frozen" ? "bad nowrap" : "nowrap" }, WORDS[entry.kind] ?? entry.kind),
    h("td", {}, entry.analyst ? word(entry.analyst) : ""),
    h("td", { class: "right cost nowrap" }, entry.kind === "debit" ? priceOf(body.price) : ""),
    h("td", { class: "sql" }, about),
    h("td", { class: "mono quiet", title: entry.hash }, body.receipt ? `${body.receipt.slice(0, 8)}…` : ""),
  );
}

// Each answer is an entry too, which says no more than the charge before it.
function answersToggle() {
  const box = h("input", { type: "checkbox", id: "answers", checked: answers, onchange: () => { answers = box.checked; list(spending.entries).catch(tell); } });
  return h("p", { class: "quiet" }, h("label", { class: "check" }, box, " Show entries for stored answers (one after each answered query)"));
}

async function list(last) {
  const after = Math.max(0, last - PAGE);
  const page = await call(`/api/ledger?after=${after}&limit=${PAGE}`);
  const rows = page.entries.filter((entry) => entry.seq <= last && (answers || entry.kind !== "answer")).reverse().map(rowOf);
  if (last === spending.entries) $("list").replaceChildren(tableOf(["entry", "when (UTC)", "what", "who", "cost", "query or event", "receipt"], rows, { name: "Entries", right: [0, 4], kind: "statement" }));
  else $("list").querySelector("tbody").append(...rows);
  if (last === spending.entries) $("list").prepend(answersToggle());
  $("list").querySelector(".earlier")?.remove();
  if (after > 0) $("list").append(h("button", { class: "earlier", onclick: () => list(after) }, "Show earlier entries"));
}

function tellChain(text, kind = "") {
  $("chain").className = `chain ${kind}`;
  $("chain").textContent = text;
}

async function verify() {
  tellChain("Recomputing every hash, cost and sum …");
  try {
    const report = await call("/api/ledger/verify");
    tellChain(`The chain is intact: ${brief(report.entries, 9)} entries, ${brief(report.debits, 9)} charges, ${brief(report.answers, 9)} answers recomputed. Head ${report.hash.slice(0, 12)}…`, "good");
  } catch (error) {
    tellChain(`The chain is broken: ${error.message}. ${error.detail ?? ""}`, "broken");
  }
}

async function exportAll() {
  const parts = [];
  for (let after = 0; ; ) {
    const reply = await call(`/api/ledger?after=${after}&limit=1000`, { headers: { Accept: "application/x-ndjson" }, raw: true });
    const text = await reply.text();
    if (!text) break;
    parts.push(text);
    const lines = text.trimEnd().split("\n");
    after = JSON.parse(lines.at(-1)).seq;
    if (lines.length < 1000) break;
  }
  const place = URL.createObjectURL(new Blob(parts, { type: "application/x-ndjson" }));
  h("a", { href: place, download: "ledger.jsonl" }).click();
  setTimeout(() => URL.revokeObjectURL(place), 10000);
}

function freezer() {
  if (user.role !== "owner") return spending.frozen ? h("strong", { class: "bad" }, "frozen") : "";
  const turn = async (frozen) => {
    await call("/api/freeze", { body: { frozen } });
    $("dialog").close();
    await refresh();
  };
  if (spending.frozen) return h("span", { class: "group" }, h("strong", { class: "bad" }, "Frozen: no query is answered"), h("button", { onclick: () => turn(false).catch(tell) }, "Unfreeze"));
  const ask = () => openDialog("Freeze all answers?", h("p", {}, "No interface answers queries until an owner unfreezes the ledger. That includes stored answers. The ledger records who froze it."), h("p", {}, h("button", { class: "danger", onclick: () => turn(true).catch(tell) }, "Freeze"), h("button", { class: "plain", onclick: () => $("dialog").close() }, "Cancel")));
  return h("button", { class: "danger", onclick: ask }, "Freeze");
}

function tell(error) {
  if (error instanceof Refused && error.sqlstate === "58030") tellChain(`The chain is broken: ${error.message}. ${error.detail ?? ""}`, "broken");
  else say([error.message, error.hint].filter(Boolean).join(". "), { kind: "bad" });
}

async function refresh() {
  try {
    spending = await call("/api/spending");
  } catch (error) {
    if (error instanceof Refused) tellChain(`The chain is broken: ${error.message}. ${error.detail ?? ""}`, "broken");
    throw error;
  }
  tellChain(`${brief(spending.entries, 9)} entries in one chain, head ${spending.head.slice(0, 12)}… (not verified in this session).`);
  $("burn").replaceChildren(burn(spending));
  $("switch").replaceChildren(freezer());
  const budget = await call("/api/budget");
  $("standings").replaceChildren(standings(budget), ...(await inOdds(budget)));
  await list(spending.entries);
}

// What the budget means for one person; what was spent, where it is counted in epsilon.
async function inOdds({ total, spent }) {
  const lowest = total.rho === null ? toNumber(spent.epsilon) : 0; // a total that was lowered below what was spent bounds nothing
  const parts = [["spent so far", spent], ["the whole budget", total]].filter(([, { epsilon }]) => toNumber(epsilon) && toNumber(epsilon) >= lowest);
  const lines = parts.map(async ([name, { epsilon, delta }]) => {
    const { words } = await call(`/api/odds?epsilon=${encodeURIComponent(epsilon)}`);
    return h("p", { class: "quiet" }, `ε ${brief(epsilon)}, ${name}: ${words}${toNumber(delta) ? " (up to delta)" : ""}.`);
  });
  return Promise.all(lines);
}

async function begin() {
  user = await frame();
  $("verify").addEventListener("click", verify);
  $("export").addEventListener("click", () => exportAll().catch(tell));
  await refresh();
}

begin().catch(tell);
