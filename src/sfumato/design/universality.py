"""Is geometric noise best for everybody? The graph of a query's answers, and what the optimum has over the noise.

Comes in: a query over a finite domain, and users: priors and gains. Goes out: the graph, whether it is a straight line,
and for each user the utility of the best-remapped geometric noise beside the best that any mechanism can do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from sfumato.design.asking import SensitivityProblem, ask, survey
from sfumato.design.builders import MechanismOrder, build
from sfumato.design.compose import Entry
from sfumato.design.databases import Database, path_of
from sfumato.design.gains import Gain
from sfumato.design.level import Level, as_level
from sfumato.design.metrics import along
from sfumato.design.optimum import optimal
from sfumato.design.priors import Prior
from sfumato.design.telling import html_table, say
from sfumato.design.utilities import utility
from sfumato.errors import InputError
from sfumato.mechanisms import Channel
from sfumato.types import as_written

Edge = tuple[Any, Any]
_PEOPLE = 4
USERS: tuple[tuple[Prior, Gain], ...] = (
    ("uniform", "identity"),
    ("uniform", "distance"),
    ("binomial 1/2", "identity"),
    ("binomial 1/2", "distance"),
)
"""Whose utilities are compared unless others are named."""
LOOSE = Fraction(1, 1000)
"""Only the bound is used, which holds however far the search came."""


@dataclass(frozen=True)
class Compared:
    """One user: what the best-remapped noise is worth, and what nothing can exceed."""

    prior: Prior
    gain: Gain
    noise: Entry
    optimum: float
    gap: float


@dataclass(frozen=True)
class Universal:
    """The graph of the answers of a query, and the comparison.

    Guarantee: `path` is true exactly if the graph is a straight line; then geometric noise is optimal for every prior
        and every gain that falls with the distance. Where it is none, `users` says what each of them loses by it.
    Proof: on a line every private mechanism that is best for such a user is a remapping of the geometric one.
    Reference: Ghosh, Roughgarden, Sundararajan, STOC 2009; Brenner and Nissim, FOCS 2010: on graphs with a circle or a
        node of three neighbours no mechanism is optimal for everybody.
    Checked by: design::counting_queries_are_lines_and_others_are_not, design::noise_is_optimal_on_a_line
    """

    path: bool
    answers: tuple[Any, ...]
    edges: tuple[Edge, ...]
    how: str
    users: tuple[Compared, ...]

    def _repr_html_(self) -> str:
        rows = [(say(user.prior), say(user.gain), say(user.noise), say(user.optimum)) for user in self.users]
        return html_table(("prior", "gain", "geometric noise", "best"), rows)

    @property
    def gap(self) -> float:
        """The most that any of these users loses by geometric noise, against the best mechanism for her."""
        return max((user.gap for user in self.users), default=0.0)


def universal(
    query: str | Callable[[Database], Any],
    low: Any = None,
    high: Any = None,
    *,
    epsilon: Any = "ln 2",
    users: Sequence[tuple[Prior, Gain]] | None = None,
    **options: Any,
) -> Universal:
    """The graph of a query, and how far geometric noise is from the best mechanism for some users.

    The words are those of `sensitivity`; a count has the values 0 and 1 unless others are named, of up to four people
    unless a size is. With `metrics` of (normalised) Manhattan, neighbours are databases one step of one value apart.
    """
    if query in ("count", "percentage") and low is None and "values" not in options:
        low, high = 0, 1
    if query == "count" and not {"size", "min_size"} & {name for name, value in options.items() if value is not None}:
        options["size"] = _PEOPLE
    asked = ask(query, low, high, **options)
    answers, edges, how = _graph(asked)
    line = _line(answers, edges)
    ordered = line or _sorted(answers)
    level = as_level(epsilon)
    noise, apart = _noise(ordered, edges, level)
    found = tuple(_compared(noise, apart, level, *user) for user in (USERS if users is None else users))
    return Universal(line is not None, ordered, edges, how, found)


def _graph(asked: SensitivityProblem) -> tuple[list[Any], tuple[Edge, ...], str]:
    seen = survey(asked)
    stepwise = asked.metrics is not None and asked.metrics[0] != "hamming"
    if stepwise and not path_of(seen.domain.values):
        raise InputError("steps between values need values that go up")
    pairs = seen.domain.steps() if stepwise else seen.domain.neighbours(asked.adjacency)
    place = {answer: i for i, answer in enumerate(dict.fromkeys(seen.answers.values()))}
    found = {tuple(sorted((place[seen.answers[a]], place[seen.answers[b]]))) for a, b in pairs}
    names = list(place)
    return names, tuple((names[i], names[j]) for i, j in sorted(found) if i != j), seen.how


def _line(answers: Sequence[Any], edges: Sequence[Edge]) -> tuple[Any, ...] | None:
    """The answers from one end to the other, if the graph is a straight line."""
    near: dict[Any, list[Any]] = {answer: [] for answer in answers}
    for one, other in edges:
        near[one].append(other)
        near[other].append(one)
    ends = [answer for answer in _sorted(answers) if len(near[answer]) == 1]
    if len(answers) == 1:
        return tuple(answers)
    if len(ends) != 2 or any(len(n) not in (1, 2) for n in near.values()):
        return None
    walk, before = [ends[0]], None
    while len(walk) < len(answers):
        ahead = [n for n in near[walk[-1]] if n is not before and n != before]
        if not ahead:
            return None
        before = walk[-1]
        walk.append(ahead[0])
    return tuple(walk)


def _sorted(answers: Sequence[Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(answers))
    except TypeError:
        return tuple(answers)


def _noise(answers: tuple[Any, ...], edges: tuple[Edge, ...], level: Level) -> tuple[Channel, list[list[Fraction]]]:
    """Geometric noise between the answers, scaled to how far neighbours are apart; on a line, by steps of the line."""
    table = along(edges, answers)
    if any(steps is None for row in table for steps in row):
        raise InputError(
            "the graph of this query falls apart", hint="Some answers have no neighbour: look at the domain."
        )
    apart = [[Fraction(steps or 0) for steps in row] for row in table]
    places = range(len(answers))
    if _line(answers, edges) is not None or not _numbers(answers):
        word = "truncated-geometric" if _line(answers, edges) is not None else "tight-constraints"
        made = build(word, MechanismOrder(tuple(places), None, level, Fraction(1), Fraction(1), apart))
        return Channel(made.matrix, answers, made.outputs), apart
    numbers = [as_written(answer, "answer") for answer in answers]
    widest = max(abs(as_written(a, "answer") - as_written(b, "answer")) for a, b in edges)
    unit = min(b - a for a, b in pairwise(numbers))
    if any(((n - numbers[0]) / unit).denominator != 1 for n in numbers):
        unit = Fraction(1, max(n.denominator for n in numbers))
    order = MechanismOrder(tuple(numbers), None, level, widest, unit, None)
    made = build("truncated-geometric", order)
    return Channel(made.matrix, answers, made.outputs), apart


def _numbers(answers: Sequence[Any]) -> bool:
    return all(isinstance(answer, (int, float, Fraction)) and not isinstance(answer, bool) for answer in answers)


def _compared(noise: Channel, apart: list[list[Fraction]], level: Level, prior: Prior, gain: Gain) -> Compared:
    """The noise with its best remapping, against a bound on all mechanisms: the gap is what is lost at most."""
    mine = utility(noise, prior, gain).gain
    best = optimal(prior, gain, level, apart, inputs=noise.inputs, tolerance=LOOSE)
    return Compared(prior, gain, mine, float(best.bound), max(0.0, float(best.bound) - float(mine)))
