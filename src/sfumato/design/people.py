"""Who has the secret, after some answers: possible worlds, each a set of people who have it.

Comes in: how many people, how likely each is to have it or how many have it, and answers that came through channels.
Goes out: a belief over worlds, and of each person. Worlds in which a query has no answer (the least of nobody) are left
out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sfumato.design.compose import after, deterministic
from sfumato.design.posteriors import Belief, belief
from sfumato.design.queries import QUERIES, query_named
from sfumato.design.worlds import all_worlds
from sfumato.errors import InputError
from sfumato.mechanisms import Channel
from sfumato.types import as_written, whole

World = tuple[bool, ...]
MOST = 12
"""People whose worlds are written out: 4096 of them."""


@dataclass(frozen=True)
class AnswerAboutPeople:
    """An answer about those who have the secret: a query of their values, through noise or exactly; what it said."""

    query: str
    values: tuple[Any, ...]
    noise: Channel | None
    seen: Any

    def answer(self, world: World) -> Any:
        """The true answer in a world."""
        having = [value for value, has in zip(self.values, world, strict=True) if has]
        return QUERIES[self.query].compute(having, lambda _: True, Fraction(50))

    def channel(self, worlds: Sequence[World]) -> Channel:
        """From worlds to what is told."""
        return deterministic(self.answer, worlds) if self.noise is None else after(self.answer, worlds, self.noise)


def told(query: str, values: Sequence[Any], noise: Channel | None, seen: Any) -> AnswerAboutPeople:
    """An answer, its query known by name."""
    return AnswerAboutPeople(query_named(query).name, tuple(values), noise, seen)


def who(people: int, answers: Sequence[AnswerAboutPeople], each: Any = "1/2", having: int | None = None) -> Belief:
    """What is believed of the worlds after these answers; `of(lambda world: world[3])` is what is believed of a person.

    Before, everybody has it with probability `each`, independently; or exactly `having` people have it, all alike.

    >>> don = who(2, [told("min", [40, 50], None, 40)])
    >>> [str(p) for p in don.of(lambda world: world[1])]
    ['2/3', '1/2']
    """
    if not answers or any(len(answer.values) != people for answer in answers):
        raise InputError(f"every answer needs a value for each of the {people} people")
    if people > MOST:
        raise InputError(f"worlds are written out for at most {MOST} people, but there are {people}")
    fewest = max(QUERIES[answer.query].needs for answer in answers)
    chance = as_written(each, "each")
    if not 0 < chance < 1:
        raise InputError("each must be above 0 and below 1: how likely one person is to have the secret")
    sizes = range(fewest, people + 1) if having is None else (whole(having, "having", fewest),)
    weights = {world: p for world, p in all_worlds(people, chance).items() if sum(world) in sizes}
    if not weights:
        raise InputError(f"there are {people} people, and {having} of them cannot have the secret")
    total = sum(weights.values(), Fraction(0))
    prior = {world: p / total for world, p in weights.items()}
    return belief(prior, [answer.channel(list(prior)) for answer in answers], *(answer.seen for answer in answers))
