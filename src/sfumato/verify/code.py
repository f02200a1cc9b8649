"""Verify: one program object for everything. Comes in: a text or a Python function. Goes out: a program to verify,
run, show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, overload

from sfumato.errors import InputError
from sfumato.verify.parse import read_program, read_proof
from sfumato.verify.tree import Expr, Program

if TYPE_CHECKING:
    from sfumato.audit import AuditVerdict as Found
    from sfumato.verify.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Code:
    """A program with its claim; `invariants` are suggestions to the prover, which checks each of them."""

    tree: Program
    invariants: tuple[Expr, ...] = ()

    @property
    def source(self) -> str:
        """The text of the program."""
        return self.tree.source

    def verify(self) -> Verdict:
        """PROVED, REFUTED or UNKNOWN, with a certificate, a witness, or the best interval found."""
        require_solvers()
        from sfumato.verify.undecided import settle
        from sfumato.verify.verdict import verify

        return settle(self.tree, verify(self.tree, self.invariants), self.invariants)

    def simulate(self, count: int, **inputs: Any) -> list[Any]:
        """`count` outputs on one input, drawn with floating-point noise: for inspection, never for release."""
        from sfumato.verify.simulate import simulate

        return simulate(self.tree, count, inputs)

    def audit(self, epsilon: Fraction | float | str, samples: int = 20_000) -> Found:
        """Run it at this epsilon on adjacent inputs, and look for an event that its claim does not allow."""
        require_solvers()
        from sfumato.verify.audited import audited

        return audited(self.tree, Fraction(epsilon), samples)

    def show(self) -> str:
        """The program as the language writes it."""
        from sfumato.verify.show import show_body

        return "\n".join([self.source.partition("\n")[0], *show_body(self.tree.body)])


def require_solvers() -> None:
    """Say which line installs what is missing."""
    missing = [name for name, module in (("z3-solver", "z3"), ("python-flint", "flint")) if find_spec(module) is None]
    if missing:
        hint = "pip install 'sfumato[verify]'"
        raise InputError(f"verification needs {' and '.join(missing)}", hint=hint, sqlstate="58P01")


@overload
def program(source: str, *, invariants: Sequence[str] = ()) -> Code: ...


@overload
def program(
    *, adjacent: str, claim: str, requires: str = "", uses: str = "", invariants: Sequence[str] = ()
) -> Callable[[Callable[..., Any]], Code]: ...


@overload
def program(*, property: str, requires: str = "") -> Callable[[Callable[..., Any]], Code]: ...


def program(
    source: str | None = None, *, invariants: Sequence[str] = (), **header: str
) -> Code | Callable[[Callable[..., Any]], Code]:
    """A program from a text of the language; or, with directives as keywords, a decorator for a Python function.

    `invariants` are tests that hold at the start of each iteration of a loop; `#shift(x)` is how far x moves from one
    run to the other. The prover tries them, and the kernel checks whatever it uses.

    >>> program("Id(x : private real) : public real adjacent one; claim eps; return x").tree.name
    'Id'
    """
    offered = tuple(read_proof(text) for text in invariants)
    if source is not None:
        return Code(read_program(source), offered)
    directives = {word: text for word, text in header.items() if text}
    unknown = set(directives) - {"adjacent", "claim", "requires", "uses", "property"}
    if unknown:
        raise InputError(f"expected adjacent, claim, requires, uses or property, found {min(unknown)!r}")
    from sfumato.verify.pythonic import read_function

    return lambda function: Code(read_function(function, directives), offered)
