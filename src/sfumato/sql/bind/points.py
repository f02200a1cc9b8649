"""Points in a query: `geo_cell(lat, lon, 500)`, and the names of points that the policy declares.

In: bound arguments, or a name that is no column. Out: a call of `geo_cell` whose grid follows from declared bounds and
is written into the call, so that no later step derives it again.
"""

from __future__ import annotations

from fractions import Fraction

from sfumato.algebra.functions import call
from sfumato.algebra.functions.curves import written
from sfumato.algebra.geo_cells import GridRefused, grid_over
from sfumato.algebra.relations import scans_in
from sfumato.algebra.tree import NULL, NUMBERS, Call, Node
from sfumato.errors import QueryError
from sfumato.policy import DeclaredPoint
from sfumato.sql.bind.scope import Scope

NAME = "geo_cell"
_FORMS = "Write geo_cell(latitude, longitude, metres), or geo_cell(point, metres) for a point of the policy."


def cell_call(args: tuple[Node, ...], position: int) -> Node:
    """A call as it is written: (lat, lon, metres), (point, metres) or (point)."""
    if args and isinstance(args[0], Call) and args[0].name == NAME:
        if len(args) == 1:
            return args[0]
        if len(args) == 2:
            args = (*args[0].args, args[1])
    if len(args) != 3:
        raise QueryError("geo_cell does not take these arguments", position=position, sqlstate="42883", hint=_FORMS)
    side = written(args[2:])
    if not side:
        raise QueryError("geo_cell needs a literal side in metres", position=position, sqlstate="42883", hint=_FORMS)
    return cell_of(args[0], args[1], side[0], position)


def cell_of(lat: Node, lon: Node, side: Fraction, position: int) -> Node:
    """The cell of a point in a grid of cells of `side` metres."""
    ends = _ends(lat, "latitude", position), _ends(lon, "longitude", position)
    try:
        grid = grid_over(*ends, side)
    except GridRefused as refused:
        raise QueryError(str(refused), position=position, hint=refused.hint) from None
    return call(NAME, (lat, lon), grid.written(), position)


def declared_point(scope: Scope, owner: str | None, name: str, position: int) -> Node | None:
    """What the name of a declared point stands for: its cell in the declared grid; None where no point has the name."""
    points: dict[DeclaredPoint, None] = {}
    for scan in scans_in(scope.relation):
        if (point := scan.table.points.get(name)) is not None:
            points[point] = None
    if not points or any(e.name == name and owner in (None, e.owner) for e in scope.entries):
        return None
    if len(points) > 1:
        raise QueryError(f'the point "{name}" is ambiguous', position=position, sqlstate="42702", hint=_FORMS)
    point = next(iter(points))
    lat, lon = (scope.find(owner, column, position) for column in (point.lat, point.lon))
    return cell_of(lat, lon, point.grid, position)


def _ends(node: Node, what: str, position: int) -> tuple[Fraction, Fraction]:
    facts = node.facts
    if facts.kind not in (*NUMBERS, NULL):
        raise QueryError(f"a {what} is a number, but this is {facts.kind}", position=position, sqlstate="42883")
    if not facts.exact or facts.low is None or facts.high is None:
        raise QueryError(
            f"the {what} of a cell needs declared bounds and a grid",
            position=position,
            hint='For example, lat = { type = "decimal", min = 48.8, max = 48.92, grid = 0.00001 } in the policy.',
        )
    return facts.low, facts.high
