"""Verify, prover: the search. Comes in: a program with a claim. Goes out: a proof of every direction, or None.

Shifts are taken in the order of their likelihood, draw by draw; those that break on a case are thrown away; for those
that survive, invariants are guessed and settled. Whatever comes out has been accepted by the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from math import ceil, floor

from sfumato.verify.cases import Dice, Maker, to_floats
from sfumato.verify.effort import PROOF, EffortSpent, is_spent, limited, spend
from sfumato.verify.kernel.check import conditions_of, first_open
from sfumato.verify.kernel.coins import counted_coins
from sfumato.verify.kernel.evaluate import Condition
from sfumato.verify.kernel.inputs import directions
from sfumato.verify.kernel.lastly import MOST, with_ghosts
from sfumato.verify.kernel.late import late
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.redraws import made_again, redrawn
from sfumato.verify.kernel.renyi import STEPS, SYMMETRIC
from sfumato.verify.kernel.returns import OUTPUT, one_return
from sfumato.verify.kernel.turned import TURN, odds
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.prover.counters import counted
from sfumato.verify.prover.fresh import fresh_names, renamed_proof
from sfumato.verify.prover.guess import LoopCandidates
from sfumato.verify.prover.houdini import settled, trimmed
from sfumato.verify.prover.lastly import Extremes, lasts_to_try, moved_last
from sfumato.verify.prover.loops import rank_of
from sfumato.verify.prover.quantity import implies, times
from sfumato.verify.prover.rewrite import ONE, ZERO, minus, scaled
from sfumato.verify.prover.sites import answers_of, second_answers, shifts_to_try
from sfumato.verify.prover.tails import Tail, tails_to_try
from sfumato.verify.prover.trial import Bench, Sight, Trial
from sfumato.verify.run import NotRun, RunFault, Runner, TooLong
from sfumato.verify.tree import (
    Assign,
    Binary,
    Draw,
    Expr,
    FunctionCall,
    Num,
    Program,
    Unary,
    Var,
    While,
    changed,
    conjuncts,
    draws_of,
    names,
    parts,
    statements,
    walk,
)

CASES, COMBINATIONS, SURVIVORS = 160, 6000, 3
"""Cases for a trial; combinations of shifts that are tried; survivors for which invariants are looked for."""
TRIAL = 150
"""Steps that a trial counts for."""
EPS = Var("eps")
Paid = int | Tail | frozenset[int] | None
"""What a proof does beside moving noise: a draw or its tail is paid with delta, or draws are charged by curves."""
COSTLY = ("Laplace", "Exponential", "Geometric", "TruncGeometric", "Steps", "Choice")
"""Laws whose draws may cost something."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of a search: proofs, or where the nearest one stopped."""

    proofs: tuple[Proof, ...] | None
    stuck: Condition | None = None
    spent: bool = False  # whether the search ended before everything was tried


def search(program: Program, hints: tuple[Expr, ...] = ()) -> Attempt:
    """A proof of the claim in every direction. Hints are candidates for invariants, and no more than that. Where
    loops share variables that have nothing to do with each other, these have names of their own.
    """
    fresh, given = fresh_names(program)
    attempt = _search_forms(fresh, hints)
    if fresh == program or attempt.proofs is None:
        return attempt
    return _with_given_names(program, attempt, given) or _search_forms(program, hints)


def _with_given_names(program: Program, attempt: Attempt, given: dict[str, str]) -> Attempt | None:
    """The proofs in the program's own names; candidates that do not hold in them are dropped."""
    proofs = []
    for proof in attempt.proofs or ():
        try:
            own, open_condition = settled(program, renamed_proof(proof, given))
        except (NoProofRule, EffortSpent):
            return None
        if open_condition is not None:
            return None
        proofs.append(own)
    return replace(attempt, proofs=tuple(proofs))


def _search_forms(program: Program, hints: tuple[Expr, ...]) -> Attempt:
    """A proof of the program, or of one of the forms in which loops of coins or of redrawn noise are one draw."""
    counted = counted_coins(program)
    for other in dict.fromkeys((redrawn(program), redrawn(counted), counted)):
        if other != program:
            with limited(PROOF // 2):
                attempt = _in_all_directions(other, hints)
            if attempt.proofs is not None:
                return attempt
    return _in_all_directions(program, hints)


def _in_all_directions(program: Program, hints: tuple[Expr, ...]) -> Attempt:
    single, program = late(program if made_again(program) else one_return(program)), late(program)
    proofs: list[Proof] = []
    for direction in directions(program):
        with limited(PROOF):
            attempt = _search(program, direction, hints)
            sites = _paid_with_delta(program) if attempt.proofs is None else []
            tails = tails_to_try(single, sites)
            ways: list[tuple[Program, Paid]] = [(program, paid) for paid in sites]
            curved = _curved(program)
            ways += [(program, curved)] if curved else []
            ways += [(single, tail) for tail in tails]
            if single != program and attempt.proofs is None:
                ways += [(single, None), *((single, paid) for paid in sites)]
            for way, paid in ways:
                found = _search(way, direction, hints, paid=paid)
                attempt = found if found.proofs is not None else attempt
                if attempt.proofs is not None:
                    break
        if attempt.proofs is None and attempt.stuck is not None and attempt.stuck.kind in ("safe", "unit"):
            with limited(PROOF):
                attempt = _by_cases(program, direction, hints) or attempt
        if attempt.proofs is None:
            return attempt
        proofs += attempt.proofs
    return Attempt(tuple(proofs))


def _by_cases(program: Program, direction: str, hints: tuple[Expr, ...]) -> Attempt | None:
    """A proof where a size or parameter that draws divide by is at least 1, and another where it is not."""
    for divisor in _divisors(program):
        case = Binary(">=", divisor, ONE)
        first = _search(program, direction, hints, case)
        second = _search(program, direction, hints, Unary("!", case)) if first.proofs is not None else first
        if first.proofs is not None and second.proofs is not None:
            return Attempt((*first.proofs, *second.proofs))
    return None


def _divisors(program: Program) -> list[Expr]:
    """Public whole numbers, and sizes that neighbours share, in arguments of draws."""
    whole = {param.name for param in program.params if not param.private and param.type.kind == "int"}
    found: list[Expr] = []
    for part in (node for draw in draws_of(program) for arg in draw.args for node in walk(arg)):
        size = isinstance(part, FunctionCall) and part.name == "size" and program.adjacent not in ("addremove", "any")
        if size or (isinstance(part, Var) and part.name in whole - changed(program.body)):
            found.append(part)
    return list(dict.fromkeys(found))


def _paid_with_delta(program: Program) -> list[int]:
    """Draws that may be paid with the delta of a claim: those that are made once."""
    if len(program.claim) != 2 or program.group > 1 or any(draw.law == "Gauss" for draw in draws_of(program)):
        return []
    loops = [part.body for part in statements(program.body) if isinstance(part, While)]
    inside = {part.number for body in loops for part in statements(body) if isinstance(part, Draw)}
    laws = ("Laplace", "Geometric", "TruncGeometric", "Exponential", "Steps", "Uniform")
    paid = [draw for draw in draws_of(program) if draw.law in laws and draw.number not in inside]
    return [draw.number for draw in paid if draw.law != "Uniform" or len(draw.args) == 2][-2:]


def _curved(program: Program) -> frozenset[int]:
    """Draws that are charged by their curves in a Rényi claim: those whose scale does not change."""
    fixed = ({param.name for param in program.params} | {"eps", "delta"}) - changed(program.body)
    drawn = [draw for draw in draws_of(program) if draw.law in SYMMETRIC and draw.law != "Gauss"]
    found = frozenset(draw.number for draw in drawn if names(draw.args[0]) <= fixed)
    return found if program.renyi else frozenset()


def _farthest(program: Program, bench: Bench, trials: list[Trial]) -> dict[int, Expr]:
    """How far draws with curves were moved at most, in nats: their units."""
    found: dict[int, Expr] = {}
    for draw in draws_of(program):
        if draw.number in bench.curved:
            scale = draw.args[0]
            rate = Binary("/", ONE, scale) if draw.law == "Laplace" else _rate(scale)
            code = bench.runner.code(rate)
            seen = [trial.moves.get(draw.number, 0.0) / code(trial.one) for trial in trials]
            steps = Fraction(ceil(max(seen, default=0.0) * 12 - 1e-9), 12) if draw.law == "Laplace" else Fraction(1)
            found[draw.number] = scaled(rate, steps) if steps not in (0, 1) else rate
    return found


def _rate(ratio: Expr) -> Expr:
    """ln(1/a), in short."""
    exponent = (
        ratio.args[0] if isinstance(ratio, FunctionCall) and ratio.name == "exp" else FunctionCall("ln", (ratio,))
    )
    return Unary("-", exponent)


def _search(
    program: Program, direction: str, hints: tuple[Expr, ...], case: Expr | None = None, paid: Paid = None
) -> Attempt:
    stuck: list[Condition] = []
    try:
        found = _tried(program, direction, hints, stuck, case=case, paid=paid)
    except EffortSpent:
        found = None
    return Attempt(found, stuck[0] if stuck else None, is_spent())


def _tried(
    program: Program,
    direction: str,
    hints: tuple[Expr, ...],
    stuck: list[Condition],
    *,
    case: Expr | None,
    paid: Paid,
) -> tuple[Proof, ...] | None:
    """The first proof; where others stop is noted."""
    steps, single = any(draw.law == "Steps" for draw in draws_of(program)), OUTPUT in changed(program.body)
    again = bool(made_again(program))
    for answers in (0, 1, 2):
        pointwise = answers > 0
        if pointwise and (paid is not None or again or not (answers_of, second_answers)[answers - 1](program)):
            continue
        bench = Bench(program, direction)
        bench.curve, bench.tail = paid if isinstance(paid, int) else None, paid if isinstance(paid, tuple) else None
        bench.curved = paid if isinstance(paid, frozenset) else frozenset()
        trials = _trials(program, bench, case, answers)
        for shifts in islice(_survivors(program, bench, trials, answers), SURVIVORS):
            for own in _units(program, shifts):
                units = own | _farthest(program, bench, trials)
                try:
                    begun = Proof(direction, pointwise, shifts, units, case=case, tail=bench.tail, curved=bench.curved)
                    begun = replace(begun, counted=steps, one_return=single, redrawn=again)
                    guessed = _with_guesses(bench, trials, begun, hints)
                    proof, open_condition = settled(program, guessed)
                    if guessed.gauss is not None and not has_curve(program, proof, open_condition):
                        formula = _formula(program, trials, guessed)
                        proof, open_condition = settled(program, formula) if formula else (proof, open_condition)
                    if open_condition is not None and open_condition.kind == "rank" and not pointwise:
                        proof, open_condition = settled(program, replace(guessed, ranks={}))  # it need not end
                except EffortSpent:
                    raise
                except (NoProofRule, NotRun, RunFault):
                    continue
                if open_condition is None:
                    short = trimmed(program, proof)
                    return (short if first_open(conditions_of(program, short)) is None else proof,)
                stuck.append(open_condition)
            if paid is not None and not bench.curved:
                continue
            begun = Proof(direction, pointwise, shifts, units, case=case, curved=bench.curved)
            found = _round_by_round(program, replace(begun, counted=steps, one_return=single, redrawn=again))
            if found is not None:
                return (found,)
    for last, shifts in lasts_to_try(program, direction) if paid is None and not again else ():
        found = _with_last(program, Proof(direction, True, shifts, case=case, counted=steps, last=last), stuck)
        if found is not None:
            return (found,)
    return None


def _with_last(program: Program, proof: Proof, stuck: list[Condition]) -> Proof | None:
    """A proof in which a draw is made last, after all others of its loop."""
    assert proof.last is not None
    moved = proof.last[3]
    try:
        bench = Bench(with_ghosts(program, *proof.last[:3]), proof.direction)
    except NoProofRule:
        return None
    trials = [
        trial
        for trial in _trials(program, Bench(program, proof.direction), proof.case, 1)
        if moved_last(bench, trial, moved)
    ]
    spend(TRIAL * len(trials))
    kept = [trial for trial in trials if bench.passes(trial, proof.shifts, pointwise=True)]
    if len(kept) < len(trials) * 9 // 10:  # some fail because two noisy values are the same, which has no chance
        return None
    trials = kept
    units = next(_units(program, proof.shifts))
    try:
        guessed = _with_guesses(bench, trials, replace(proof, units=units), ())
        found, open_condition = settled(program, guessed)
        if open_condition is None:
            short = trimmed(program, found)
            return short if first_open(conditions_of(program, short)) is None else found
    except (NoProofRule, NotRun, RunFault):
        return None
    stuck.append(open_condition)
    return None


def _round_by_round(program: Program, proof: Proof) -> Proof | None:
    """The proof without any invariant, where all loops have a known number of rounds."""
    loops = frozenset(loop.number for loop in statements(program.body) if isinstance(loop, While))
    if not loops:
        return None
    proof = replace(proof, unrolled=loops)
    try:
        return proof if first_open(conditions_of(program, proof)) is None else None
    except (NoProofRule, RecursionError):
        return None


def _trials(program: Program, bench: Bench, case: Expr | None, answers: int) -> list[Trial]:
    maker, dice = Maker(program), Dice(7)
    trials = []
    for made in maker.cases(CASES, bench.direction):
        trial = bench.trial(made, dice)
        try:
            if case is not None and not bench.runner.truth(case, trial.one):
                continue
            answer = bench.answer(trial)
        except (RunFault, TooLong, NotRun):
            continue
        shown = [bench.shown(answer, which) for which in range(answers)]
        if None in shown:
            continue
        for name, value in zip(("#answer", "#second"), shown, strict=False):
            trial.ghosts[name] = float(value) if dice.below(4) else float(dice.below(5))
        trials.append(trial)
    return trials


def _survivors(program: Program, bench: Bench, trials: list[Trial], answers: int) -> Iterator[dict[int, Expr]]:
    """Combinations of shifts that no case contradicts; a case that contradicts is asked first the next time."""
    pointwise = answers > 0
    tried = shifts_to_try(program, bench.direction, pointwise=pointwise, site=bench.curve, second=answers > 1)
    order = list(trials)
    if not order:  # no case ends: whatever is returned is returned by nobody
        yield {}
        return
    for combination in islice(_by_likelihood([len(found) for found in tried.values()]), COMBINATIONS):
        shifts = {number: found[place] for (number, found), place in zip(tried.items(), combination, strict=True)}
        for place, trial in enumerate(order):
            spend(TRIAL)
            if not bench.passes(trial, shifts, pointwise=pointwise):
                order.insert(0, order.pop(place))
                break
        else:
            yield shifts


def _by_likelihood(sizes: list[int]) -> Iterator[tuple[int, ...]]:
    """All tuples of places, by their sum: first all first ones, then those with one second, …"""
    for total in range(sum(sizes) - len(sizes) + 1):
        yield from _with_sum(sizes, total)


def _with_sum(sizes: list[int], total: int) -> Iterator[tuple[int, ...]]:
    if not sizes:
        if total == 0:
            yield ()
        return
    for place in range(min(sizes[0] - 1, total) + 1):
        for rest in _with_sum(sizes[1:], total - place):
            yield (place, *rest)


def _units(program: Program, shifts: dict[int, Expr]) -> Iterator[dict[int, Expr]]:
    """In what to count what is spent: in 1/scale, so that it is the shift; or in epsilon, so that sizes cancel. Coins
    that are turned count in the logarithm of their odds.
    """
    fixed = ({param.name for param in program.params} | {"eps", "delta"}) - changed(program.body)
    own: dict[int, Expr] = {}
    for statement in statements(program.body):
        if isinstance(statement, Draw) and program.renyi and statement.law in STEPS:
            rate = _rate(statement.args[0])
            own[statement.number] = Binary("*", rate, rate) if names(rate) <= fixed else ONE
        elif isinstance(statement, Draw) and _by_squares(program, statement):
            scale = statement.args[0]
            own[statement.number] = Binary("/", ONE, Binary("*", scale, scale)) if names(scale) <= fixed else ONE
        elif isinstance(statement, Draw) and statement.law in COSTLY:
            scale = statement.args[0]
            plain = statement.law == "Choice" and not isinstance(scale, Var) and "eps" not in names(scale)
            own[statement.number] = ONE if plain else EPS
            if statement.law in ("Laplace", "Exponential") and names(scale) <= fixed:
                own[statement.number] = Binary("/", ONE, scale)
            elif statement.law in (*STEPS, "Steps") and names(scale) <= fixed:
                own[statement.number] = _rate(scale)
        elif isinstance(statement, Draw) and _is_turn(shifts.get(statement.number)):
            own[statement.number] = _odds(program, statement)
    yield own
    whole = [param.name for param in program.params if not param.private and param.type.kind == "int"]
    divided = {
        statement.number: Binary("/", EPS, Var(name))
        for statement in statements(program.body)
        if isinstance(statement, Draw) and own.get(statement.number) == EPS
        for name in whole
        if name in fixed and any(_divides(part, name) for arg in _arguments(program, statement) for part in walk(arg))
    }
    if divided:
        yield own | divided
    if any(unit != EPS for unit in own.values()):
        yield dict.fromkeys(own, EPS)


def _by_squares(program: Program, draw: Draw) -> bool:
    """Whether noise on the real numbers is charged by the square of its move."""
    if program.renyi:
        return draw.law in ("Gauss", "Laplace")
    return draw.law == "Gauss" and len(program.claim) == 2


def _is_turn(node: Expr | None) -> bool:
    return isinstance(node, FunctionCall) and node.name == TURN


def _odds(program: Program, draw: Draw) -> Expr:
    """The logarithm of a coin's odds, the way it is positive; one nat where that is not known."""
    above, below = odds(draw.args[0])
    try:
        code = Runner(program, exact=False).code
        first, second = (float(code(part)({"eps": 1.0, "delta": 0.5})) for part in (above, below))
    except (RunFault, NotRun, KeyError, TypeError, ValueError, ArithmeticError):
        return ONE
    if min(first, second) <= 0 or first == second:
        return ONE
    ratio = (above, below) if first > second else (below, above)
    return FunctionCall("ln", (Binary("/", *ratio),))


def _arguments(program: Program, draw: Draw) -> list[Expr]:
    """The arguments of a draw, and whatever is assigned to a list of weights."""
    found = list(draw.args)
    for arg in draw.args if draw.law == "Choice" else ():
        assigned = (part for part in statements(program.body) if isinstance(part, Assign))
        found += [part.value for part in assigned if arg == Var(part.name)]
    return found


def _divides(node: Expr, name: str) -> bool:
    return isinstance(node, Binary) and node.op == "/" and name in names(node.right)


def _with_guesses(bench: Bench, trials: list[Trial], proof: Proof, hints: tuple[Expr, ...]) -> Proof:
    """The proof with candidates for every loop."""
    scales = _scales(bench, trials)
    for trial in trials:
        trial.sights.clear()
        bench.passes(trial, proof.shifts, pointwise=proof.pointwise, watch=proof.units)
    invariants, ranks = {}, {}
    for loop in statements(bench.program.body):
        if isinstance(loop, While):
            sights: list[Sight] = [sight for trial in trials for sight in trial.sights.get(loop.number, ())]
            if sights:
                guesses = LoopCandidates(bench, loop, sights, proof.units, scales)
                if proof.last is not None and MOST in changed(loop.body):
                    found = [*Extremes(bench, loop, sights, proof.last).candidates(), *counted(guesses)]
                else:
                    found = guesses.candidates(hints)
                    found += _after_answers(bench, loop, sights, proof, scales)
                invariants[loop.number] = tuple(dict.fromkeys(found))
            rank = rank_of(loop)
            if rank is not None:
                ranks[loop.number] = rank
    gauss = _bounds(bench.program, trials)
    return replace(
        proof, scales=scales, invariants=invariants, ranks=ranks, waits=bench.waits,
        weights=_weights(bench, trials, proof.units),
        gauss=gauss, normal=_numbers(bench, gauss), curve=_curve(bench, trials),
    )  # fmt: skip


def _after_answers(bench: Bench, loop: While, sights: list[Sight], proof: Proof, scales: dict[str, Expr]) -> list[Expr]:
    """Candidates for a loop after the one that decided an answer: they need only hold where it did decide it."""
    given: dict[str, list[Expr]] = {
        "#answer": [*answers_of(bench.program)],
        "#second": [*second_answers(bench.program)],
    }
    made = {
        node.name: ghost
        for ghost, shown in given.items()
        for node in shown
        if isinstance(node, Var) and node.name not in changed(loop.body) and ghost in sights[0].one
        if all(node.name in sight.one for sight in sights)
    }
    found: list[Expr] = []
    for name, ghost in made.items():
        there = [sight for sight in sights if sight.one[name] == sight.one[ghost]]
        if there:
            test = Binary("=", Var(name), Var(ghost))
            candidates = LoopCandidates(bench, loop, there, proof.units, scales).candidates()
            found += [implies(test, node) for node in candidates]
    return found


def _curve(bench: Bench, trials: list[Trial]) -> tuple[int, Expr, Expr] | None:
    """What other draws cost, and how far the draw that is paid with delta was moved, in the words of its scale."""
    draw = next((draw for draw in draws_of(bench.program) if draw.number == bench.curve), None)
    if draw is None:
        return None
    spent = max((trial.pure / trial.one["eps"] for trial in trials), default=0.0)
    pure = scaled(EPS, Fraction(ceil(spent * 48 - 1e-9), 48)) if spent else ZERO
    rate = Unary("-", FunctionCall("ln", (draw.args[0],)))
    if draw.law in ("Geometric", "TruncGeometric"):
        return draw.number, pure, rate
    wide = Binary("+", minus(draw.args[1], draw.args[0]), ONE) if draw.law == "Uniform" else draw.args[0]
    try:
        by = Binary("/", ONE, rate) if draw.law == "Steps" else wide
        moved = max(trial.far * bench.runner.code(by)(trial.one) for trial in trials)
    except (RunFault, NotRun, KeyError):
        return None
    most = Num(Fraction(ceil(moved * 12 - 1e-9), 12))
    return draw.number, pure, times(most, rate) if draw.law == "Steps" else Binary("/", most, wide)


def _weights(bench: Bench, trials: list[Trial], units: dict[int, Expr]) -> dict[str, tuple[Expr, Expr]]:
    """Between which multiples of the unit of their choice the logarithms of weights were seen to move, in twelfths."""
    found: dict[str, tuple[Expr, Expr]] = {}
    for draw in draws_of(bench.program):
        seen = [(trial.ratios[draw.number], trial) for trial in trials if draw.number in trial.ratios]
        if seen:
            arg, unit = draw.args[0], units.get(draw.number, EPS)
            assert isinstance(arg, Var)
            code = bench.runner.code(unit)
            low = floor(min(ends[0] / code(trial.one) for ends, trial in seen) * 12 + 1e-9)
            high = ceil(max(ends[1] / code(trial.one) for ends, trial in seen) * 12 - 1e-9)
            found[arg.name] = scaled(unit, Fraction(low, 12)), scaled(unit, Fraction(high, 12))
    return found


def _bounds(program: Program, trials: list[Trial]) -> tuple[Expr, Expr] | None:
    """What was spent at most, and the squares of Gaussian shifts, a little above what was seen."""
    drawn = {statement.law for statement in statements(program.body) if isinstance(statement, Draw)}
    if "Gauss" not in drawn or len(program.claim) != 2:
        return None
    rate = max((trial.pure / trial.one["eps"] for trial in trials), default=0.0)
    squares = max((trial.squares for trial in trials), default=0.0) * program.group**2
    pure = scaled(EPS, Fraction(ceil(rate * 48 - 1e-9), 48)) if rate else ZERO
    return pure, Num(Fraction(squares) * (1 + Fraction(1, 10**9)))


def has_curve(program: Program, proof: Proof, stuck: Condition | None) -> bool:
    """Whether the curve itself can be asked: epsilon and delta are numbers, or were found to be at least some."""
    if proof.normal is not None:
        return stuck is None
    fixed = {
        part.left.name
        for part in conjuncts(*program.requires)
        if isinstance(part, Binary) and part.op == "=" and isinstance(part.left, Var) and not names(part.right)
    }
    return set().union(*(names(part) for part in program.claim)) <= fixed


def _formula(program: Program, trials: list[Trial], proof: Proof) -> Proof | None:
    """The proof with the squares of Gaussian shifts in words, for draws that are made once."""
    assert proof.gauss is not None
    inside = {
        part.number
        for loop in statements(program.body)
        if isinstance(loop, While)
        for part in statements(loop.body)
        if isinstance(part, Draw)
    }
    draws = [draw for draw in draws_of(program) if draw.law == "Gauss"]
    if any(draw.number in inside for draw in draws):
        return None
    most: Expr = ZERO
    for draw in draws:
        far = max((trial.moves.get(draw.number, 0.0) for trial in trials), default=0.0)
        if far:
            square = Num(Fraction(ceil(far * 12 - 1e-9), 12) ** 2 * program.group**2)
            part = Binary("/", square, Binary("*", draw.args[0], draw.args[0]))
            most = part if most == ZERO else Binary("+", most, part)
    return replace(proof, gauss=(proof.gauss[0], most), normal=None, bell=True)


def _numbers(bench: Bench, gauss: tuple[Expr, Expr] | None) -> tuple[Expr, Expr, Expr] | None:
    """What a Gaussian claim is at the least that is required of epsilon and delta; None where they are numbers."""
    required = conjuncts(*bench.program.requires)
    if gauss is None or any(isinstance(part, Binary) and part.op == "=" and EPS in parts(part) for part in required):
        return None
    least: dict[str, Fraction] = {}
    for part in required:
        match part:
            case Binary(op=">=" | ">", left=Var(name=name), right=Num(value=value)):
                least[name] = value
            case Binary(op="<=" | "<", left=Num(value=value), right=Var(name=name)):
                least[name] = value
    runner = Runner(bench.program, exact=True)
    try:
        said = [Fraction(runner.code(node)(dict(least))) for node in (*bench.program.claim, *gauss)]
    except (RunFault, NotRun, KeyError, TypeError, ValueError, ArithmeticError):
        return None
    return Num(said[0] - said[2]), Num(said[3]), Num(said[1])


def _scales(bench: Bench, trials: list[Trial]) -> dict[str, Expr]:
    """Variables that are multiples of epsilon: whatever is assigned to them doubles when epsilon does."""
    found: dict[str, Expr] = {}
    if not trials:
        return found
    base = {**to_floats(trials[0].one), "eps": 1.0}
    assigned: dict[str, list[Expr]] = {}
    for statement in statements(bench.program.body):
        if isinstance(statement, Assign):
            assigned.setdefault(statement.name, []).append(statement.value)
    for name, values in assigned.items():
        if not any("eps" in names(value) for value in values):
            continue
        try:
            pairs = [
                [float(bench.runner.code(value)({**base, name: 0.0, "eps": eps})) for eps in (1.0, 2.0)]
                for value in values
            ]
        except (RunFault, NotRun, TypeError):
            continue
        if all(twice == 2 * once for once, twice in pairs):
            found[name] = EPS
    return found
