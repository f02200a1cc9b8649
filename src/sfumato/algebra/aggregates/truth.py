"""BOOL_OR and BOOL_AND: from a noisy count of the rows that decide them.

BOOL_OR is true where more rows are true than noise alone would show; BOOL_AND is true unless more rows are false.
"""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from sfumato.algebra.aggregates import over_public, over_unit
from sfumato.algebra.aggregates.base import ONE, ZERO, AggregateKind, Bundle, Formula, Sums, filtered
from sfumato.algebra.functions import call
from sfumato.algebra.noise_widths import NoiseTerm, width_of
from sfumato.algebra.tree import BOOLEAN, Aggregate, Facts, Node
from sfumato.errors import QueryError

NAMES = ("bool_and", "bool_or")
_CERTAIN = Fraction(999_999, 1_000_000)
"""How sure they are that a row decides them."""


def _kind(name: str) -> AggregateKind:
    def bind(args: tuple[Node, ...], where: Node | None, position: int) -> Aggregate:
        if not args or args[0].facts.kind != BOOLEAN:
            raise QueryError(f"{name.upper()} needs a condition", position=position, sqlstate="42883")
        return Aggregate(name, args[0], where, Facts(BOOLEAN, nullable=False), position)

    def bundle(aggregate: Aggregate) -> Bundle:
        assert aggregate.arg is not None
        decides = aggregate.arg if name == "bool_or" else call("not", (aggregate.arg,))
        return Bundle((filtered(call("case", (decides, ONE, ZERO)), aggregate.where),), Fraction(1))

    def value(_: Aggregate, sums: Sums, noise: NoiseTerm | None) -> bool:
        assert noise is not None
        return (sums[0] > width_of(((Fraction(1), noise),), _CERTAIN)) == (name == "bool_or")

    return AggregateKind(
        name,
        bind,
        bundle,
        Formula(name, value, words=lambda *_: "the number of rows that decide it"),
        usage=f"{name.upper()}(condition)",
        words="whether it holds in every row" if name == "bool_and" else "whether it holds in some row",
        nodes=(exp.LogicalAnd if name == "bool_and" else exp.LogicalOr,),
        over_unit=over_unit.truth,
        over_public=over_public.truth,
    )


TRUTHS = tuple(_kind(name) for name in NAMES)
