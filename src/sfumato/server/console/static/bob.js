// Bob in and out of any query: the law of what would be released, from the policy alone; free.
import { call } from "./api.js";
import { $, h, pause, picture, word } from "./dom.js";
import { frame, say } from "./frame.js";
import { tabs } from "./ideas.js";
import { about, lawOf, odds, tableOf } from "./law.js";

const words = (error) => [error.message, error.hint].filter(Boolean).join(". ");
const tell = (error) => say(words(error), { kind: "bad" });
let asked = 0;

function question() {
  const [sql, epsilon] = [$("sql").value, $("epsilon").value.trim()];
  return epsilon ? { sql, epsilon } : { sql };
}

function refuse(error) {
  $("refusal").hidden = !error;
  $("refusal").replaceChildren(...(error ? [h("p", {}, h("strong", {}, error.message), error.hint ? ` ${error.hint}` : "")] : []));
  if (error) for (const id of ["laws", "odds", "column"]) $(id).replaceChildren();
  for (const id of ["which", "drawn", "ask"]) $(id).hidden = Boolean(error);
}

async function draw() {
  const number = ++asked;
  const body = question();
  history.replaceState(null, "", `/bob?${new URLSearchParams(body)}`);
  $("ask").href = `/?sql=${encodeURIComponent(body.sql)}`;
  if (!body.sql.trim()) return refuse({ message: "Write a query." });
  const preview = await call("/api/explain", { body });
  if (number !== asked) return;
  if (preview.refused && !preview.columns.length) return refuse(preview.refused);
  const noisy = preview.columns.map((one, i) => [one, i]).filter(([one]) => one.law !== "exact");
  const names = noisy.length ? noisy : preview.columns.map((one, i) => [one, i]);
  const before = $("column").selectedOptions[0]?.textContent;
  $("column").replaceChildren(...names.map(([one, i]) => h("option", { value: i, selected: one.name === before }, word(one.name))));
  const law = await lawOf(body, Number($("column").value));
  if (number !== asked) return;
  refuse(null);
  const part = (one) => [about(law, one), h("div", { class: "picture plain" }, picture(one.svg)), h("details", {}, h("summary", {}, "As a table"), tableOf(one))];
  $("laws").replaceChildren(...(law.pictures.length ? law.pictures.flatMap(part) : [h("p", { class: "empty" }, "There is no picture of this column: ", law.why, ".")]));
  $("odds").textContent = law.pictures.length ? odds(law) : "";
}

async function begin() {
  const user = await frame();
  tabs(user.role, "/bob");
  const given = new URLSearchParams(location.search);
  const schema = await call("/api/schema");
  const table = schema.tables.find((one) => !one.public);
  $("sql").value = given.get("sql") ?? (table ? `SELECT COUNT(*) AS n FROM ${/^[a-z_][a-z0-9_]*$/.test(table.name) ? table.name : `"${table.name.replaceAll('"', '""')}"`}` : "");
  $("epsilon").value = given.get("epsilon") ?? "0.5";
  const again = () => draw().catch((error) => (error.status >= 400 && error.status < 500 ? refuse(error) : tell(error)));
  for (const id of ["sql", "epsilon"]) $(id).addEventListener("input", pause(again, 300));
  $("column").addEventListener("change", again);
  await again();
}

begin().catch(tell);
