"""Verify, kernel: a claim about Rényi divergence that follows from a pure one. Comes in: a program and a number k. Goes
out: the text that claims k, conditions, certificates, faults.

Guarantee: if the program keeps the claim k and the conditions hold, it keeps its claim about Rényi divergence.
Proof: both laws of outputs are within e^k of each other, from both sides. So the divergence is at most k, at most g(k)
    for an order and at most k tanh(k/2) times the order for all of them (renyi.py, (1c) and (3), for the laws of
    outputs in the place of noise), and at most k^2/2 times the order (4).
Reference: Bun, Steinke, TCC 2016, proposition 3.3; Harrison, Manurangsi, 2025 (randomized response is the worst case).
Checked by: verify::a_pure_claim_proves_renyi_claims, verify::a_forged_pure_claim_is_refused
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import z3

from sfumato.errors import SfumatoError
from sfumato.verify.kernel import certificate
from sfumato.verify.kernel.check import first_open, is_possible
from sfumato.verify.kernel.inputs import directions
from sfumato.verify.kernel.product import Product
from sfumato.verify.kernel.proof import Proof
from sfumato.verify.kernel.renyi import HALF, check_order, named_curve
from sfumato.verify.kernel.uncovered import NoProofRule
from sfumato.verify.lexer import read_tokens
from sfumato.verify.parse import RENYI, read_program, read_proof
from sfumato.verify.show import show
from sfumato.verify.tree import Expr, Num, Program, Return, names

Second = Callable[[str], bool | None] | None
Check = Callable[[dict[str, Any]], list[str]]
KIND = "pure"


def with_pure_claim(source: str, most: Expr) -> str:
    """The text of a program that claims a number in the place of its claim about Rényi divergence."""
    tokens = read_tokens(source)
    program = read_program(source)
    for place, token in enumerate(tokens[:-2]):
        if token.text == "claim" and tokens[place + 1].text in RENYI and tokens[place + 2].text == "(":
            end = next(later for later in tokens[place:] if later.text == ";")
            text = f"{source[: token.at]}claim {show(most)}{source[end.at :]}"
            if replace(read_program(text), claim=(), renyi=program.renyi) == program:
                return text
    raise NoProofRule("the program has no claim about Rényi divergence")


def pure_conditions(program: Program, most: Expr) -> Product:
    """Conditions that a claim about Rényi divergence follows from the claim `most`."""
    public = {"eps", "delta"} | {param.name for param in program.params if not param.private}
    if not program.renyi or not names(most) <= public:
        raise NoProofRule("a pure claim is public")
    still = replace(program, body=(Return(Num(Fraction(0))),), group=1)
    product = Product(still, Proof(directions(still)[0]))
    product.run()
    product.conditions.clear()  # those of a program that returns nothing: only what is known of its inputs is used
    runs, start = product.runs, product.start
    *orders, said = (runs.number(part, start).one for part in program.renyi)
    loss = runs.number(most, start).one
    check_order(product, orders)
    curve = named_curve(product, "Geometric", orders, loss)
    square = loss * loss * (orders[0] * HALF if orders else HALF)
    positive, at = runs.positive(start), program.renyi[0].at
    goal = runs.terms.compare(loss, ">=", positive)
    runs.require("pure", "the pure claim is not negative", at=at, state=start, goal=goal)
    enough = [runs.terms.compare(bound - said, "<=", positive) for bound in (loss, square, curve)]
    runs.require("pure", "the claim follows from the pure one", at=at, state=start, goal=z3.Or(*enough))
    return product


def follows(program: Program, most: Expr) -> bool:
    """Whether a claim about Rényi divergence follows from a pure one."""
    try:
        product = pure_conditions(program, most)
        return is_possible(product) and first_open(product) is None
    except (NoProofRule, z3.Z3Exception):
        return False


# ---- certificates


def write(program: Program, most: Expr, inner: dict[str, Any]) -> dict[str, Any]:
    """The certificate of a claim that follows from a pure one: it holds that of the pure one."""
    return {
        "format": certificate.FORMAT,
        "verdict": "PROVED",
        "scope": "all",
        "kind": KIND,
        "program": program.source,
        "hash": certificate.hash_of(program.source),
        "pure": show(most),
        "conditions": certificate.conditions_document(pure_conditions(program, most)),
        "claim": inner,
    }


def faults_of(document: dict[str, Any], second: Second, check: Check) -> list[str]:
    """Why a certificate is no proof; empty if it is one. `check` looks for the faults of the pure claim's."""
    try:
        if document["format"] != certificate.FORMAT or document["verdict"] != "PROVED" or document["scope"] != "all":
            return ["it is not a certificate of a proof in this format"]
        if certificate.hash_of(document["program"]) != document["hash"]:
            return ["the hash is not that of the program"]
        program, most, inner = read_program(document["program"]), read_proof(document["pure"]), document["claim"]
        if show(most) != document["pure"] or inner["program"] != with_pure_claim(document["program"], most):
            return ["the pure claim is not about this program"]
        if inner["verdict"] != "PROVED" or inner.get("scope", "all") != "all" or "kind" in inner:
            return ["the pure claim is not proved for all inputs"]
        faults = certificate.condition_faults(pure_conditions(program, most), document["conditions"], second)
        return faults + check(inner)
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration) as error:
        return [f"it is not a certificate: {type(error).__name__}"]
    except (NoProofRule, z3.Z3Exception) as error:
        return [f"the proof rule does not cover it: {error}"]
    except SfumatoError as error:
        return [f"it cannot be parsed: {error.message}"]
