// The pages of the playground: each a name, an idea, a formula, and where the lectures have it.
import { $, h } from "./dom.js";

export const IDEAS = {
  geometric: ["Geometric noise", "Two databases that differ by Bob give almost the same answers: for every answer, the ratio of the two bars is at most e^ε.", "P(noise = z) ∝ e^(−|z| ε / Δ)", "6 and 35"],
  laplace: ["Laplace noise on a grid", "The textbook distribution, drawn exactly on multiples of a step, because rounding of floats would leak the true value.", "P(noise = z) ∝ e^(−|z| ε / Δ), z a multiple of the grid", "5 and 20"],
  gaussian: ["Gaussian noise", "Lighter tails, but no ε: far out, the ratio of the two bars is unbounded, with small probability.", "P(noise = z) ∝ e^(−z² / 2σ²), ρ = Δ² / 2σ²", "34"],
  averaging: ["Averaging", "If the same query got fresh noise each time, the noise would average out. So an answer is drawn once, stored, and returned again for free.", "± of the mean of k answers shrinks like 1/√k, their cost grows like k", "7"],
  composition: ["Many queries", "What k queries with the same ε cost together, by each composition rule. The ledger tracks both and admits a query if one of them allows it.", "k ε;  ε √(2k ln 1/δ) + k ε (e^ε − 1);  ρ adds up", "8 and 14"],
  response: ["Randomized response", "Each person answers with the truth with some probability, and with the other answer otherwise. No gateway has to be trusted.", "P(truth) = e^ε / (e^ε + 1)", "16"],
  utility: ["Utility", "An answer is worth what somebody can do with it. A user who knows the prior and the mechanism updates their guess after each answer; the best guess gives the gain. Truncating the noise at the ends loses nothing, and for counts no private mechanism has a higher utility. Randomized response treats near and far values alike, and has a lower utility.", "gain = Σ over shown z of the largest Σ over x of π(x) K(z|x) g(w, x)", "31, 35 to 37"],
  grid: ["A place on a grid", "The best way to report a cell: neighbouring cells give almost the same reports, and the report is as near the truth as that allows. A linear program finds it, and proves that nothing private is nearer.", "P(report z | cell x) ≤ e^(ε d(x, x′)) P(report z | cell x′)", "37 and 38"],
  attack: ["An attack", "An attacker counts somebody with a secret and without it, and believes the two noisy counts where they agree. Spent on one person, a large ε reveals the secret; divided among many people, it reveals hardly anything.", "right ≤ e^(2ε) g / (e^(2ε) g + 1 − g), g a guess", "11"],
  joint: ["Eye colours", "A person has one eye colour, so all counts by colour together cost as much as one. Counts by eye and by hair colour of the same people add up.", "the largest of groups that exclude each other; the sum of those that do not", "8 and 19"],
};

// Above every page of it: the ideas, Bob in any query, and the exercises.
export function tabs(role, here) {
  const asks = role === "auditor" ? [] : [["/bob", "Bob in any query"]];
  const all = [...Object.entries(IDEAS).map(([key, [title]]) => [`/play?page=${key}`, title]), ...asks, ["/learn", "Exercises"]];
  $("pages").replaceChildren(...all.map(([path, title]) => h("a", { href: path, "aria-current": path === here ? "page" : null }, title)));
}
