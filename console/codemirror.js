// The parts of CodeMirror 6 that the console's editor uses, as one file: `make console` bundles it.
export { acceptCompletion, autocompletion, closeBrackets, closeCompletion, completionKeymap } from "@codemirror/autocomplete";
export { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
export { PostgreSQL, sql } from "@codemirror/lang-sql";
export { bracketMatching, HighlightStyle, syntaxHighlighting } from "@codemirror/language";
export { setDiagnostics } from "@codemirror/lint";
export { Compartment, EditorState, Prec } from "@codemirror/state";
export { drawSelection, EditorView, keymap, placeholder } from "@codemirror/view";
export { tags } from "@lezer/highlight";
