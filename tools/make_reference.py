"""Write docs/reference/*.md from the code: `make docs`. A test compares them, so they are what the code says.

policy    every key of sfumato.toml, with its default as a policy without the key gets it
cli       every command and option, from their help
http      every page of the HTTP interface, from its table of routes
wire      the settings of a session over the PostgreSQL protocol
sql       aggregates and functions, from their tables
python    sfumato.open, sfumato.protect, and what they give, from signatures and docstrings
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import typer

import sfumato
from sfumato import errors, gateway
from sfumato.algebra.aggregates import AGGREGATES
from sfumato.algebra.functions import FUNCTIONS
from sfumato.algebra.functions.interval_ends import ENDS
from sfumato.cli import app
from sfumato.engines.duckdb import expressions as of_duckdb
from sfumato.engines.postgres import expressions as of_postgres
from sfumato.engines.spark import expressions as of_spark
from sfumato.policy import parse
from sfumato.server.http.routes import ROUTES
from sfumato.server.pgwire.settings import OURS
from sfumato.types import show

ROOT = Path(__file__).parents[1]
HOME = ROOT / "docs" / "reference"
ENGINES = {of_duckdb.ENGINE: "DuckDB", of_postgres.ENGINE: "PostgreSQL", of_spark.ENGINE: "Spark"}

POLICY_KEYS: dict[str, dict[str, str]] = {
    "source": {
        "engine": "Where the rows are: `duckdb` reads files, one DuckDB database, or frames; `postgres`, `spark`.",
        "files": "A path, a list of paths or a glob for each table; or the path of one `.duckdb` database.",
        "dsn": "The address of the server, for `postgres`.",
        "master": "Where Spark runs, for `spark`: `local[2]`, `spark://HOST:7077` or `connect: sc://HOST:15002`.",
        "tables": "A path for each table, for `spark`, with its format before it (`delta:/lake/x`), or `table:NAME`.",
    },
    "data": {
        "id": "The name of the data set. The budget belongs to it. It is also the database name of PostgreSQL clients.",
        "version": "The version of the rows: a name, `daily`, `monthly` (UTC) or `live`. Stored answers belong to it.",
        "ledger": "The file that keeps charges and answers, or `postgresql://…` if several gateways share a budget.",
        "anchor": "A second file with the last entry of the ledger, compared at start and by `sfumato ledger verify`.",
        "state": "The directory of users, tokens, logs and prepared rows.",
        "schema": "The schema before names of tables, `schema.table`; `public` also works.",
    },
    "privacy": {
        "epsilon": "The total privacy budget of all analysts.",
        "delta": "The delta of the guarantee. Above 0 it allows partition selection and Gaussian noise.",
        "delta_selection": "The part of delta that partition selection may use in all.",
        "adjacency": "`add-remove`: a person is in the data or not. `replace`: a person's rows are other rows.",
        "composition": "How charges add up: `pure`, `zcdp`, or `best` of both.",
        "query_epsilon": "The default cost of a query.",
        "query_delta": "The delta that a query with partition selection uses by default.",
        "min_epsilon": "The minimum cost of a query.",
        "timing": "`padded` answers at times that do not depend on the rows; `plain` as soon as possible.",
        "failures": "Engine failures after a charge before the data version stops being served.",
        "partition": "`table.column` that divides people into cells with a budget of their own (parallel composition).",
    },
    "analysts.NAME": {
        "epsilon": "This analyst's share of the total. Without a section, what is left of the total.",
        "settings": (
            'What connections of this analyst start with, for tools that cannot SET: `{ intervals = "on", '
            'confidence = 0.9, noise = "auto" }`.'
        ),
    },
    "tables.NAME": {
        "public": "`true` for a table without data about people: queries on it are exact and free, and it has no unit.",
        "unit": 'A column, `row` if each row is one person, or a key, `{ join = TABLE, on = "a = b AND …" }`.',
        "rows_per_unit": 'Contribution bound: the maximum number of rows counted per unit, or `auto`. Not for `"row"`.',
        "groups_per_unit": "The maximum number of groups counted per unit, for undeclared keys and COUNT(DISTINCT x).",
        "l2_per_unit": "The contribution bound in the Euclidean norm, for Gaussian noise.",
        "sum_per_unit": "The maximum that one unit adds to a SUM that is alone in its query, by column, or `auto`.",
        "columns": "The columns that can be used. A column that is not listed cannot be used.",
    },
    "tables.NAME.columns.NAME": {
        "type": "`integer`, `decimal`, `double`, `date`, `timestamp`, `boolean` or `text`.",
        "min": "The smallest value; lower values count as this one.",
        "max": "The largest value; higher values count as this one.",
        "grid": "The step to which numbers are rounded.",
        "values": "The list of values; any other becomes NULL. GROUP BY then shows each of them.",
        "max_length": "The maximum text length in characters; longer texts are truncated.",
        "nulls": "`false` excludes rows with NULL in this column.",
    },
    "tables.NAME.columns.NAME (a place)": {
        "type": "`point`: a position on the earth, from two columns.",
        "grid": "The side of a map cell in metres.",
        "lat": "The column of latitudes, in degrees.",
        "lon": "The column of longitudes, in degrees.",
    },
}
_REQUIRED = {
    ("source", "engine"), ("source", "files"), ("data", "id"), ("privacy", "epsilon"), ("tables.NAME", "unit"),
    ("tables.NAME", "rows_per_unit"), ("analysts.NAME", "epsilon"),
}  # fmt: skip
_WORDS = {
    ("source", "dsn"): "none", ("source", "master"): "`local[*]`", ("source", "tables"): "none",
    ("data", "anchor"): "none", ("analysts.NAME", "settings"): "none", ("privacy", "partition"): "none",
    ("data", "ledger"): "`ID.ledger`", ("data", "state"): "`.sfumato`",
    ("tables.NAME", "public"): "`false`",
    ("tables.NAME", "groups_per_unit"): "rows_per_unit; for undeclared keys at most 20",
    ("tables.NAME", "l2_per_unit"): "rows_per_unit", ("tables.NAME", "sum_per_unit"): "none",
    ("tables.NAME", "columns"): "none", ("tables.NAME.columns.NAME", "nulls"): "`true`",
    ("tables.NAME.columns.NAME", "type"): "the source's; required for text files without `values`",
    ("tables.NAME.columns.NAME", "grid"): "1 for integers and dates; of decimals the last digit of the bounds",
    ("tables.NAME.columns.NAME", "max_length"): "none; required for private text without `values`",
    ("privacy", "delta_selection"): "delta / 2", ("privacy", "query_epsilon"): "epsilon / 40",
    ("privacy", "query_delta"): "delta_selection / 50", ("privacy", "composition"): "`best` if delta > 0, else `pure`",
}  # fmt: skip
_SMALLEST = """
[source]
engine = "duckdb"
files = { t = "t.parquet" }
[data]
id = "d"
[privacy]
epsilon = 4
[tables.t]
unit = "id"
rows_per_unit = 1
columns = { id = {} }
"""


def _made(name: str, body: str) -> str:
    return f"# {name}\n\nWritten by `make docs` from the code; a test keeps it true.\n\n{body.strip()}\n"


def _cell(text: object) -> str:
    return re.sub(r"\s+", " ", str(text)).replace("|", "\\|").strip()


def _table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    listed = list(heads)
    lines = [f"| {' | '.join(listed)} |", f"|{'---|' * len(listed)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(_cell, row))} |" for row in rows)])


def policy_page() -> str:
    """Every key of sfumato.toml."""
    smallest = parse(_SMALLEST)
    parts = ["Keys that are not listed here are errors. Paths are relative to the policy file.\n"]
    for section, keys in POLICY_KEYS.items():
        rows = []
        for key, about in keys.items():
            where = (section, key)
            default = "required" if where in _REQUIRED else _WORDS.get(where)
            record = getattr(smallest, section, None)
            if default is None and record is not None and hasattr(record, key):
                value = getattr(record, key)
                text = show(value) if isinstance(value, Fraction) else getattr(value, "value", value)
                default = f"`{text}`"
            rows.append((f"`{key}`", default or "none", about))
        parts.append(f"## [{section}]\n\n{_table(('key', 'default', 'meaning'), rows)}\n")
    return _made("Policy: sfumato.toml", "\n".join(parts))


def cli_page() -> str:
    """Every command with its options."""
    parts = [
        "`sfumato COMMAND --help` says the same. `-p POLICY` names the policy file, by default `./sfumato.toml`.\n",
        _table(
            ("exit code", "meaning"),
            [
                (0, "done"),
                (1, "a checked claim is false, or a column lies mostly outside of its declared domain"),
                (2, "command line, files or policy"),
                (3, "the SQL text cannot be answered"),
                (4, "the budget does not allow it"),
                (5, "engine or ledger unavailable"),
                (6, "undecided (verify)"),
            ],
        ),
        "",
    ]
    top = typer.main.get_command(app)
    for name, command in sorted(top.commands.items()):  # type: ignore[attr-defined]
        parts.append(_command(f"sfumato {name}", command))
        for below, inner in sorted(getattr(command, "commands", {}).items()):
            parts.append(_command(f"sfumato {name} {below}", inner))
    return _made("Command line", "\n".join(parts))


def _command(name: str, command: Any) -> str:
    about, _, example = str(command.help or "").partition("\b")
    rows = []
    for option in command.params:
        if option.name == "help":
            continue
        names = ", ".join(f"`{word}`" for word in option.opts) if option.param_type_name == "option" else option.metavar
        meta = "" if getattr(option, "is_flag", False) or option.param_type_name == "argument" else option.metavar or ""
        rows.append((f"{names} {meta}".strip(), getattr(option, "help", "") or ""))
    text = "\n\n".join(" ".join(part.split()) for part in about.strip().split("\n\n"))
    shown = f"\n    {example.strip().removeprefix('Example:').strip()}\n" if example else ""
    options = f"\n{_table(('argument or option', 'meaning'), rows)}\n" if rows else ""
    return f"## {name}\n\n{text}\n{shown}{options}"


def http_page() -> str:
    """Every page of the HTTP interface."""
    rows = [
        (f"`{page.method}`", f"`{page.path}`", ", ".join(page.roles) or "no login", page.about)
        for page in sorted(ROUTES, key=lambda page: (page.path, page.method))
    ]
    head = (
        "`/openapi.json` of a running server has the schemas of requests and replies. Programs send\n"
        "`Authorization: Bearer TOKEN`; `sfumato user token NAME` makes one. An `Idempotency-Key` makes a retry safe.\n"
        "`Accept` may be JSON, CSV, Arrow IPC or Parquet. Errors have `sqlstate`, `message`, `detail`,\n"
        "`hint` and `position`.\n\n"
    )
    return _made("HTTP", head + _table(("method", "path", "for", "what"), rows))


_SETTINGS = {
    "sfumato.epsilon": "The cost of the next queries; empty: `query_epsilon` of the policy.",
    "sfumato.within": "Spend as much epsilon as makes every number ± this.",
    "sfumato.confidence": "The confidence of intervals.",
    "sfumato.rows_per_unit": "A contribution bound below the policy's; `auto` estimates one for a fifth of epsilon.",
    "sfumato.noise": "`geometric`, `gaussian` or `auto` (the better one); empty: by the policy's composition.",
    "sfumato.intervals": "`on` adds the columns NAME_low and NAME_high.",
}


def wire_page() -> str:
    """The settings of a session over the PostgreSQL protocol."""
    rows = [(f"`{name}`", f"`{value}`" if value else "empty", _SETTINGS[name]) for name, value in OURS.items()]
    body = (
        "Any PostgreSQL client connects; the database is the policy's `data.id`. `SET sfumato.epsilon = 0.5;` sets,\n"
        "`SHOW sfumato.budget;` shows the remaining budget, `EXPLAIN SELECT …` is the free preview. A comment\n"
        "`/* epsilon=0.5 */` before SELECT works where a tool cannot SET. Every answer comes with a NOTICE:\n"
        "cost, remaining budget, ± at 95 %.\n\n"
    )
    return _made("PostgreSQL protocol: settings", body + _table(("setting", "default", "meaning"), rows))


_SQL = """
Queries are PostgreSQL's SELECT. Private tables join on the privacy unit and on nothing else; public tables join on any
condition. A public table is the preserved side of an outer join with a private one only where its rows without a
partner count in nothing: `COUNT(v.id)` by its own columns, not `COUNT(*)`. WITH, sub-queries, UNION, EXCEPT and
INTERSECT, ROLLUP, CUBE and GROUPING SETS, windows over one person's rows and over released rows are supported; so are
LATERAL, VALUES, `unnest` of a written list, `generate_series` of written ends, QUALIFY, FETCH, named windows and
DISTINCT ON. WITH RECURSIVE works over public tables and written values, up to 300 rows, and over released rows, up to
1,000; `array_agg`, `string_agg`, `json_agg`, `json_object_agg` and RANGE with a distance over public and released rows.
`json_build_object`, `row_to_json` and `to_json` make JSON of one row. A name in JSON cannot be NULL, and which groups a
release has is known only after its charge: a name that may be NULL is refused, unless a condition excludes it
(`WHERE area IS NOT NULL`) or COALESCE replaces it. `x > ALL (SELECT …)` and `ANY` compare with
public and released values and with the same person's. Names without quotes are found in any case; ORDER BY, HAVING and
QUALIFY may say names of the select list.

Times are in UTC. `x AT TIME ZONE 'Europe/Paris'` and `date_trunc('day', x, 'Europe/Paris')` take names of the tz
database, of a timestamp with bounds. `SET TIME ZONE` with another zone than UTC is kept, and what depends on it
(`timestamptz`, `AT TIME ZONE`, `to_timestamp`) is then refused; `now()` and `current_date` are the day in UTC. In
regular expressions `\\d`, `\\w` and `\\s` stand for ASCII characters. Formats of `to_date` and `to_timestamp` name a
year, and put other letters into double quotes: `YYYY-MM-DD"T"HH24:MI:SS`. `upper` and `lower` change letters one for
one, as PostgreSQL does in the locale C.UTF-8: ß has no capital there, and ICU's locales write SS.

A column without bounds and grid can be counted and filtered by, not summed. Keys with a declared list or bounds are
public keys: each of them is shown. Other keys go through partition selection, which uses delta.

## Aggregates over people

Each takes `FILTER (WHERE …)`. Sums, means, ratios, variances, correlations and regressions come with confidence
intervals, medians and percentiles with an interval of values, `MIN` and `MAX` with one that reaches from the value to
the declared bound; `MODE` comes without. A number that is
computed from released numbers has an interval unless noise decides what it is made of, as in a total over rows that
HAVING chose.

"""


def sql_page() -> str:
    """Aggregates and functions."""
    kinds = [
        (f"`{kind.usage}`", kind.words, _yes(kind.over_unit), _yes(kind.over_public)) for kind in AGGREGATES.values()
    ]
    aggregates = _table(("aggregate", "gives", "over one person's rows", "over public rows"), kinds)
    known = [
        (f"`{function.usage}`", function.words, *(_yes(function.spellings.get(engine)) for engine in ENGINES))
        for function in FUNCTIONS.values()
        if function.name not in ENDS
    ]
    functions = _table(("function", "gives", *ENGINES.values()), known)
    ends = _table(("function", "gives"), [(f"`{FUNCTIONS[name].usage}`", FUNCTIONS[name].words) for name in ENDS])
    above = (
        "On released rows the same functions run; one that is not in the table is refused by its name."
        " In the select list, beside a released number:"
    )
    parts = (_SQL.strip(), aggregates, "## Functions and operators", "Below the aggregates, in every row:", functions)
    return _made("SQL", "\n\n".join((*parts, above, ends)))


def _yes(part: object) -> str:
    return "" if part is None else "yes"


def python_page() -> str:
    """What `import sfumato` gives, and what that gives."""
    parts = ["`import sfumato` is light: the rest is imported when it is first used.\n"]
    parts.append(_function("sfumato.open", sfumato.open))
    parts.append(_function("sfumato.protect", sfumato.protect))
    for kind in (gateway.Gateway, gateway.Answer, gateway.Chart, gateway.Preview, gateway.AnalystBudget):
        parts.append(f"## {kind.__name__}\n\n{inspect.cleandoc(kind.__doc__ or '')}\n")
        for name, method in vars(kind).items():
            if not name.startswith("_") and callable(method) and name not in _INSIDE.get(kind.__name__, ()):
                parts.append(_function(f"{kind.__name__}.{name}", method, level=3))
    parts.append(f"## Errors\n\n```text\n{(errors.__doc__ or '').split(chr(10), 2)[2].strip()}\n```\n")
    return _made("Python", "\n".join(parts))


_INSIDE = {"Answer": ("again", "is_again"), "Gateway": ("recall", "rederive", "retire", "stop")}
"""Methods for servers and the ledger, which are not public API."""


def _function(name: str, function: Callable[..., Any], level: int = 2) -> str:
    signature = _signature(function)
    text = inspect.cleandoc(function.__doc__ or "")
    first, _, rest = text.partition("\n\n")
    rest = re.sub(r"^(\w+): ", r"- `\1`: ", rest, flags=re.MULTILINE) if level == 2 else rest
    return f"{'#' * level} {name}\n\n```text\n{name}{signature}\n```\n\n{first}\n\n{rest}".rstrip() + "\n"


def _signature(function: Callable[..., Any]) -> str:
    """Arguments, one on a line where there are many."""
    signature, parts, star = inspect.signature(function), list[str](), False
    for one in signature.parameters.values():
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        kind = one.annotation if isinstance(one.annotation, str) else getattr(one.annotation, "__name__", "Any")
        default = "" if one.default is one.empty else f" = {_default(one.default)}"
        parts.append(f"{one.name}: {kind}{default}")
    gives = signature.return_annotation
    tail = f" -> {gives}" if isinstance(gives, str) else ""
    flat = f"({', '.join(parts)}){tail}"
    return flat if len(flat) < 90 else "(\n" + "".join(f"    {part},\n" for part in parts) + f"){tail}"


def _default(value: Any) -> str:
    return show(value) if isinstance(value, Fraction) else repr(value)


REFERENCE: dict[str, Callable[[], str]] = {
    "policy": policy_page,
    "cli": cli_page,
    "http": http_page,
    "wire": wire_page,
    "sql": sql_page,
    "python": python_page,
}


def write() -> None:
    """Write every page."""
    HOME.mkdir(exist_ok=True)
    for name, make in REFERENCE.items():
        (HOME / f"{name}.md").write_text(make(), encoding="utf-8")
        print(f"wrote docs/reference/{name}.md")


if __name__ == "__main__":
    write()
    sys.exit(0)
