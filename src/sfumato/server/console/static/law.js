// Lecture 0 of the subject: the law of what is shown, with one person in the data and without her. All of it is the server's.
import { call } from "./api.js";
import { h, picture } from "./dom.js";
import { openDialog } from "./hand.js";
import { brief, percent } from "./numbers.js";

export const lawOf = (asked, column) => call("/api/law", { body: { ...asked, column } });

const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

// What the answer changes in an attacker's odds; where that has no bound of its own, why.
export const odds = (law) => (law.at_most === null ? sentence(law.why) : `An attacker who knows everybody else and thinks it 50 % likely that Bob is in the data can become at most ${percent(law.at_most)} sure after this ${law.pictures.length > 1 ? "result" : "number"}.`);

// For one number alone there is no chart, but there is its law.
export async function drawLaw(asked, column) {
  const law = await lawOf(asked, column);
  const parts = law.pictures.flatMap((one) => [about(law, one), h("div", { class: "picture plain" }, picture(one.svg))]);
  return h("figure", { class: "law" }, parts, h("figcaption", { class: "quiet" }, odds(law)));
}

export async function showLaw(asked, column) {
  const law = await lawOf(asked, column);
  if (!law.pictures.length) return openDialog("Effect of one person", h("p", {}, "There is no picture of this column: ", law.why, "."));
  openDialog("Effect of one person",
    h("p", {}, "Exact probabilities of each output: grey without Bob in the data, blue with him."),
    ...law.pictures.flatMap((one) => [about(law, one), h("div", { class: "picture" }, picture(one.svg)), h("details", {}, h("summary", {}, "As a table"), tableOf(one))]),
    h("p", {}, odds(law)),
  );
}

// What the picture is of: the released number, how far Bob moves it, and who was made up where the law depends on rows.
export function about(law, one) {
  const moves = one.moves === null ? null : `Bob moves ${one.several ? "them, all together," : "it"} by at most ${brief(one.moves)}.`;
  const plain = law.pictures.length === 1 && ["geometric", "gaussian"].includes(law.law);
  return h("p", { class: "quiet" },
    plain ? null : [law.law === "exponential" ? "What is drawn: " : "Released for it: ", h("strong", {}, one.what), ". "],
    moves,
    one.assumed === null ? null : `The probability of each value depends on the rows, which a picture must not reveal. So this is the distribution for ${one.assumed}; Bob is one more person, in the worst case.`);
}

export function tableOf(one) {
  const heads = [one.moves === null ? "shown" : "shown minus the truth", "Bob out", "Bob in", "50 % becomes"];
  const cells = (output, i) => [one.moves === null ? output : brief(output, 6), brief(one.bob_out[i]), brief(one.bob_in[i]), `${brief(one.belief[i] * 100)} %`];
  return h("div", { class: "box", tabindex: 0, role: "region", "aria-label": "The law" }, h("table", {},
    h("thead", {}, h("tr", {}, heads.map((name) => h("th", { class: "right", scope: "col" }, name)))),
    h("tbody", {}, one.outputs.map((output, i) => h("tr", {}, cells(output, i).map((text) => h("td", { class: "right" }, text))))),
  ));
}
