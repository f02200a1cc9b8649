"""Verify, kernel: elements that are taken by a coin. Comes in: a program whose loop takes each element with chance p,
and proofs about the program that takes all of them. Goes out: conditions, certificates, faults.

Guarantee: if the program that takes all elements keeps a claim (k0, d0) for lists that differ by an element more (and,
    for the adjacency `one`, also for lists of which one element differs), then the program that takes each element
    with chance p keeps (ln(1 + p (e^k0 - 1)), p d0).
Proof: let R be the program that takes all elements. The loop reads the list only as d[i], in round i, after its coin
    has shown 1; a round whose coin shows 0 does nothing but count; nothing else reads the list, the counter or the
    coin. So the program's law on d is the mean of R(d_S) over sublists d_S, each element being taken with chance p.
    Fix the coins of all elements but the one that differs, and let A be what they take. Then the law is P = (1 - p) P0
    + p P1, and for the neighbour Q = (1 - p) P0 + p Q1, with P0 = R(A), P1 = R(A with the element) and Q1 = R(A with
    the neighbour's); an element that is not there leaves P0. By assumption P1 <= e^k0 Q1 + d0 and P1 <= e^k0 P0 + d0
    for every event (also if P1 or Q1 is P0). Let x = (P1 - d0)/e^k0. If x < 0, then P - Q = p (P1 - Q1) <= p d0.
    Otherwise Q1 >= x and P0 >= x, so that Q >= x, and P - Q = p (P1 - Q1) <= p (e^k0 x + d0 - x) <= p (e^k0 - 1) Q +
    p d0. The mean over the other coins keeps this.
Reference: Li, Qardaji, Su, AsiaCCS 2012; Balle, Barthe, Gaboardi, NeurIPS 2018 (privacy amplification by subsampling).
Checked by: verify::sampling_is_proved_down_to_its_loss, verify::what_reads_more_than_its_sample_is_not_sampled
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sfumato.errors import SfumatoError
from sfumato.verify.kernel import certificate
from sfumato.verify.kernel.check import conditions_of, covers, first_open, is_possible
from sfumato.verify.kernel.inputs import directions
from sfumato.verify.kernel.polynomial import number
from sfumato.verify.kernel.product import Product
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.kernel.values import PairedNumber
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.show import show
from sfumato.verify.tree import (
    Assign,
    Binary,
    Draw,
    Expr,
    FunctionCall,
    If,
    Index,
    Num,
    Program,
    Return,
    Stmt,
    Var,
    While,
    changed,
    expressions,
    names,
    parts,
    statements,
)

ZERO, ONE = Num(Fraction(0)), Num(Fraction(1))
Claim = tuple[Expr, ...]
Second = Callable[[str], bool | None] | None


def taken_by_coin(program: Program) -> tuple[Draw, Program]:
    """The coin, and the program that takes all elements; raises NoProofRule where the rule says nothing."""
    private = [param for param in program.params if param.private]
    if len(private) != 1 or private[0].type.kind != "list" or program.uses or program.group > 1:
        raise NoProofRule("sampling is about one private list")
    data = private[0].name
    if program.adjacent not in ("one", "addremove") or data in changed(program.body):
        raise NoProofRule("sampling is about lists that differ in one element")
    if any(data in names(node) for node in (*program.requires, *program.claim)):
        raise NoProofRule("a sample is required to be nothing")
    for place, loop in enumerate(program.body):
        match loop:
            case While(
                test=Binary(op="<", left=Var(name=i), right=FunctionCall(name="size", args=(Var(name=of),))),
                body=(Draw(law="Bernoulli") as coin, If(test=test, then=then, other=()), Assign() as count),
            ) if of == data and coin.name != i:
                if test != Binary("=", Var(coin.name), ONE) or count != Assign(i, Binary("+", Var(i), ONE)):
                    continue
                begun = next((part for part in reversed(program.body[:place]) if i in changed((part,))), None)
                others = (*program.body[:place], *program.body[place + 1 :])
                if begun == Assign(i, ZERO) and _is_alone(program, (data, i, coin), then, others):
                    every = replace(loop, body=(*then, count))
                    return coin, replace(program, body=(*program.body[:place], every, *program.body[place + 1 :]))
    raise NoProofRule("no loop takes elements by a coin")


def _is_alone(program: Program, named: tuple[str, str, Draw], then: tuple[Stmt, ...], others: tuple[Stmt, ...]) -> bool:
    """Whether the list, the counter and the coin are read where they may be, and nowhere else."""
    data, i, coin = named
    public = {"eps", "delta"} | {param.name for param in program.params if not param.private}
    read = {name for part in statements(others) for node in expressions(part) for name in names(node)}
    inside = [node for part in statements(then) for node in expressions(part)]
    return (
        names(coin.args[0]) <= public - changed(program.body)
        and not read & {data, i, coin.name}
        and not changed(then) & {i, coin.name}
        and not any(isinstance(part, Return) for part in statements(then))
        and all(_reads_element(node, data, i) and coin.name not in names(node) for node in inside)
    )


def _reads_element(node: Expr, data: str, i: str) -> bool:
    """Whether the list and the counter are read only as d[i]."""
    if node == Index(Var(data), Var(i)):
        return True
    if isinstance(node, Var):
        return node.name not in (data, i)
    return all(_reads_element(part, data, i) for part in parts(node))


def inner_programs(program: Program, claim: Claim) -> tuple[Program, ...]:
    """The programs whose claims are proved instead."""
    _, every = taken_by_coin(program)
    public = {"eps", "delta"} | {param.name for param in program.params if not param.private}
    if len(claim) != len(program.claim) or any(not names(part) <= public for part in claim):
        raise NoProofRule("the claim about all elements is public")
    words = ("addremove",) if program.adjacent == "addremove" else ("one", "addremove")
    return tuple(replace(every, claim=claim, adjacent=word) for word in words)


def sampling_conditions(program: Program, claim: Claim) -> Product:
    """Conditions that a claim follows from that about all elements."""
    coin, _ = taken_by_coin(program)
    still = replace(program, body=(Return(ZERO),))
    product = conditions_of(still, Proof(directions(still)[0]))
    runs, start = product.runs, product.start
    chance, most, *inner = (runs.number(node, start).one for node in (coin.args[0], claim[0], *claim[1:]))
    said = [runs.number(node, start).one for node in program.claim]
    loss = runs.functions.ln(number(1) + chance * (runs.functions.exp(most) - number(1)), runs.positive(start))
    asked = [
        (chance, "a probability is not negative"),
        (number(1) - chance, "a probability is at most 1"),
        (most, "the claim about all elements is not negative"),
        (said[0] - loss, "the claim is at least that of a sample"),
        *((said[1] - chance * part, "delta is at least that of a sample") for part in inner),
    ]
    for value, label in asked:
        goal = runs.compare(PairedNumber(value, value, False), ">=", start)[0]
        runs.require("sampling", label, at=coin.at, state=start, goal=goal)
    return product


def is_sampled(program: Program, claim: Claim, proofs: tuple[Proof, ...]) -> bool:
    """Whether proofs about the program that takes all elements prove the claim."""
    try:
        product = sampling_conditions(program, claim)
        if not is_possible(product) or first_open(product) is not None:
            return False
        return all(_is_shown(inner, _own(inner, proofs)) for inner in inner_programs(program, claim))
    except NoProofRule:
        return False


def _own(inner: Program, proofs: tuple[Proof, ...]) -> tuple[Proof, ...]:
    return tuple(proof for proof in proofs if proof.direction in directions(inner))


def _is_shown(inner: Program, proofs: tuple[Proof, ...]) -> bool:
    if not covers(inner, proofs) or any(proof.gauss is not None for proof in proofs):
        return False
    products = [conditions_of(inner, proof) for proof in proofs]
    return all(is_possible(product) and first_open(product) is None for product in products)


# ---- certificates


def write(program: Program, claim: Claim, proofs: tuple[Proof, ...]) -> dict[str, Any]:
    """The certificate of proofs that were accepted."""
    said = [
        certificate.proof_document(inner, proof)
        for inner in inner_programs(program, claim)
        for proof in _own(inner, proofs)
    ]
    return {
        "format": certificate.FORMAT,
        "verdict": "PROVED",
        "scope": "all",
        "program": program.source,
        "hash": certificate.hash_of(program.source),
        "sampled": {
            "claim": [show(part) for part in claim],
            "conditions": certificate.conditions_document(sampling_conditions(program, claim)),
        },
        "proofs": said,
    }


def faults_of(document: dict[str, Any], second: Second = None) -> list[str]:
    """Why a certificate is no proof; empty if it is one. `second` asks another solver."""
    try:
        if document["format"] != certificate.FORMAT or document["verdict"] != "PROVED" or document["scope"] != "all":
            return ["it is not a certificate of a proof in this format"]
        if certificate.hash_of(document["program"]) != document["hash"]:
            return ["the hash is not that of the program"]
        program, said = read_program(document["program"]), document["sampled"]
        claim = tuple(read_proof(text) for text in said["claim"])
        if said.keys() != {"claim", "conditions"} or not program.claim:
            return ["a sample has entries that no check reads"]
        made = sampling_conditions(program, claim)
        faults = certificate.condition_faults(made, said["conditions"], second)
        left = list(document["proofs"])
        for inner in inner_programs(program, claim):
            own = [proof for proof in left if proof["direction"] in directions(inner)]
            left = [proof for proof in left if proof not in own]
            faults += certificate.proof_faults(inner, own, second)
        return [*faults, "there are proofs of something else"] if left else faults
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return [f"it is not a certificate: {type(error).__name__}"]
    except NoProofRule as error:
        return [f"the proof rule does not cover it: {error}"]
    except SfumatoError as error:
        return [f"it cannot be parsed: {error.message}"]
