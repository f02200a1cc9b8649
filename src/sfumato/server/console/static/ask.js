// The page of an analyst: ask, see the price first, pay, read the answer with its uncertainty, know what is left.
import { call, key, Lost, Refused } from "./api.js";
import { $, coded, h, pause } from "./dom.js";
import { makeEditor } from "./editor.js";
import { frame, say, showBudget } from "./frame.js";
import { copyAs, exportAs } from "./hand.js";
import { drawLaw, showLaw } from "./law.js";
import { brief, toNumber } from "./numbers.js";
import { showPreview } from "./preview.js";
import { keepQueries, keepTabs } from "./saved.js";
import { showResult } from "./result.js";
import { firstQuestion, showTables, tell } from "./schema.js";

const wanted = new URLSearchParams(location.search);
const mac = /Mac|iP(hone|ad)/.test(navigator.platform);
const state = { rows: null, preview: null, lost: false, standing: null, asking: null, number: 0, price: { epsilon: wanted.get("epsilon") }, base: 0.1, past: [], at: -1 };
let editor, user, schema, tabs;

const question = () => {
  const { epsilon, within } = state.price;
  const fewer = state.rows === null ? {} : { rows_per_unit: state.rows };
  return { sql: editor.text().trim(), ...(within ? { within } : epsilon ? { epsilon } : {}), ...fewer };
};

async function preview() {
  const number = ++state.number;
  const asked = question();
  if (!asked.sql) return show({ refused: null, cost: null, columns: [], notes: [] }, asked);
  try {
    const found = await call("/api/explain", { body: asked });
    if (number !== state.number) return; // something newer was typed
    if (state.lost) say("");
    state.lost = false;
    keepInAddress(asked);
    show(found, asked);
  } catch (error) {
    if (number !== state.number) return;
    if (error instanceof Lost && !state.lost && $("say").children.length) return; // what was said before matters more
    if (error instanceof Lost) {
      state.lost = true;
      return say(`${error.message} Nothing was sent or charged.`, { kind: "bad", action: h("button", { onclick: preview }, "Try again") });
    }
    show({ refused: error, cost: null, columns: [], notes: [] }, asked);
  }
}

// So that a reload, or a session that has ended, loses nothing that was written.
function keepInAddress({ sql, epsilon }) {
  const words = new URLSearchParams({ sql, ...(epsilon ? { epsilon } : {}) });
  if (sql.length < 4000) history.replaceState(null, "", `/?${words}`);
}

function show(found, asked) {
  state.preview = { found, asked };
  const onRows = (rows) => { state.rows = rows; preview(); };
  showPreview($("preview"), found, { rows: state.rows, onRows });
  if (!found.refused || asked.sql !== state.typed) showRefusal(found.refused);
  else later(found.refused, asked.sql); // while somebody types, an unfinished query is no mistake
  if (state.standing) showBudget(state.standing, found);
  const cost = found.cost?.epsilon ?? null;
  if (cost !== null && toNumber(cost) && !document.activeElement?.matches?.("#epsilon, #slider")) setPrice(toNumber(cost));
  const button = $("ask");
  const free = found.cost && !toNumber(found.cost.epsilon) && !toNumber(found.cost.rho);
  const price = !found.cost ? "" : free ? " · free" : cost === null ? ` · ρ ${brief(found.cost.rho)}` : ` · ε ${brief(cost)}`;
  button.replaceChildren("Ask", h("span", { class: "cost-in" }, price));
  button.disabled = Boolean(found.refused) || !found.cost || Boolean(state.asking);
}

function setPrice(epsilon) {
  $("epsilon").value = brief(epsilon, 4).replace("\u202f", "");
  $("slider").value = Math.round(20 * Math.log10(epsilon / state.base));
}

// Why, at its place in the text, and what to write instead.
function showRefusal(refused) {
  const place = $("refusal");
  place.hidden = !refused;
  editor.mark(refused?.position ?? null, refused?.message ?? "");
  if (!refused) return;
  const instead = /^Try this instead: ([\s\S]*)\.$/.exec(refused.hint ?? "")?.[1];
  const money = refused.sqlstate === "53400";
  place.className = `refusal ${money ? "money" : ""}`;
  place.replaceChildren(
    h("p", {}, h("strong", {}, sentence(refused.message)), refused.detail ? ` ${refused.detail}` : ""),
    instead
      ? h("p", {}, h("button", { onclick: () => editor.set(instead) }, "Ask this instead"), h("code", {}, instead))
      : refused.hint ? h("p", {}, ...coded(refused.hint)) : "",
  );
}

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

async function ask(asked = question(), name = key()) {
  if (state.asking || !asked.sql) return;
  state.asking = asked;
  $("ask").disabled = true;
  const late = setTimeout(() => $("ask").replaceChildren("Asking …"), 150);
  try {
    const answer = await call("/api/query", { body: asked, headers: { "Idempotency-Key": name } });
    const exact = state.preview && state.preview.asked.sql === asked.sql ? state.preview.found : await call("/api/explain", { body: asked });
    const laws = exact.columns.map((column, number) => ({ number, name: column.name, drawn: column.law !== "exact" }));
    state.shown = asked.sql;
    showResult($("result"), answer, { asked, laws, onLaw: law(asked), onDraw: (number) => drawLaw(asked, number), onCopy: copyIt, onExport: (kind, what) => exportAs(kind, what, schema.data) });
    tellStale(); // somebody may have typed on meanwhile
    say("");
    state.past.unshift(asked.sql);
    state.at = -1;
    $("result").scrollIntoView({ block: "nearest", behavior: "smooth" });
    refreshBudget();
  } catch (error) {
    const again = h("button", { onclick: () => ask(asked, name) }, "Try again");
    if (error instanceof Lost) say("The connection was lost. If the query was charged, trying again returns its answer and costs nothing more.", { kind: "bad", action: again });
    else if (error instanceof Refused) showRefusal(error);
    else throw error;
  } finally {
    clearTimeout(late);
    state.asking = null;
    preview();
  }
}

const law = (asked) => (number) => showLaw(asked, number).catch((error) => say(error.message, { kind: "bad" }));
const copyIt = (kind, asked) => copyAs(kind, asked.within || asked.epsilon ? asked : { ...asked, epsilon: String(state.base) }, { data: schema.data, user: user.name, pg: document.body.dataset.pg });

async function refreshBudget() {
  state.standing = await call("/api/budget");
  showBudget(state.standing, state.preview?.found);
}

const soon = pause(preview, 250);
const later = pause((refused, sql) => sql === question().sql && showRefusal(refused), 700);
const typed = () => {
  state.typed = editor.text().trim();
  tabs?.write(editor.text());
  tellStale();
  soon();
};

// An answer stays while the next query is written; it says that it belongs to the one before.
function tellStale() {
  const host = $("result");
  const stale = Boolean(state.shown) && host.childElementCount > 0 && state.typed !== state.shown;
  host.classList.toggle("stale", stale);
  const head = host.querySelector(".headline h2");
  if (head) head.textContent = stale ? "Answer to the previous query" : "Answer";
}

function listen() {
  $("ask").addEventListener("click", () => ask());
  $("epsilon").addEventListener("input", () => {
    state.price = { epsilon: /^\d+(\.\d+)?(e-?\d+)?$/i.test($("epsilon").value.trim()) && toNumber($("epsilon").value) > 0 ? $("epsilon").value.trim() : null };
    $("within").value = "";
    if (state.price.epsilon) $("slider").value = Math.round(20 * Math.log10(toNumber(state.price.epsilon) / state.base));
    soon();
  });
  $("within").addEventListener("input", () => {
    const width = $("within").value.trim();
    state.price = /^\d+(\.\d+)?$/.test(width) && toNumber(width) > 0 ? { within: width } : { epsilon: null };
    soon();
  });
  $("slider").addEventListener("input", () => {
    const epsilon = Number((state.base * 10 ** (Number($("slider").value) / 20)).toPrecision(2));
    state.price = { epsilon: String(epsilon) };
    $("epsilon").value = String(epsilon);
    $("within").value = "";
    soon();
  });
  document.querySelector(".keys").textContent = mac ? "⌘↵" : "Ctrl ↵";
  matchMedia("(max-width: 700px)").matches && ($("schema").open = false);
}

const past = (step) => () => {
  const at = Math.max(-1, Math.min(state.past.length - 1, state.at + step));
  if (at < 0) return true;
  state.at = at;
  editor.set(state.past[at]);
  return true;
};

async function begin() {
  const keys = [
    { key: "Mod-Enter", run: () => (ask(), true) },
    { key: "Mod-e", run: () => (preview(), true) },
    { key: "Alt-ArrowUp", run: past(1) },
    { key: "Alt-ArrowDown", run: past(-1) },
  ];
  editor = makeEditor($("editor"), { text: wanted.get("sql") ?? "", keys, onChange: typed });
  listen();
  [user, schema] = await Promise.all([frame(), call("/api/schema")]);
  state.base = toNumber(schema.privacy.query_epsilon);
  setPrice(state.price.epsilon ? toNumber(state.price.epsilon) : state.base);
  const set = (text) => { state.typed = null; editor.set(text); };
  keepQueries({ data: schema.data, user: user.name, question, set });
  tabs = keepTabs({ data: schema.data, user: user.name, text: editor.text, set, first: wanted.get("sql") });
  showTables($("tables"), schema, editor.insert);
  editor.knows(schema, tell);
  editor.view.focus();
  if (!editor.text().trim()) editor.set(firstQuestion(schema));
  else preview();
  const [, bought] = await Promise.all([refreshBudget(), call("/api/history?limit=50")]);
  state.past = bought.questions.map((one) => one.sql);
}

begin().catch((error) => say(error.message, { kind: "bad" }));
