"""A seed becomes a world, and a question that is answered there; what the question reaches; what lies above its cut."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import duckdb
from sqlglot import exp

from sfumato.algebra.relations import (
    Filter,
    Grouped,
    Join,
    Limited,
    MarkJoin,
    Projection,
    Relation,
    Release,
    SetOperation,
    UnionAll,
    Windowed,
    below,
)
from sfumato.algebra.tree import Aggregate, Call, Node, Over, children
from sfumato.errors import QueryError
from sfumato.gateway import answer_codec as keeping
from sfumato.gateway.answer import Spent, build
from sfumato.gateway.released_tables import Draws, ReleasedSet
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import ALLOWED, parse
from sfumato.sql.release.plan import Plan, plan
from tests.compiled import compiled
from tests.laws.neighbours import Broken
from tests.laws.questions import Asker
from tests.laws.sqlgen import Words
from tests.laws.widegen import WideAsker, WideWords
from tests.laws.worldgen import world
from tests.laws.worlds import World

TODAY = date(2024, 6, 1)
_EPSILON = Fraction(1)


@dataclass(frozen=True)
class Case:
    """A question that is answered, in its world."""

    seed: int
    world: World
    text: str
    plan: Plan
    refused: int

    def __repr__(self) -> str:
        return f"<seed {self.seed}: {self.text}>"


def planned(
    text: str, here: World, epsilon: Fraction = _EPSILON, rows: int | None = None, noise: str | None = None
) -> Plan:
    """The plan of a question in a world."""
    question = bind(parse(text), here.policy, TODAY, here.rows_for_planning)
    asked: Plan = compiled(plan(question, here.policy, epsilon, rows, noise=noise, rows=here.rows_for_planning))
    return asked


def attempt(r: random.Random, here: World, *, wide: bool = False) -> tuple[str, Plan] | None:
    """One random question, and its plan where it is answered. Refusals are QueryErrors and nothing else."""
    letters = here.policy.tables["t"].columns
    single = r.random() < 0.3
    words, asker = (WideWords, WideAsker) if wide else (Words, Asker)
    text = words(r, letters, letters["u"].type == "text").question() if single else asker(r, here).question()
    lowered, noise = r.choice([None, None, None, 1]), r.choice([None, None, None, "gaussian"])
    if here.policy.privacy.composition == "pure":
        noise = None
    try:
        return text, planned(text, here, r.choice([_EPSILON, _EPSILON / 3]), lowered, noise)
    except QueryError:
        return None
    except Exception as error:
        raise Broken(f"planning raised {type(error).__name__}: {error}\n  {text}") from error


def is_wide(seed: int) -> bool:
    """Whether questions of a seed have the wider vocabulary: every second one beyond the first forty."""
    return seed >= 40 and seed % 2 == 1


def case(seed: int, tries: int = 60, most_groups: int = 2000, *, wide: bool | None = None) -> Case:
    """The first question of this seed that is answered; `wide` where its vocabulary is not the seed's own."""
    wide = is_wide(seed) if wide is None else wide
    r = random.Random(seed)
    here = world(r)
    for refused in range(tries):
        found = attempt(r, here, wide=wide)
        if found is None:
            continue
        parts = [part for cut in found[1].cuts for part in cut.parts]
        if (
            any(part.bundles or part.chosen for part in parts)
            and sum(len(part.groups) for part in parts) <= most_groups
        ):
            return Case(seed, here, *found, refused)
    return case(seed + 1_000_003, tries, wide=wide)


# what lies above the cut
_SOME = {
    "text": ["q", "", None],
    "date": [TODAY, None],
    "timestamp": [datetime(2024, 6, 1, 12, 30), None],  # noqa: DTZ001  time has no zone here
    "boolean": [True, None],
}


def _draws(asked: Plan, r: random.Random) -> Draws:
    """Numbers that might have been released: of any sign, and now and then large."""
    result = []
    for cut in asked.cuts:
        drawn = []
        for part in cut.parts:
            kinds = [cut.release.keys[i][1].facts.kind for i in part.chosen]
            keys = (
                {tuple(r.choice(_SOME.get(kind, [3, -2, None])) for kind in kinds) for _ in range(3)}
                if kinds
                else set()
            )
            count = len(part.groups) * (len(keys) if kinds else 1)
            most = r.choice([3, 1 << 24, 1 << 50])
            cells = []
            for b in part.bundles:
                law = b.extra is not None and b.extra.law is not None
                ends = (b.extra.low, b.extra.high) if law else (-most, most)
                among = b.extra.steps if law else ()
                width, rung = (len(b.bundle.parts), 0) if b.extra is None else (1, max(0, len(b.extra.choices) - 1))
                cells.append(
                    tuple(
                        (*(r.choice(among) if among else r.randint(*ends) for _ in range(width)), *(0,) * rung)
                        for _ in range(count)
                    )
                )
            drawn.append(ReleasedSet(tuple(keys), tuple(cells)))
        result.append(tuple(drawn))
    return tuple(result)


def rehearsed(asked: Case) -> None:
    """What lies above the cut runs: over one group of zeros, as the gateway tries it before anything is paid, over all
    groups of zeros, and over numbers that might have been released."""
    free = Spent(Fraction(0), Fraction(0), Fraction(0))
    more: dict[str, Any] = {"cost": free, "remaining": free, "receipt": None, "confidence": Fraction(1, 2)}
    first = replace(asked.plan, cuts=tuple(keeping.first_groups(part) for part in asked.plan.cuts))
    tried = [(first, keeping.nothing(asked.plan, rows=1)), (asked.plan, keeping.nothing(asked.plan))]
    for which, (plan_, draws) in enumerate([*tried, (asked.plan, _draws(asked.plan, random.Random(asked.seed)))]):
        try:
            build(plan_, draws, finish=asked.world.finish, **more).intervals()
        except duckdb.Error as error:
            raise Broken(f"above the cut ({which}) the engine raised: {str(error).splitlines()[0]}") from None


# what a question reaches
def relations_of(top: Relation) -> list[Relation]:
    """All relations of a tree."""
    found, waiting = [], [top]
    while waiting:
        relation = waiting.pop()
        found.append(relation)
        waiting += below(relation)
    return found


def _nodes(relation: Relation) -> list[Node]:
    nodes: list[Node] = []
    match relation:
        case Filter():
            nodes = [relation.condition]
        case Join() | MarkJoin():
            nodes = [] if relation.on is None else [relation.on]
        case Projection():
            nodes = [node for _, node in relation.items]
        case Grouped() | Release():
            nodes = [node for _, node in (*relation.keys, *relation.aggregates)]
        case Windowed():
            nodes = [node for _, node in relation.windows]
        case UnionAll() | SetOperation():
            nodes = [node for _, shown in relation.parts for node in shown]
        case Limited():
            nodes = [s.node for s in relation.order]
    return nodes


def reached(asked: Case) -> set[Any]:
    """Kinds of the parser's nodes, of relations, functions, aggregates and windows, below and above the cut."""
    found: set[Any] = {type(node) for node in parse(asked.text).walk()} & set(ALLOWED)
    question = asked.plan.question
    for relation in relations_of(question.relation):
        side = "private" if relation.private else "public"
        found |= {type(relation).__name__, (side, type(relation).__name__)}
        if isinstance(relation, Join):
            found |= {
                ("join", side, relation.kind),
                ("join", relation.kind, relation.left.private, relation.right.private),
            }
        if isinstance(relation, MarkJoin):
            found.add(
                (
                    "marked",
                    side,
                    "person" if relation.by_person else "among" if relation.operand is not None else "exists",
                )
            )
        if isinstance(relation, Grouped | Release) and len(relation.sets) > 1:
            found.add(("sets", side, type(relation).__name__))
        for node in _nodes(relation):
            _meet(node, side, relation, found)
    for node in [n for _, n in question.items] + [s.node for s in question.order]:
        _meet(node, "public", question.relation, found)
    found |= {("function", word) for _, word, _ in question.ends}
    for cut in asked.plan.cuts:
        found |= {("noise", cut.terms.noise), ("open", any(part.chosen for part in cut.parts))}
        found |= {("open beside a list",) for part in cut.parts if part.chosen and part.listed}
        found |= {("only keys",)} if cut.events and not cut.sources else set()
    if len(asked.plan.cuts) > 1:
        found.add("stages")
    return found


def _meet(top: Node, side: str, relation: Relation, found: set[Any]) -> None:
    waiting = [top]
    while waiting:
        node = waiting.pop()
        waiting += children(node)
        if isinstance(node, Call):
            found.add(("function", node.name))
            if node.extra and node.name in ("extract", "date_trunc", "cast"):
                found.add(("extra", node.name, node.extra))
        elif isinstance(node, Aggregate):
            kind = "aggregate" if isinstance(relation, Release) else "own" if relation.private else "plain"
            found.add((kind, node.name))
        elif isinstance(node, Over):
            found.add(("window", side, node.name))


NOT_ANSWERED: set[type[exp.Expression]] = {
    exp.DateTrunc,
    exp.If,
    exp.AnyValue,
    exp.First,
    exp.Last,
    exp.ArgMax,
    exp.ArgMin,
}
"""Kinds that no answered question holds: date_trunc is a TimestampTrunc in PostgreSQL's dialect, IF stands only inside
CASE, and aggregates that depend on the order of rows are refused by name."""
