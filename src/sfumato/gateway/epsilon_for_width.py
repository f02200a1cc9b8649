"""The epsilon for a wanted interval width (`within`), from the query and the policy alone.

Comes in: plans of one question at any epsilon, a width and a confidence. Goes out: an epsilon; or a refusal, where the
width depends on the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sfumato.algebra.aggregates.parts import PART, WHOLE
from sfumato.algebra.noise_widths import NoiseTerm, width_of
from sfumato.errors import QueryError
from sfumato.gateway.interval_sources import longest_total
from sfumato.mechanisms import ThresholdedCounts
from sfumato.policy import Privacy
from sfumato.sql.release.plan import Plan
from sfumato.sql.release.release_plan import GAUSSIAN, ReleasedBundle


def epsilon_within(
    planned: Callable[[Fraction], Plan], width: Fraction, confidence: Fraction, privacy: Privacy
) -> Fraction:
    """The least epsilon, to three digits, for which every column is within the wanted width (semantics 5.7).

    `planned` gives the plan of the question at an epsilon.
    """
    one, least = planned(Fraction(1)), privacy.min_epsilon
    bundles = [released for part in one.cuts for kept in part.parts for released in kept.bundles]
    for part in one.cuts:
        for _, aggregate, source in part.sources:
            if source.bundle >= 0 and not (source.formula.plain or source.formula in (PART, WHOLE)):
                raise QueryError(
                    f"within is not available for {aggregate.name.upper()}: its error depends on the number of rows",
                    position=aggregate.position,
                    hint="Use epsilon instead, or query COUNT and SUM separately.",
                )
    if not bundles:
        return max(privacy.query_epsilon, least)
    _check_shown(one)

    def narrow(at: Fraction) -> bool:
        if not any(part.totals for part in one.cuts):
            return _narrow(bundles, at, width, confidence)
        return _narrow_totals(planned(at), width, confidence)

    step = Fraction(1, 1000)
    while not narrow(step):
        step *= 10
    while step > least and narrow(step / 10):
        step /= 10
    low, high = 100, 1000  # in thousandths of `step`
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if narrow(step * middle / 1000) else (middle, high)
    found = max(step * high / 1000, least)
    _check_shown(planned(found))
    return found


def _check_shown(planned: Plan) -> None:
    """Refuse counts whose own noise decides which keys are shown: near the threshold their intervals reach to zero."""
    if any(isinstance(kept.selection, ThresholdedCounts) for part in planned.cuts for kept in part.parts):
        raise QueryError(
            "within is not available for the count of groups whose keys are not declared",
            detail="The interval of a group that is shown is wider where its count is near the threshold.",
            hint="Use epsilon instead.",
        )


def _narrow(bundles: list[ReleasedBundle], epsilon: Fraction, width: Fraction, confidence: Fraction) -> bool:
    """Whether every interval at this epsilon is within the width."""
    for released in bundles:
        gaussian = released.noise == GAUSSIAN
        scale = released.scale / (epsilon**2 if gaussian else epsilon)
        if width_of(((Fraction(1), NoiseTerm(scale, released.unit, gaussian, _draws(released))),), confidence) > width:
            return False
    return True


def _draws(released: ReleasedBundle) -> int:
    """How many draws the widest number of a bundle adds up: a whole is its part and the rest."""
    return max(1, len(released.bundle.parts))


def _narrow_totals(planned: Plan, width: Fraction, confidence: Fraction) -> bool:
    """Whether every sum, and every running total of a question, is within the width under this very plan."""
    terms = []
    for part in planned.cuts:
        bundles = [released for kept in part.parts for released in kept.bundles]
        terms += [NoiseTerm(r.scale, r.unit, r.noise == GAUSSIAN, _draws(r)) for r in bundles if r.running is None]
        of = {name: source.bundle for name, _, source in part.sources}
        known = [(of[column], reading) for _, column, reading in part.totals if of[column] >= 0]
        if known and (part.parts[0].chosen or not part.parts[0].groups):
            raise QueryError(
                "within is not available for totals over keys that are not declared",
                hint="Use epsilon instead.",
            )
        for bundle, reading in known:
            total = longest_total(part, bundle, reading)
            terms.append(replace(total, draws=total.draws * _draws(part.parts[0].bundles[bundle])))
    return all(width_of(((Fraction(1), term),), confidence) <= width for term in terms)
