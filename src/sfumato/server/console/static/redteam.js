// The newest attack report: what was tried, what it found, what the promise allows. Made by `sfumato attack`.
import { call } from "./api.js";
import { $, h, picture, word } from "./dom.js";
import { frame, say } from "./frame.js";
import { brief } from "./numbers.js";
import { moment, tableOf } from "./statement.js";

const KINDS = { broken: "bad", allowed: "bad", held: null };
const LEDGERS = { copy: "on a copy of the ledger: nothing was spent", own: "on the ledger itself: the queries were charged" };
const percent = (rate) => `${brief(rate * 100, 4)} %`;
const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

function cell(report) {
  if (!report) return h("td");
  return h("td", { class: report.outcome in KINDS ? KINDS[report.outcome] : "quiet" }, report.short);
}

function headOf(report) {
  const facts = [
    ["made (UTC)", moment(report.made)],
    ["against", word(report.target)],
    ["the secret", [word(report.secret.column, "mono"), " is ", word(report.secret.value)]],
    ["the attacker knew", word(report.known.join(", "))],
    ["people whose secret is at stake", brief(report.people, 9)],
    ["baseline: accuracy of a guess without answers", percent(report.base_rate)],
  ];
  const some = (kind) => report.defences.some((one) => one[kind]);
  const heading = some("broken") ? "A guarantee was broken, or there was none" : some("allowed") ? "An attack learns what the guarantee allows" : "No attack did better than a guess";
  const verdict = report.defences.flatMap((one) => [h("p", { class: `chain ${one.broken || one.allowed ? "broken" : "good"}` }, word(one.name), `: ${one.sentence}.`),
    one.promise ? h("p", {}, sentence(one.promise)) : null]);
  return h("section", { class: "panel", "aria-label": "Verdict" }, h("h2", {}, heading), verdict,
    h("dl", { class: "sums facts" }, facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    report.ledger ? h("p", { class: "quiet" }, sentence(LEDGERS[report.ledger] ?? report.ledger)) : null,
    h("p", { class: "quiet" }, "Broken: significantly more accurate than a guess, and than any guarantee permits. Allowed: more accurate than a guess, within what the guarantee permits. Held: not measurably better than a guess. A failed attack does not prove that no attack would succeed."));
}

function summary(report) {
  const by = new Map(report.reports.map((one) => [JSON.stringify([one.attack, one.defence]), one]));
  const rows = report.attacks.map((attack) => h("tr", {},
    h("td", {}, h("a", { href: `#attack-${attack.name}` }, attack.name)),
    report.defences.map((defence) => cell(by.get(JSON.stringify([attack.name, defence.name]))))));
  return tableOf(["attack", ...report.defences.map((one) => one.name)], rows, { name: "Attacks" });
}

function lineOf(one) {
  const budget = one.total === null ? "no budget" : `ε ${brief(one.spent)} of ${brief(one.total)}`;
  return h("li", {},
    h("p", {}, h("strong", {}, word(one.defence), ": "), one.words, ".", one.reason && !one.words.includes(one.reason) ? ` ${sentence(one.reason)}` : ""),
    h("p", { class: "quiet" }, `${brief(one.queries, 9)} queries, ${brief(one.refused, 9)} refused, ${budget}; ${brief(one.seconds.asking)} s querying, ${brief(one.seconds.thinking)} s computing.`));
}

const asked = (one) => h("pre", { class: "code", tabindex: 0 }, one.sql, one.refused ? `\n-- refused: ${one.refused}` : "");

function transcript(one) {
  if (!one.transcript.length) return null;
  const all = one.transcript.length === one.queries;
  return h("details", {}, h("summary", {}, "Queries sent to ", word(one.defence), all ? "" : `: ${one.transcript.length} of ${brief(one.queries, 9)} queries, the first and the last`), one.transcript.map(asked));
}

// Where an attack only learned what the guarantee permits, the advice to add noise and a budget is idle.
const cure = (attack, reports) => (reports.some((one) => one.outcome === "allowed") && !reports.some((one) => one.outcome === "broken") ? "a smaller epsilon" : attack.advice);

function section(attack, reports, pictures) {
  const won = reports.find((one) => ["broken", "allowed"].includes(one.outcome) && one.worst.length);
  return h("section", { class: "panel", id: `attack-${attack.name}`, "aria-label": attack.name },
    h("h2", {}, attack.name),
    h("p", {}, sentence(attack.what)),
    h("div", { class: "attack" },
      h("div", {},
        h("ul", { class: "notes" }, reports.map(lineOf)),
        won ? [h("p", {}, "Queries that succeeded:"), ...won.worst.map((sql) => asked({ sql }))] : null,
        h("p", { class: "quiet" }, `Cheapest defence: ${cure(attack, reports)}.`)),
      pictures.length ? h("div", {}, pictures.map((svg) => h("div", { class: "picture plain" }, picture(svg)))) : null),
    reports.map(transcript),
  );
}

async function begin() {
  await frame();
  const { report, pictures, command } = await call("/api/redteam");
  if (!report) {
    return $("report").replaceChildren(h("section", { class: "panel", "aria-label": "No report" }, h("h2", {}, "No report yet"),
      h("p", {}, "On the server, in the policy's folder, name the sensitive column:"),
      h("pre", { class: "code", tabindex: 0 }, command),
      h("p", { class: "quiet" }, "It takes a few minutes and spends nothing. Its report is kept beside the policy and appears here.")));
  }
  const of = (attack) => report.reports.filter((one) => one.attack === attack.name);
  $("report").replaceChildren(headOf(report), summary(report), ...report.attacks.map((attack) => section(attack, of(attack), pictures[attack.name] ?? [])));
}

begin().catch((error) => say([error.message, error.hint].filter(Boolean).join(". "), { kind: "bad" }));
