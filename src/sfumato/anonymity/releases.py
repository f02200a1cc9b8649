"""`anonymize`: from a table and what is wanted to a release, its loss and its proof of optimality.

Comes in: a Request. Goes out: a Release, and the rows in a file if one is named. Bad input is one error, and nothing is
written.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np

from sfumato.anonymity.classes import Classes, Tuples
from sfumato.anonymity.compress import Compressed, compress
from sfumato.anonymity.dummies import fill
from sfumato.anonymity.hierarchies import Hierarchy
from sfumato.anonymity.hierarchy_files import read_hierarchies
from sfumato.anonymity.lattice import PATIENCE, LatticeSearch, NoRelease, search
from sfumato.anonymity.metrics import Measures, measure
from sfumato.anonymity.models import (
    Closeness,
    DistinctDiversity,
    EntropyDiversity,
    KAnonymity,
    Likeness,
    Model,
    Presence,
    RecursiveDiversity,
    closeness,
)
from sfumato.anonymity.mondrian import cut_classes
from sfumato.anonymity.recoding import Recoding, at_node
from sfumato.anonymity.source import open_source
from sfumato.anonymity.writing import Dummies, write
from sfumato.errors import InputError
from sfumato.interrupts import uninterrupted
from sfumato.types import as_written, show, whole

Progress = Callable[[int, float, float], None]
"""Told now and then: nodes checked, the best loss, and the lower bound."""
METHODS = ("lattice", "mondrian")
DIVERSITIES = ("distinct", "entropy", "recursive")
_MOST_PEOPLE = 10**11
"""Beyond, logarithms of factorials have too few digits for an estimate."""
DISTANCES = ("equal", "ordered", "hierarchical")


@dataclass(frozen=True)
class AnonymizeRequest:
    """The parameters of a release. `suppress` and `dummies` are fractions of the rows; `order` lists sensitive values,
    from low to high.

    `hierarchies` is a folder, a TOML file, or Hierarchy objects by column. `sampling` is the fraction of the population
    in the table: with it, uniqueness in the population is estimated.
    """

    data: str
    quasi: tuple[str, ...]
    sensitive: str | None = None
    k: object = None
    l: object = None  # noqa: E741  the letter of the literature
    diversity: str = "distinct"
    c: object = 3
    t: object = None
    distance: str = "equal"
    order: tuple[str, ...] = ()
    beta: object = None
    presence: tuple[object, object] | None = None
    population: str | None = None
    suppress: object = 0
    hierarchies: Path | Mapping[str, Hierarchy] | None = None
    keep: tuple[str, ...] = ()
    method: str = "lattice"
    seconds: float | None = None
    dummies: object = 0
    sampling: object = None


@dataclass(frozen=True)
class AnonymizedRelease:
    """A release: what it keeps and loses, which parameters it reaches, and how far it can be from the optimum."""

    rows: int
    released: int
    suppressed: int
    dummies: int
    k: int
    l: int | None  # noqa: E741  the letter of the literature
    t: float | None
    loss: Fraction
    bound: float | None
    optimal: bool
    levels: dict[str, int]
    measures: Measures
    checks: int
    nodes: int
    interrupted: bool
    satisfies: tuple[str, ...] = ()

    @property
    def gap(self) -> float | None:
        """The most that another global recoding could save in loss; None for local recoding."""
        return None if self.bound is None else max(0.0, float(self.loss) - self.bound)

    def to_dict(self) -> dict[str, object]:
        """The release as one document."""
        return {
            "rows": self.rows,
            "released": self.released,
            "suppressed": self.suppressed,
            "dummies": self.dummies,
            "k": self.k,
            "l": self.l,
            "t": self.t,
            "satisfies": list(self.satisfies),
            "loss": float(self.loss),
            "bound": self.bound,
            "gap": self.gap,
            "optimal": self.optimal,
            "levels": self.levels,
            "nodes": self.nodes,
            "checked": self.checks,
            "measures": self.measures.to_dict(),
        }


@dataclass(frozen=True)
class PreparedRequest:
    """A request whose table is compressed: releases for several parameters can be made from it."""

    request: AnonymizeRequest
    compressed: Compressed
    hierarchies: dict[str, Hierarchy]
    models: tuple[Model, ...]
    sign: str

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return self.compressed.tuples.rows


def anonymize(
    request: AnonymizeRequest,
    out: str | None = None,
    progress: Progress | None = None,
    announce: Callable[[AnonymizedRelease, str], AbstractContextManager[None]] | None = None,
) -> AnonymizedRelease:
    """Make a release, and write it if a target is named.

    The release appears within the context of `announce`, which gets it and the address of a table with its rows: there
    is no release without what is recorded of it. Ctrl-C ends the search with the best release so far; while that is
    written it is not heard.
    """
    if out is not None:
        check_target(request.data, out)
    prepared = prepare(request)
    release, recoding, dummies = make(prepared, progress)
    if out is not None:
        with uninterrupted():
            announced = None if announce is None else partial(announce, release)
            write(prepared.compressed, recoding, out, sign=prepared.sign, dummies=dummies, announce=announced)
    return release


def check_target(data: str, out: str) -> None:
    """Refuse to write over the table that is read, or into a folder that is not there."""
    place = out.partition("#")[0]
    if out.startswith(("postgresql://", "postgres://")):
        return
    if Path(place).resolve() == Path(data.partition("#")[0]).resolve() and (out == data or "#" not in out):
        raise InputError("the release would replace the table itself", hint="Give another name after -o.")
    folder = Path(place).resolve().parent
    if not folder.is_dir():
        raise InputError(f'there is no folder "{Path(place).parent}"', sqlstate="58P01")
    if Path(place).is_dir():
        raise InputError(f'"{place}" is a folder', hint="Give the name of a file after -o.", sqlstate="58P01")
    if not os.access(folder, os.W_OK):
        raise InputError(f'the folder "{folder}" cannot be written', sqlstate="58P01")
    if not place.lower().endswith((".duckdb", ".db")):
        from sfumato.anonymity.writing import form_of

        form_of(Path(place), ",")


def prepare(request: AnonymizeRequest) -> PreparedRequest:
    """Check the request, read the table and compress it."""
    _check(request)
    hierarchies = read_hierarchies(request.hierarchies, request.quasi)
    with contextlib.ExitStack() as stack:
        source = stack.enter_context(open_source(request.data))
        world = None if request.population is None else stack.enter_context(open_source(request.population))
        compressed = compress(
            source,
            request.quasi,
            request.sensitive,
            request.keep,
            hierarchies,
            order=request.order if request.distance == "ordered" else (),
            diverse=request.sensitive is not None,
            population=world,
        )
        sign = source.sign
    models = models_of(request, compressed.tuples)
    rows = compressed.tuples.rows
    if request.k is not None and whole(request.k, "k", 1) > rows:
        raise InputError(f"k is larger than the table: {request.k} of {rows} rows", hint="Ask for a smaller k.")
    if request.sampling is not None and rows > _MOST_PEOPLE * as_written(request.sampling, "sampling"):
        raise InputError(
            f"sampling means a population of more than {_MOST_PEOPLE:,} people",
            hint="It is the fraction of the population in the table, such as 0.01.",
        )
    return PreparedRequest(request, compressed, hierarchies, models, sign)


def _check(request: AnonymizeRequest) -> None:
    _check_names(request)
    for what, word, allowed in (
        ("method", request.method, METHODS),
        ("diversity", request.diversity, DIVERSITIES),
        ("distance", request.distance, DISTANCES),
    ):
        if word not in allowed:
            raise InputError(f'unknown {what} "{word}"', hint=f"Use {', '.join(allowed)}.")
    for name in ("suppress", "dummies"):
        part = as_written(getattr(request, name), name)
        if not 0 <= part <= 1:
            raise InputError(f"{name} must be a fraction of the rows between 0 and 1, but is {show(part)}")
    if as_written(request.dummies, "dummies"):
        _check_dummies(request)
    if request.seconds is not None and not 0 <= request.seconds < math.inf:
        raise InputError(f"seconds must be a number of at least 0, but is {request.seconds}")
    if request.sampling is not None and not 0 < as_written(request.sampling, "sampling") <= 1:
        raise InputError("sampling must be the fraction of the population in the table, above 0 and at most 1")
    _check_models(request)


def _check_dummies(request: AnonymizeRequest) -> None:
    """Refuse dummies that would tell of somebody, and those that would fill nothing."""
    if request.keep:
        raise InputError(
            "dummies cannot have kept columns", hint="A row that stands for nobody would repeat somebody's values."
        )
    if request.method == "mondrian":
        raise InputError(
            "dummies have no effect on local recoding: its classes are large enough, or there is none",
            hint="Use --method lattice, or leave --dummies out.",
        )
    if not as_written(request.suppress, "suppress"):
        raise InputError(
            "dummies without suppression have no effect: they fill classes that would be suppressed",
            hint="Say with --suppress which part of the rows may be suppressed.",
        )
    if request.t is not None or request.beta is not None:
        raise InputError(
            "dummies cannot be combined with t or beta",
            detail="Whether a class with dummies is near the table would depend on whom it hides.",
            hint="Leave out the dummies, or ask for k and l.",
        )


def _check_names(request: AnonymizeRequest) -> None:
    if not request.quasi:
        raise InputError("no quasi-identifiers", hint="Name them with --quasi A,B.")
    if request.sensitive == "":
        raise InputError("the sensitive column has no name", hint="Name it with --sensitive COLUMN.")
    named = [*request.quasi, *([request.sensitive] if request.sensitive else []), *request.keep]
    twice = next((name for name in named if named.count(name) > 1), None)
    if twice is not None:
        raise InputError(f'"{twice}" is named twice', hint="A column is a quasi-identifier, sensitive, or kept.")


def _check_models(request: AnonymizeRequest) -> None:
    for name, value in (("l", request.l), ("t", request.t), ("beta", request.beta)):
        if value is not None and request.sensitive is None:
            raise InputError(f"{name} needs a sensitive column", hint="Name it with --sensitive COLUMN.")
    if request.presence is not None and request.population is None:
        raise InputError("delta-presence needs a population", hint="Name the larger table with --population FILE.")
    if all(value is None for value in (request.k, request.l, request.t, request.beta, request.presence)):
        raise InputError("no privacy model was requested", hint="Give -k K at least.")


def models_of(request: AnonymizeRequest, tuples: Tuples) -> tuple[Model, ...]:
    """The models that a request asks for."""
    models: list[Model] = []
    if request.k is not None:
        models.append(KAnonymity(whole(request.k, "k", 1)))
    if request.l is not None:
        models.append(_diversity(request, request.l))
        if models[-1].least > len(tuples.sensitive):
            raise InputError(f"l is larger than the number of sensitive values, which is {len(tuples.sensitive)}")
    if request.t is not None:
        models.append(closeness(request.t, request.distance, tuples.sensitive, _tree(request, tuples)))
    if request.beta is not None:
        models.append(Likeness(as_written(request.beta, "beta")))
    if request.presence is not None:
        low, high = request.presence
        models.append(Presence(as_written(low, "delta"), as_written(high, "delta")))
    return tuple(models)


def _diversity(request: AnonymizeRequest, l: object) -> Model:  # noqa: E741  the letter of the literature
    if request.diversity == "entropy":
        return EntropyDiversity(as_written(l, "l"))
    if request.diversity == "recursive":
        return RecursiveDiversity(whole(l, "l", 1), as_written(request.c, "c"))
    return DistinctDiversity(whole(l, "l", 1))


def _tree(request: AnonymizeRequest, tuples: Tuples) -> dict[str, tuple[str, ...]] | None:
    if request.distance != "hierarchical" or request.sensitive is None:
        return None
    hierarchy = read_hierarchies(request.hierarchies, [request.sensitive])[request.sensitive]
    if hierarchy.kind == "star":
        raise InputError(
            f'the hierarchical distance needs a hierarchy of "{request.sensitive}"',
            hint="Add one to --hierarchies, or use --distance equal.",
        )
    rows = {value: hierarchy.labels(value) for value in tuples.sensitive}
    bare = next((value for value, row in rows.items() if row is None), None)
    if bare is not None:
        raise InputError(f'the hierarchy of "{request.sensitive}" does not cover a value', detail=f'It is "{bare}".')
    return {value: row for value, row in rows.items() if row is not None}


def make(prepared: PreparedRequest, progress: Progress | None = None) -> tuple[AnonymizedRelease, Recoding, Dummies]:
    """The release, its classes, and rows that were added."""
    request, tuples = prepared.request, prepared.compressed.tuples
    found = None
    if request.method == "mondrian":
        limit = PATIENCE if request.seconds is None else request.seconds
        recoding = cut_classes(tuples, prepared.models, prepared.hierarchies, limit)
        if recoding.suppressed > _limit(prepared):
            raise _beyond(prepared, recoding, progress)
    else:
        found = _searched(prepared, progress)
        recoding = at_node(tuples, found.best.node, prepared.models, prepared.hierarchies)
    most = int(as_written(request.dummies, "dummies") * tuples.rows)
    recoding, filled, dummies = fill(prepared.compressed, recoding, prepared.models, most)
    if not recoding.held.any():
        raise NoRelease("every row would be suppressed", hint="Ask for less, or allow more dummies.")
    return _release(prepared, recoding, filled, found, sum(n for _, _, n in dummies)), recoding, dummies


def _limit(prepared: PreparedRequest) -> int:
    """How many rows may be suppressed: not all of them, unless dummies may save a class."""
    most = prepared.rows - (not as_written(prepared.request.dummies, "dummies"))
    return min(most, int(as_written(prepared.request.suppress, "suppress") * prepared.rows))


def _beyond(prepared: PreparedRequest, recoding: Recoding, progress: Progress | None) -> InputError:
    """Why there is no local recoding; where no global one exists either, the search raises an error that says so."""
    _searched(prepared, progress)
    return InputError(
        f"Mondrian finds no release that satisfies {' and '.join(model.words for model in prepared.models)}",
        detail=f"It would suppress {recoding.suppressed} rows; {_limit(prepared)} are allowed.",
        hint="Use --method lattice, which finds one.",
    )


def _searched(prepared: PreparedRequest, progress: Progress | None) -> LatticeSearch:
    tuples = prepared.compressed.tuples
    if all(isinstance(model, (KAnonymity, Presence)) for model in prepared.models):
        tuples = prepared.compressed.without_sensitive()
    limit = _limit(prepared)
    scale = tuples.rows * tuples.unit * len(tuples.ladders)
    told = None if progress is None else lambda n, best, bound: progress(n, best / scale, bound / scale)
    return search(tuples, prepared.models, limit, seconds=prepared.request.seconds, progress=told)


def _release(
    prepared: PreparedRequest, recoding: Recoding, filled: Classes, found: LatticeSearch | None, dummies: int
) -> AnonymizedRelease:
    """What is said of a release; a dummy counts as much as a row that is lost.

    No bound is known where dummies are allowed: with them, another node may lose less.
    """
    tuples = prepared.compressed.tuples
    classes = filled[recoding.held]
    loss = recoding.loss + Fraction(dummies, tuples.rows)
    scale = tuples.rows * tuples.unit * len(tuples.ladders)
    proved = None if as_written(prepared.request.dummies, "dummies") else found
    bound = None if proved is None else float(loss) if proved.optimal else min(proved.bound / scale, float(loss))
    close = next((model for model in prepared.models if isinstance(model, Closeness)), None)
    if close is None and prepared.request.sensitive:
        close = closeness(1, "equal", tuples.sensitive)
    far = None if close is None or not len(classes) else float(close.distances(classes, tuples.totals).max())
    diverse = (classes.histogram > 0).sum(axis=1) if prepared.request.sensitive and len(classes) else np.zeros(0)
    levels = {} if found is None else dict(zip(prepared.request.quasi, found.best.node, strict=True))
    shown = replace(recoding, classes=filled) if dummies else recoding
    return AnonymizedRelease(
        tuples.rows,
        int(classes.size.sum()),
        recoding.suppressed,
        dummies,
        int(classes.size.min(initial=tuples.rows)) if len(classes) else 0,
        int(diverse.min()) if len(diverse) else None,
        far,
        loss,
        bound,
        proved is not None and proved.optimal,
        levels,
        replace(measure(tuples, shown, sampling=_sampling(prepared.request)), loss=loss),
        0 if found is None else found.checks,
        0 if found is None else found.nodes,
        recoding.interrupted if found is None else found.interrupted,
        tuple(model.words for model in prepared.models),
    )


def _sampling(request: AnonymizeRequest) -> Fraction | None:
    return None if request.sampling is None else as_written(request.sampling, "sampling")


def compare(
    request: AnonymizeRequest, ks: Sequence[int], progress: Progress | None = None
) -> Iterator[tuple[int, AnonymizedRelease]]:
    """The release for each k, from one compressed table; a k that no release reaches is left out.

    Where no k is reached, the error says why the least one is not.
    """
    prepared, refused = prepare(replace(request, k=min(ks))), None
    made = 0
    for k in ks:
        if k <= prepared.rows:
            asked = replace(request, k=k)
            one = replace(prepared, request=asked, models=models_of(asked, prepared.compressed.tuples))
            try:
                release = make(one, progress)[0]
            except NoRelease as error:
                refused = refused or error
                continue
            made += 1
            yield k, release
    if refused is not None and not made:
        raise refused


def by_dimension(
    request: AnonymizeRequest, progress: Progress | None = None
) -> Iterator[tuple[int, AnonymizedRelease]]:
    """The release with the first 1, 2, 3, ... quasi-identifiers: the curse of dimensionality."""
    for many in range(1, len(request.quasi) + 1):
        yield many, anonymize(replace(request, quasi=request.quasi[:many]), None, progress)
