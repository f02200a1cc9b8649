// Queries that somebody keeps in this browser: several open ones as tabs, and saved ones with a name and a link.
import { $, h, word } from "./dom.js";
import { openDialog } from "./hand.js";
import { say } from "./frame.js";

function read(key, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

const write = (key, value) => {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    say("This browser blocks local storage, so the query was not saved.", { kind: "warn" });
  }
};

export const linkOf = ({ sql, epsilon }) => `${location.origin}/?${new URLSearchParams({ sql, ...(epsilon ? { epsilon } : {}) })}`;

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    say("Link copied. It contains the query but not the answer; opening it requires an account.");
  } catch {
    openDialog("Link to this query", h("pre", { class: "code", tabindex: 0 }, text));
  }
}

export function keepQueries({ data, user, question, set }) {
  const key = `sfumato-saved ${user} ${data}`;
  const show = () => {
    const all = read(key, []);
    $("kept").hidden = !all.length;
    $("saved").replaceChildren(...all.map((one, i) => h("p", { class: "kept" },
      h("button", { class: "plain", title: one.sql, onclick: () => set(one.sql) }, word(one.name)),
      h("button", { class: "plain", "aria-label": `Copy the link of ${one.name}`, onclick: () => copy(linkOf(one)) }, "link"),
      h("button", { class: "plain", "aria-label": `Delete ${one.name}`, onclick: () => { write(key, all.filter((_, j) => j !== i)); show(); } }, "×"))));
  };
  $("save").addEventListener("click", () => {
    const asked = question();
    if (!asked.sql) return;
    const name = h("input", { id: "save-name", maxlength: 60, required: true, autocomplete: "off" });
    const done = (event) => {
      event.preventDefault();
      const others = read(key, []).filter((one) => one.name !== name.value.trim());
      write(key, [...others, { name: name.value.trim(), sql: asked.sql, epsilon: asked.epsilon ?? null }]);
      $("dialog").close();
      $("kept").open = true;
      show();
    };
    openDialog("Save this query", h("form", { class: "row", onsubmit: done }, h("label", {}, "Name ", name), h("button", { class: "main" }, "Save")), h("p", { class: "quiet" }, "It is stored in this browser. A saved query with the same name is replaced."));
    name.focus();
  });
  $("share").addEventListener("click", () => question().sql && copy(linkOf(question())));
  show();
}

// Open queries, one to a tab; they are there again after a reload.
export function keepTabs({ data, user, text, set, first }) {
  const key = `sfumato-tabs ${user} ${data}`;
  const state = read(key, { texts: [""], at: 0 });
  if (!Array.isArray(state.texts) || !state.texts.length) Object.assign(state, { texts: [""], at: 0 });
  state.at = Math.min(Math.max(0, state.at | 0), state.texts.length - 1);
  const again = performance.getEntriesByType("navigation")[0]?.type === "reload"; // then the tabs know best
  if (first && !(again && state.texts.some((one) => one.trim()))) {
    const there = state.texts.indexOf(first);
    if (there >= 0) state.at = there;
    else state.at = (state.texts.length === 1 && !state.texts[0].trim() ? 0 : state.texts.push("") - 1);
    state.texts[state.at] = first;
  }
  const title = (sql, i) => /\bfrom\s+"?([\w.]+)\b(?!"?\s*\))/i.exec(sql)?.[1] ?? `Query ${i + 1}`;
  const keep = () => write(key, state);
  const show = () => {
    const many = state.texts.length > 1;
    $("tabs").replaceChildren(
      ...state.texts.map((sql, i) => h("span", { class: i === state.at ? "tab here" : "tab" },
        h("button", { class: "plain", "aria-current": i === state.at ? "true" : null, onclick: () => go(i) }, word(title(sql, i))),
        many ? h("button", { class: "plain", "aria-label": `Close tab ${i + 1}`, onclick: () => close(i) }, "×") : null)),
      h("button", { class: "plain", "aria-label": "New tab", title: "New tab", onclick: () => go(state.texts.push("") - 1) }, "+"),
    );
  };
  const go = (i) => {
    state.at = i;
    keep();
    set(state.texts[i]);
    show();
  };
  const close = (i) => {
    state.texts.splice(i, 1);
    go(Math.min(state.at > i ? state.at - 1 : state.at, state.texts.length - 1));
  };
  if (state.texts[state.at] && state.texts[state.at] !== text()) set(state.texts[state.at]);
  show();
  return {
    write(sql) {
      if (state.texts[state.at] === sql) return;
      state.texts[state.at] = sql;
      keep();
      show();
    },
  };
}
