"""What is written at length has room for so many nodes, whichever change writes it, in place or not.

Every change of `normalize` is met in three forms: something wide that is used often, a chain in which each stands for
the one before, and names of the select list as keys.
"""

import ast
from pathlib import Path

import pytest
from sqlglot import exp

from sfumato import interrupts
from sfumato.errors import QueryError
from sfumato.sql.catalog.translation import CatalogNames, rewritten
from sfumato.sql.read import normalize as changes
from sfumato.sql.read.bounded_parser import trees
from sfumato.sql.read.growth import FOR_EACH, MOST_NODES
from sfumato.sql.read.spelling import note_calls

READ = Path(changes.__file__).parents[1]
COPYING = {"and_", "or_", "not_", "cast", "alias_", "paren", "condition", "union", "subquery", "xor", "case", "select"}
"""Functions of the parser that copy what they are given, unless they are told not to."""
WIDE, OFTEN, DEEP = "||".join(["s"] * 150), 150, 22
NARROW = "||".join(["s"] * 60)
EXPRESSIONS = {
    "and others": "{} AND x > 1",
    "a part of the clock": "date_trunc('hour', {}) + INTERVAL '5 minutes' * FLOOR(EXTRACT(MINUTE FROM {}) / 5)",
    "a multiple": "({}) * 2",
    "a difference": "({}) - 1",
    "a sign": "- ({})",
    "a cast": "({})::text",
    "make_interval": "make_interval(days => 3) + ({})",
    "a zone": "({}) AT TIME ZONE 'UTC'",
    "a truncation": "date_trunc('day', {}, 'Europe/Paris')",
    "a truncated date": "date_trunc('day', {}::date)",
    "a date": "date({})",
    "timezone": "timezone('Europe/Paris', {})",
    "every": "every({} = 'a')",
    "age": "age({})",
    "to_timestamp": "to_timestamp(FLOOR(EXTRACT(EPOCH FROM {}) / 300) * 300)",
    "a raw text": "$$a$$ || {}",
    "bytes": "E'\\\\x41' || {}",
    "similar": "{} SIMILAR TO 'a' || '%'",
    "like any": "{} LIKE ANY (ARRAY['a', 'b', 'c'])",
    "like": "{} LIKE 'a' || '%'",
    "matching": "{} ~ '^a'",
    "matching in any case": "{} ~* '^a'",
    "ilike": "{} ILIKE ANY (ARRAY['a', 'b'])",
    "exists": "EXISTS (SELECT 1 FROM data WHERE {} = 'a')",
    "between clocks": "({})::time BETWEEN '08:00' AND '09:00'",
    "a clock": "({})::time >= '08:00'",
    "overlaps": "({}, t) OVERLAPS (t, {})",
    "format": "format('%s and %s', {}, 's')",
    "repeat": "repeat({}, 3)",
    "round": "round(length({}), -2)",
    "trunc": "trunc(length({}), -2)",
    "a bucket": "width_bucket(length({}), ARRAY[1, 2, 3])",
    "overlay": "overlay({} PLACING 'x' FROM 1)",
    "an element": "(string_to_array({}, ' '))[2]",
    "a match": "regexp_substr({}, 'a(b)')",
    "matches": "regexp_count({}, 'ab')",
    "joined elements": "array_to_string(array_agg({}), ', ')",
    "a unicode text": "U&'\\0041' || {}",
    "the row before": "LAG({}, 1, 'a') OVER (ORDER BY x)",
    "some unknown": "MAX(CASE WHEN {} IS NULL THEN 1 ELSE 0 END)",
    "pi": "pi() > length({})",
    "any of a list": "{} = ANY (ARRAY['a', 'b'])",
    "none of a list": "{} <> ALL (ARRAY['a', 'b'])",
    **{f"{sign} any": f"{{}} {sign} ANY (ARRAY['a', 'b', 'c'])" for sign in ("<", "<=", ">", ">=")},
    "any of a query": "{} = ANY (SELECT s FROM data)",
    "smaller than any of a query": "{} < ANY (SELECT s FROM data)",
    "rows": "({}, x) = (s, {})",
}
MANY = ", ".join
KEYS, USES = MANY(["s"] * 900), ["sum(x) OVER w"] * 900
VALUES = MANY(f"({number})" for number in range(900))


def chain(first, link, last):
    """Sources each of which is made of the one before."""
    return " ".join([first, *(link.format(before=f"a{i}", name=f"a{i + 1}") for i in range(DEEP))]) + last


CLAUSES = {
    "a window by its name": f"SELECT {MANY(USES)} FROM data WINDOW w AS (PARTITION BY {KEYS})",
    "a window with an order": f"SELECT {MANY(USES)} FROM data WINDOW w AS (ORDER BY {KEYS})",
    "a window within itself": "SELECT sum(x) OVER w FROM data WINDOW w AS (PARTITION BY sum(x) OVER w, sum(x) OVER w)",
    "a chain of laterals": chain(
        "SELECT COUNT(*) FROM data CROSS JOIN LATERAL (SELECT x + 1 AS x) a0",
        "CROSS JOIN LATERAL (SELECT {before}.x + {before}.x AS x) {name}",
        f" WHERE a{DEEP}.x > 0",
    ),
    "a wide lateral": f"SELECT {MANY(['a.y'] * OFTEN)} FROM data CROSS JOIN LATERAL (SELECT {WIDE} AS y) a",
    "a lateral of aggregates": f"SELECT {MANY(['a.n'] * OFTEN)} FROM data d CROSS JOIN LATERAL "
    f"(SELECT COUNT(*) AS n FROM data e WHERE e.x = d.x AND {WIDE} = 'a') a",
    "a chain of aggregates": chain(
        "SELECT COUNT(*) FROM data d CROSS JOIN LATERAL (SELECT COUNT(*) AS x FROM data e WHERE e.x = d.x) a0",
        "CROSS JOIN LATERAL (SELECT MAX(e.x + {before}.x + {before}.x) AS x FROM data e) {name}",
        f" WHERE a{DEEP}.x > 0",
    ),
    "a lateral of rows": f"SELECT {MANY(['a.column1'] * 900)} FROM data CROSS JOIN LATERAL (VALUES {VALUES}) a",
    "a lateral join": "SELECT COUNT(*) FROM data d JOIN LATERAL (SELECT e.x FROM data e WHERE "
    + " AND ".join(["e.x = d.x"] * 900)
    + " ORDER BY e.x LIMIT 1) a ON TRUE",
    "a lateral series": "SELECT COUNT(*) FROM data CROSS JOIN LATERAL generate_series(1, 3) g",
    "distinct on an alias": f"SELECT DISTINCT ON ({MANY(['y'] * 900)}) {WIDE} AS y FROM data",
    "distinct on a number": f"SELECT DISTINCT ON ({MANY(['1'] * 900)}) {WIDE} AS y FROM data",
    "distinct with an order": f"SELECT DISTINCT ON (x) {WIDE} AS y FROM data ORDER BY {MANY(['y'] * 900)}",
    "ties": f"SELECT {WIDE} AS y FROM data ORDER BY {MANY(['y'] * 900)} FETCH FIRST 3 ROWS WITH TIES",
    "limit": "SELECT x FROM data ORDER BY x LIMIT ALL OFFSET 2",
    "fetch": "SELECT x FROM data ORDER BY x FETCH FIRST 3 ROWS ONLY",
    "rows in a list": f"SELECT unnest(ARRAY[{MANY(['1'] * 900)}])",
    "rows in FROM": f"SELECT COUNT(*) FROM unnest(ARRAY[{MANY(['1'] * 900)}]) u",
    "values": f"SELECT COUNT(*) FROM (VALUES {VALUES}) v",
    "a series": f"SELECT generate_series(1, 3)::text || {WIDE}",
    "materialized": "WITH w AS MATERIALIZED (SELECT s FROM data) SELECT COUNT(*) FROM w",
}


def statements():
    """Each expression wide and often, and within itself; each clause; and expressions under names that are keys."""
    for name, form in EXPRESSIONS.items():
        wide = form.replace("{}", f"({NARROW})")
        yield f"{name}: wide", f"SELECT COUNT(*) FROM data WHERE {' OR '.join([f'({wide})::text = s'] * 25)}"
        inner = "s"
        for _ in range(6 if form.count("{}") > 1 else DEEP // 2):
            inner = f"({form.replace('{}', inner)})"
        yield f"{name}: a chain", f"SELECT COUNT(*) FROM data WHERE {inner}::text = s"
        yield f"{name}: keys", f"SELECT DISTINCT ON ({MANY(['y'] * 100)}) ({wide}) AS y FROM data"
    yield from CLAUSES.items()


class Counted:
    """The steps of planning, and how many nodes are copied between two of them."""

    def __init__(self, monkeypatch):
        self.since, self.most, self.steps, self.look, self.leash = 0, 0, 0, float("-inf"), self
        self.why = None
        copy = exp.Expression.__deepcopy__

        def counted(node, memo):
            made = copy(node, memo)
            self.since += size(made)
            self.most = max(self.most, self.since)
            assert self.since <= 50 * MOST_NODES, "this does not end"
            return made

        monkeypatch.setattr(exp.Expression, "__deepcopy__", counted)

    def check(self):
        """A step: `interrupts.step` asks for one whenever the time to look has come."""
        self.since, self.steps = 0, self.steps + 1


def normalized(text):
    """The statement as it was written, and as it is written at length; None where it is refused."""
    try:
        tree = trees(text)[0]
        note_calls(tree, text)
        written = size(tree)
        return written, changes.normalize(tree)
    except RecursionError:  # the query is nested too deeply
        return 0, None
    except QueryError as refused:
        assert refused.sqlstate in ("54001", "0A000", "22023", "42601"), refused  # noqa: PT017  it may also be read
        return 0, None


def size(node):
    return sum(1 for _ in node.walk())


@pytest.fixture
def counts(monkeypatch):
    counted = Counted(monkeypatch)
    token = interrupts._pace.set(counted)
    yield counted
    interrupts._pace.reset(token)


@pytest.mark.parametrize(("name", "text"), list(statements()), ids=[name for name, _ in statements()])
def test_whatever_is_rewritten_has_room_for_so_many_nodes(counts, name, text):
    written, tree = normalized(text)
    assert tree is None or size(tree) <= MOST_NODES + (FOR_EACH + 1) * written, name
    assert counts.most <= 3 * MOST_NODES, "one copy is too large, or no step stands between two"


def test_every_change_is_met(counts, monkeypatch):
    """Those of kinds of nodes, and those of the clauses of a SELECT: a new one needs a statement here."""
    met = set()
    for kind, change in list(changes._CHANGES.items()):
        monkeypatch.setitem(changes._CHANGES, kind, lambda node, k=kind, c=change: (met.add(k), c(node))[1])
    for text in (*(f"SELECT {form.replace('{}', 's')} FROM data" for form in EXPRESSIONS.values()), *CLAUSES.values()):
        normalized(text)
    missing = {kind.__name__ for kind in changes._CHANGES} - {kind.__name__ for kind in met}
    assert missing <= {"DateTrunc"}, "PostgreSQL's dialect reads it as TimestampTrunc"


def test_a_catalog_query_has_the_same_room(counts):
    wide = f"{'+'.join(['1'] * 900)} AS data"
    tree = trees(f"SELECT {wide} FROM data GROUP BY {MANY(['data'] * 900)}")[0]
    with pytest.raises(QueryError, match="too long"):
        rewritten(tree, CatalogNames({}, frozenset()))


def test_what_people_write_is_as_it_was(counts):
    """Copies that take the place of what was copied do not count: long lists and deep brackets are read."""
    for text in (
        f"SELECT COUNT(*) FROM data WHERE s = ANY (ARRAY[{MANY(repr(str(i)) for i in range(5000))}])",
        f"SELECT {MANY(['sum(x) OVER w'] * 60)} FROM data WINDOW w AS (PARTITION BY x, s ORDER BY t)",
        "SELECT a.y, a.y + 1 FROM data CROSS JOIN LATERAL (SELECT x + 1 AS y) a WHERE a.y > 3",
        f"SELECT {'date(' * 4}t{')' * 4} FROM data",
    ):
        assert changes.normalize(trees(text)[0]) is not None


def test_nothing_is_copied_without_being_counted():
    """In sql/ one function copies nodes; what the parser offers copies silently."""
    found = []
    for path in sorted(READ.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            silent = (
                isinstance(called, ast.Attribute)
                and ast.unparse(called.value) == "exp"
                and name in COPYING
                and not any(
                    keyword.arg == "copy" and ast.unparse(keyword.value) == "False" for keyword in node.keywords
                )
                and not _is_fresh(node.args[0])
            )
            if name in ("copy", "deepcopy", "__deepcopy__", "transform") or silent:
                found.append(f"{path.relative_to(READ)}: {ast.unparse(node)}")
    assert found == ["read/growth.py: node.copy()"]


def _is_fresh(arg):
    """A constant, or a node that is made here."""
    return isinstance(arg, ast.Constant) or ast.unparse(arg).startswith(("exp.Literal.", "exp.Null("))
