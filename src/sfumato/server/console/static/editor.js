// The editor: SQL with colours, completion from the schema, and refusals underlined where they stand.
import {
  acceptCompletion, autocompletion, bracketMatching, closeBrackets, closeCompletion, Compartment, completionKeymap,
  defaultKeymap, drawSelection, EditorState, EditorView, HighlightStyle, history, historyKeymap, keymap,
  placeholder, PostgreSQL, Prec, setDiagnostics, sql, syntaxHighlighting, tags,
} from "./vendor/codemirror.js";
import { place } from "./dom.js";
import { blanked, reads } from "./names.js";

const AGGREGATES = ["COUNT(*)", "COUNT(DISTINCT ", "SUM(", "AVG(", "MIN(", "MAX(", "MEDIAN(", "VAR_SAMP(", "STDDEV_SAMP("];
// Words of SQL that people write here; PostgreSQL knows eight hundred.
const KEYWORDS = (
  "SELECT DISTINCT FROM WHERE GROUP_BY HAVING ORDER_BY ASC DESC NULLS_FIRST NULLS_LAST LIMIT OFFSET WITH AS JOIN LEFT_JOIN " +
  "ON USING AND OR NOT IN BETWEEN LIKE ILIKE IS_NULL IS_NOT_NULL EXISTS CASE WHEN THEN ELSE END UNION_ALL EXCEPT INTERSECT " +
  "ROLLUP CUBE GROUPING_SETS FILTER OVER PARTITION_BY WITHIN_GROUP DATE TIMESTAMP INTERVAL EXTRACT CAST COALESCE NULLIF " +
  "ROUND GREATEST LEAST TRUE FALSE NULL"
).split(" ").map((word) => ({ label: word.replaceAll("_", " "), type: "keyword" }));

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword], class: "tok-keyword" },
  { tag: [tags.string, tags.special(tags.string)], class: "tok-string" },
  { tag: [tags.number, tags.bool, tags.null], class: "tok-number" },
  { tag: [tags.comment, tags.lineComment, tags.blockComment], class: "tok-comment" },
  { tag: [tags.typeName, tags.standard(tags.name)], class: "tok-type" },
]);

const look = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "transparent", fontSize: "14px", flex: "1", height: "100%", maxHeight: "70vh" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--ink)", padding: "12px 0", minHeight: "144px" },
  ".cm-line": { padding: "0 16px" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: "var(--chosen)" },
  ".cm-placeholder": { color: "var(--quiet)" },
  ".cm-matchingBracket": { backgroundColor: "var(--chosen) !important", outline: "1px solid var(--line)" },
  ".tok-keyword": { color: "var(--accent)", fontWeight: "600" },
  ".tok-string": { color: "var(--text-string)" },
  ".tok-number": { color: "var(--text-number)" },
  ".tok-type": { color: "var(--accent)" },
  ".tok-comment": { color: "var(--quiet)", fontStyle: "italic" },
  ".cm-lintRange-error": { backgroundImage: "none", textDecoration: "underline wavy var(--red) 1.5px", textUnderlineOffset: "4px" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--ink)", border: "1px solid var(--line)", borderRadius: "6px", overflow: "hidden" },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxWidth: "min(480px, 90vw)" },
  ".cm-tooltip-autocomplete > ul > li": { padding: "4px 8px !important" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-tooltip-autocomplete ul li[aria-selected] .cm-completionDetail": { color: "var(--on-accent)" },
  ".cm-completionDetail": { color: "var(--quiet)", fontStyle: "normal", marginLeft: "1em" },
  ".cm-completionIcon": { display: "none" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--red)", fontFamily: "var(--sans)" },
});

const written = (name) => (/^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`);

// Tables, columns, aliases, WITH names, and the values of a list inside quotes.
function completer(schema, tell) {
  const tables = schema.tables.map((table) => [table.name, table.columns.map((column) => column.name)]);
  const owners = new Map(tables.map(([name, columns]) => [columns, name])); // an alias has the very columns of its table
  const details = new Map(schema.tables.flatMap((table) => table.columns.map((column) => [`${table.name}.${column.name}`, tell(column)])));
  const lists = new Map(schema.tables.flatMap((t) => t.columns.filter((c) => c.values).map((c) => [c.name, c.values])));
  const column = ([name, detail]) => ({ label: written(name), detail, type: "property", boost: 2 });
  // Each column once; where tables differ in what they say of it, their names.
  const columnsOf = (sources) => {
    const said = new Map();
    for (const columns of sources) {
      for (const name of columns) said.set(name, [...(said.get(name) ?? []), [owners.get(columns), details.get(`${owners.get(columns)}.${name}`) ?? ""]]);
    }
    return [...said].map(([name, all]) => [name, new Set(all.map(([, detail]) => detail)).size === 1 ? all[0][1] : `in ${[...new Set(all.map(([table]) => table ?? "a sub-query"))].join(", ")}`]);
  };

  return (context) => {
    const before = context.state.sliceDoc(0, context.pos);
    const inside = /"?([\w]+)"?\s*(?:=|<>|!=|\bin\s*\()\s*(?:'[^']*'\s*,\s*)*'([^']*)$/i.exec(before);
    if (inside && lists.has(inside[1])) {
      const values = lists.get(inside[1]).map((value) => ({ label: String(value), apply: String(value).replaceAll("'", "''") }));
      return { from: context.pos - inside[2].length, options: values };
    }
    if (/'[^']*$/.test(blanked(before).length === before.length && before.split("'").length % 2 === 0 ? before : "")) return null;
    const found = reads(context.state.doc.toString(), tables);
    const dotted = /([A-Za-z_]\w*)\.(\w*)$/.exec(before);
    if (dotted) {
      const columns = found.get(dotted[1]) ?? new Map(tables).get(dotted[1]);
      return columns ? { from: context.pos - dotted[2].length, options: columnsOf([columns]).map(column) } : null;
    }
    const word = /[A-Za-z_]\w*$/.exec(before);
    if (!word && !context.explicit) return null;
    const names = new Set([...tables.map(([name]) => name), ...found.keys()]);
    names.delete(word?.[0]); // what is being written behind a table looks like its alias
    const columns = columnsOf(found.size ? found.values() : tables.map(([, list]) => list));
    const source = /\b(?:from|join)\s+\w*$/i.test(before); // there a table stands, not a column
    return {
      from: context.pos - (word ? word[0].length : 0),
      options: [
        ...columns.map(column),
        ...[...names].map((name) => ({ label: written(name), detail: "table", type: "class", boost: source ? 50 : 1 })),
        ...AGGREGATES.map((name) => ({ label: name, type: "function" })),
        ...KEYWORDS,
      ],
      validFor: /^\w*$/,
    };
  };
}

export function makeEditor(host, { text, keys, onChange }) {
  const root = host.attachShadow({ mode: "open" }); // styles are adopted there, which a strict policy allows
  const completing = new Compartment();
  const complete = (source) =>
    autocompletion({ override: source ? [source] : [], icons: false });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        Prec.highest(keymap.of([...keys, { key: "Tab", run: acceptCompletion }])),
        history(), drawSelection(), bracketMatching(), closeBrackets(),
        keymap.of([...completionKeymap, ...defaultKeymap, ...historyKeymap]),
        sql({ dialect: PostgreSQL, upperCaseKeywords: true }),
        syntaxHighlighting(colours), look, EditorView.lineWrapping,
        placeholder("SELECT …"), completing.of(complete(null)),
        EditorView.contentAttributes.of({ "aria-label": "SQL", spellcheck: "false", autocapitalize: "none" }),
        EditorView.domEventHandlers({ blur: (_, left) => void closeCompletion(left) }), // also one that is on its way
        EditorView.updateListener.of((update) => update.docChanged && onChange()),
      ],
    }),
  });
  return {
    view,
    text: () => view.state.doc.toString(),
    set(wanted) {
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: wanted }, selection: { anchor: wanted.length } });
      view.focus();
    },
    insert(wanted) {
      view.dispatch(view.state.replaceSelection(wanted));
      view.focus();
    },
    knows: (schema, tell) => view.dispatch({ effects: completing.reconfigure(complete(completer(schema, tell))) }),
    // Underline from a position to the end of the word or name there.
    mark(position, message) {
      const all = view.state.doc.toString();
      if (!position) return view.dispatch(setDiagnostics(view.state, []));
      const from = Math.min(place(all, position), Math.max(0, all.length - 1));
      const length = /^(?:"[^"]*"|'[^']*'|[\w.]+(?:\s*\([^()]*\))?|.)/s.exec(all.slice(from))?.[0].length ?? 1;
      view.dispatch(setDiagnostics(view.state, [{ from, to: Math.min(all.length, from + length), severity: "error", message }]));
    },
  };
}
