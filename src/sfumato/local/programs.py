"""Each encoder as a program for `sfumato verify`, whose claim is the exact logarithm that the stated epsilon rounds up.

A program speaks of any two values, 0 and 1, and of what tells them apart. Reports that are equally likely under both,
or that only say which public hash function or row was picked, are one outcome: that changes no ratio. The comment at
the top of each program says what was brought together.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sfumato.errors import InputError
from sfumato.local.rappor import Rappor

_PAIRS = 2
"""So many hash functions of a filter are listed bit by bit."""


def program_text(encoder: Any, ratio: Fraction | None = None) -> str:
    """The program of this encoder; it claims the logarithm of its own likelihood ratio, or of one that is given."""
    if encoder.name not in _PROGRAMS:
        raise InputError(f"there is no program for {encoder.name}")
    stated = encoder.ratio if ratio is None else ratio
    return _PROGRAMS[encoder.name](encoder, stated)


def _written(about: str, outputs: int, claim: Fraction, body: str) -> str:
    return (
        f"-- {about}\nReport(x : private {{0,1}}) : public {{0..{outputs - 1}}}\n"
        f"adjacent any;\nclaim {_claimed(claim)};\n{body}"
    )


def _claimed(ratio: Fraction) -> str:
    return "0" if ratio == 1 else f"ln({ratio.numerator}/{ratio.denominator})"


def _bernoulli(chance: Fraction) -> str:
    return f"Bernoulli({chance.numerator}/{chance.denominator})"


def _response(about: str, p: Fraction, others: int, claim: Fraction) -> str:
    """The truth with probability p, else one of so many others: the other value, or any of the rest."""
    if others == 1:
        body = f"  b :=$ {_bernoulli(p)};\n  if (b = 1) {{ return x }} else {{ return 1 - x }}\n"
        return _written(about, 2, claim, body)
    body = (
        f"  b :=$ {_bernoulli(p)};\n  c :=$ {_bernoulli(Fraction(1, others))};\n"
        "  if (b = 1) { return x } else { if (c = 1) { return 1 - x } else { return 2 } }\n"
    )
    return _written(about, 3, claim, body)


def _two_bits(about: str, p: Fraction, q: Fraction, claim: Fraction) -> str:
    """The bits of the two values: the own one is set with probability p, the other with q."""
    body = (
        f"  a :=$ {_bernoulli(p)};\n  b :=$ {_bernoulli(q)};\n"
        "  if (x = 0) { return 2 * a + b } else { return 2 * b + a }\n"
    )
    return _written(about, 4, claim, body)


def _k_ary(encoder: Any, claim: Fraction) -> str:
    return _response("Reports of all other values are one outcome.", encoder.p, encoder.size - 1, claim)


def _unary(encoder: Any, claim: Fraction) -> str:
    return _two_bits("All other bits have the same law under both values.", encoder.p, encoder.q, claim)


def _hadamard(encoder: Any, claim: Fraction) -> str:
    about = "The row is public and picked at random; in this one the signs of the two values differ."
    return _response(about, encoder.p, 1, claim)


def _hashing(encoder: Any, claim: Fraction) -> str:
    about = "The hash function is public and picked at random; under this one the two values have two buckets."
    return _response(about, encoder.p, encoder.buckets - 1, claim)


def _subset(encoder: Any, claim: Fraction) -> str:
    kept, rest = encoder.chosen, encoder.size - 1
    body = (
        f"  a :=$ {_bernoulli(encoder.p)};\n"
        f"  if (a = 1) {{ b :=$ {_bernoulli(Fraction(kept - 1, rest))} }}"
        f" else {{ b :=$ {_bernoulli(Fraction(kept, rest))} }}\n"
        "  if (x = 0) { return 2 * a + b } else { return 2 * b + a }\n"
    )
    return _written("Which of the two values the set holds; sets that agree in this are one outcome.", 4, claim, body)


def _flipped(encoder: Any, claim: Fraction) -> str:
    if getattr(encoder, "sampled", 2) == 1:
        return _response("The bucket is public and picked at random; this one is of one value.", encoder.p, 1, claim)
    about = "What is public and picked at random gives the two values two different bits."
    return _two_bits(about, encoder.p, 1 - encoder.p, claim)


def _rappor(encoder: Rappor, claim: Fraction) -> str:
    """All bits that differ, each flipped permanently and then again; or one pair of them where there are many."""
    pairs = encoder.hashes if encoder.hashes <= _PAIRS else 1
    stated = claim if pairs == encoder.hashes else encoder.pair_ratio * claim / encoder.ratio
    unit = 1 << encoder.bits
    one, zero = _bernoulli(Fraction(encoder.one, unit)), _bernoulli(Fraction(encoder.zero, unit))
    lines = []
    for i in range(2 * pairs):
        bit = "x" if i < pairs else "(1 - x)"
        lines += [
            f"  w{i} :=$ {_bernoulli(encoder.f_half)};",
            f"  if (w{i} = 1) {{ k{i} := 1 - {bit} }} else {{ k{i} := {bit} }}",
            f"  if (k{i} = 1) {{ s{i} :=$ {one} }} else {{ s{i} :=$ {zero} }}",
        ]
    total = " + ".join(f"{1 << i} * s{i}" for i in range(2 * pairs))
    about = "Bits of the filter that are set for one text only; the others have the same law under both."
    if pairs < encoder.hashes:
        about = f"One of {encoder.hashes} independent pairs of bits, with its part of the claim."
    return _written(about, 1 << (2 * pairs), stated, "\n".join([*lines, f"  return {total}\n"]))


def _duchi(encoder: Any, claim: Fraction) -> str:
    return _response("The ends of the range; a number between them is rounded to one at random.", encoder.p, 1, claim)


def _piecewise_body(encoder: Any, indent: str = "  ") -> str:
    apart = min(encoder.window, encoder.grid)
    near, far = Fraction(apart, encoder.window), Fraction(apart, encoder.grid)
    return (
        f"{indent}b :=$ {_bernoulli(encoder.p)};\n{indent}c :=$ {_bernoulli(near)};\n{indent}d :=$ {_bernoulli(far)};\n"
        f"{indent}if (b = 1) {{ if (c = 1) {{ return x }} else {{ return 2 }} }}"
        f" else {{ if (d = 1) {{ return 1 - x }} else {{ return 3 }} }}\n"
    )


def _piecewise(encoder: Any, claim: Fraction) -> str:
    about = "The ends of the range: cells of one window, of the other, of both, of neither."
    return _written(about, 4, claim, _piecewise_body(encoder))


def _hybrid(encoder: Any, claim: Fraction) -> str:
    piece, bit = encoder.pair
    body = (
        f"  h :=$ {_bernoulli(Fraction(encoder.choice, 1 << encoder.bits))};\n  if (h = 1) {{\n"
        f"{_piecewise_body(piece, '    ')}  }} else {{\n    e :=$ {_bernoulli(bit.p)};\n"
        "    if (e = 1) { return 4 + x } else { return 5 - x }\n  }\n"
    )
    return _written("The ends of the range, by either mechanism.", 6, claim, body)


_PROGRAMS: dict[str, Callable[[Any, Fraction], str]] = {
    "warner": _k_ary,
    "k-ary": _k_ary,
    "symmetric-unary": _unary,
    "optimised-unary": _unary,
    "hadamard": _hadamard,
    "local-hashing": _hashing,
    "subset": _subset,
    "dbitflip": _flipped,
    "rappor": _rappor,
    "count-mean-sketch": _flipped,
    "prefix": _hashing,
    "duchi": _duchi,
    "piecewise": _piecewise,
    "hybrid": _hybrid,
}
