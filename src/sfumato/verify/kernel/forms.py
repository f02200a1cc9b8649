"""Verify, kernel: bit lists of any length as normal forms. Comes in: `xor and or + -` of unknown bit lists. Goes out:
forms; equal forms are equal lists, whatever the length.

Two shapes, one inside of the other: a form is an exclusive or of products of atoms (bit by bit, so what holds for one
bit holds for each), and an atom may be a sum of forms with whole factors (modulo 2^n; what vanishes over the integers
vanishes modulo everything). A single bit is a bit list of length 1, where the form of `1` is the empty product.

Guarantee: two expressions with the same form have the same value for every length and all values of their atoms.
Proof: each function below rewrites by laws of the ring of truths bit by bit (x xor x = 0, x and x = x, or = x xor y
    xor xy, products distribute) or of the group of integers modulo 2^n (sums commute, factors add up); the first ring
    has 2^(2^atoms) elements and its exclusive ors of products are all different, so nothing more is to be had.
Reference: Zhegalkin polynomials, 1927.
Checked by: verify::equal_forms_are_equal_lists_of_every_length
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from sfumato.verify.kernel.uncovered import NoProofRule

Atom = tuple[str, object]
"""("name", anything) for an unknown; ("sum", frozenset of (Form, factor)) for a sum."""
Form = frozenset[frozenset[Atom]]

ZERO: Form = frozenset()
ONE: Form = frozenset({frozenset()})
MOST = 200
"""More products than this are not written out."""


class TooWide(NoProofRule):
    """A form with too many products."""


def unknown(name: object) -> Form:
    """An unknown bit list."""
    return frozenset({frozenset({("name", name)})})


def xor(left: Form, right: Form) -> Form:
    """Bit by bit: one of both."""
    return left ^ right


def both(left: Form, right: Form) -> Form:
    """Bit by bit: both."""
    if len(left) * len(right) > MOST:
        raise TooWide
    found: Form = ZERO
    for one in left:
        for two in right:
            found ^= frozenset({one | two})
    return found


def either(left: Form, right: Form) -> Form:
    """Bit by bit: at least one."""
    return xor(xor(left, right), both(left, right))


BITWISE: dict[str, Callable[[Form, Form], Form]] = {"xor": xor, "and": both, "or": either}


def terms_of(form: Form) -> dict[Form, int]:
    """A form as a sum of forms with factors."""
    if form == ZERO:
        return {}
    if len(form) == 1:
        (product,) = form
        if len(product) == 1:
            (atom,) = product
            if atom[0] == "sum":
                return dict(atom[1])  # type: ignore[call-overload,no-any-return]
    return {form: 1}


def total(terms: dict[Form, int]) -> Form:
    """The form of a sum."""
    kept = {form: factor for form, factor in terms.items() if factor}
    if not kept:
        return ZERO
    if len(kept) == 1:
        ((form, factor),) = kept.items()
        if factor == 1:
            return form
    return frozenset({frozenset({("sum", frozenset(kept.items()))})})


def plus(left: Form, right: Form, sign: int = 1) -> Form:
    """left + sign * right, modulo 2^n."""
    terms = terms_of(left)
    for form, factor in terms_of(right).items():
        terms[form] = terms.get(form, 0) + sign * factor
    return total(terms)


def atoms(form: Form) -> Iterator[object]:
    """The names of all unknowns inside."""
    for product in form:
        for kind, inside in product:
            if kind == "name":
                yield inside
            else:
                for part, _ in inside:  # type: ignore[attr-defined]
                    yield from atoms(part)


def isolate(form: Form, name: object, value: Form) -> Form | None:
    """What the unknown `name` must be so that `form` has this value; None unless that is a unique term.

    The unknown stands in one product of its own, or in one term of a sum with factor 1 or -1: then it is taken out step
    by step.
    """
    mine = [product for product in form if name in atoms(frozenset({product}))]
    if len(mine) != 1 or len(mine[0]) != 1:
        return None
    ((kind, inside),) = mine[0]
    rest = xor(value, form ^ frozenset(mine))
    if kind == "name":
        return rest
    terms: dict[Form, int] = dict(inside)  # type: ignore[call-overload]
    holding = [part for part in terms if name in atoms(part)]
    if len(holding) != 1 or abs(terms[holding[0]]) != 1:
        return None
    factor = terms.pop(holding[0])
    outside = plus(rest, total(terms), -1)
    return isolate(holding[0], name, outside if factor == 1 else plus(ZERO, outside, -1))


def replaced(form: Form, name: object, value: Form) -> Form:
    """A form with an unknown replaced."""
    found: Form = ZERO
    for product in form:
        part: Form = ONE
        for atom in product:
            kind, inside = atom
            if kind == "name":
                part = both(part, value if inside == name else frozenset({frozenset({atom})}))
            else:
                made: Form = ZERO
                for inner, factor in inside:  # type: ignore[attr-defined]
                    changed = replaced(inner, name, value)
                    made = plus(made, total({part: factor * f for part, f in terms_of(changed).items()}))
                part = both(part, made)
        found = xor(found, part)
    return found


def say(form: Form, word: Callable[[object], str] = str) -> str:
    """A form as text; the same form is the same text."""
    if form == ZERO:
        return "0"
    return " xor ".join(sorted(_say_product(product, word) for product in form))


def _say_product(product: Iterable[Atom], word: Callable[[object], str]) -> str:
    said = sorted(word(inside) if kind == "name" else f"({_say_sum(inside, word)})" for kind, inside in product)
    return f"({' and '.join(said)})" if len(said) > 1 else said[0] if said else "1"


def _say_sum(terms: object, word: Callable[[object], str]) -> str:
    said = sorted(
        (factor < 0, f"{'' if abs(factor) == 1 else f'{abs(factor)} * '}{say(form, word)}")
        for form, factor in terms  # type: ignore[attr-defined]
    )
    text = "".join(f" {'-' if minus else '+'} {part}" for minus, part in said)
    return text.removeprefix(" + ").strip()
