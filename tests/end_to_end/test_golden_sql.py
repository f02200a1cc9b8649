"""What a question becomes, and what is refused and how, as files that people read before they change.

tests/golden/refusals: the text, and the five fields as a person sees them. tests/golden/sql: the analyst's SQL, the
engine's SQL, the groups, the scales and the event. Nothing here touches data.
"""

# ruff: noqa: ISC004  a question may stand on two lines that read as one

import re
from dataclasses import replace
from datetime import date
from fractions import Fraction

import duckdb
import pytest
from tests.compiled import Rows, plain
from tests.end_to_end.refused import MARK, REFUSED

from sfumato.cli.clinic import POLICY
from sfumato.engines.duckdb.finishing import finish
from sfumato.errors import QueryError
from sfumato.policy import PolicyColumn
from sfumato.policy import parse as parse_policy
from sfumato.server.terminal_output import error_text, exit_code
from sfumato.sql.query_binding import bind
from sfumato.sql.read.parser import parse
from sfumato.sql.release.plan import plan

TODAY = date(2025, 1, 31)


def clinic(text=POLICY):
    """The demo's policy; the columns of its public table are those of its file."""
    policy = parse_policy(text)
    region = replace(
        policy.tables["region"],
        columns={"area": PolicyColumn("area", "text", max_length=99), "beds": PolicyColumn("beds", "integer")},
    )
    return replace(policy, tables={**policy.tables, "region": region})


CLINIC = clinic()
REPLACE = clinic(POLICY.replace('adjacency = "add-remove"', 'adjacency = "replace"'))
TEXTS = {f"{kind}: {title}": text for kind, texts in REFUSED.items() for title, text in texts.items()}


def planned(sql, epsilon=Fraction(1, 10), rows_per_unit=None, policy=CLINIC, noise=None):
    return plan(
        bind(parse(sql), policy, TODAY, Rows(public)), policy, epsilon, rows_per_unit, noise=noise, rows=Rows(public)
    )


ENGINE = duckdb.connect()
ENGINE.execute("CREATE TABLE region AS SELECT * FROM (VALUES ('north', 10), ('south', 20)) AS r(area, beds)")


def public(sql):
    return ENGINE.execute(sql).fetchall()


def refusal(text):
    with pytest.raises(QueryError) as caught:
        planned(text.replace(MARK, ""))
    return caught.value


def short(text):
    return text if len(text) <= 300 else f"{text[:100]} … {len(text)} characters"


def test_there_are_many_texts():
    assert len(TEXTS) > 100


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_read_as_they_were_read(kind, golden):
    pages = []
    for title, text in REFUSED[kind].items():
        sql = text.replace(MARK, "")
        printed = error_text(refusal(text), sql)
        pages.append(f"# {title}\n{short(sql)}\n\n{printed}")
    golden(f"refusals/{kind.replace(' ', '-')}.txt", "\n".join(pages))


@pytest.mark.parametrize("name", TEXTS)
def test_a_refusal_is_one_plain_sentence_and_exits_3(name):
    error = refusal(TEXTS[name])
    assert "\n" not in error.message
    assert not error.message.endswith((".", "!"))
    assert re.match(r"[a-z'\"0-9%|~]|[A-Z_]{2,}(\b|\()", error.message), "lowercase, or a word of SQL"
    assert re.fullmatch(r"[0-9A-Z]{5}", error.sqlstate)
    for sentence in (error.detail, error.hint):
        assert sentence is None or sentence.endswith("."), sentence
    assert exit_code(error) == 3


# The parser's tree tells where names and numbers stand, but not where each word does: there the place is that of the
# first name inside, or none. A text that leaves this list does so for good.
MISPLACED = {
    *(f"statements: {title}" for title in REFUSED["statements"]),
    "syntax: words",
    "syntax: half a question",
    "syntax: a quote that never ends",
    "syntax: a comment that never ends",
    "syntax: two statements",
    "names: no table",
    "people: a bare column",
    "people: a constant for each row",
    "people: one person",
    "people: DISTINCT rows",
    "people: DISTINCT ON",
    *(
        f"not yet: {title}"
        for title in (
            "a join",
            "a left join",
            "a sub-query as a table",
            "a sub-query in WHERE",
            "IN a sub-query",
            "EXISTS",
            "WITH",
            "UNION",
            "EXCEPT",
            "ROLLUP",
            "GROUPING SETS",
            "STRING_AGG",
            "TABLESAMPLE",
            "a frame",
            "FOR UPDATE",
            "QUALIFY",
            "FETCH",
            "a named window",
        )
    ),
    "bounds: too many groups",
    "values: a bad cast",
    "values: a cast to what is not known",
    "values: a part that is not known",
    "values: LIMIT NULL",
    "values: OFFSET below 0",
    "values: a parameter",
    "values: an interval",
    "functions: a regular expression",
    "functions: an array",
    "functions: TRIM of one side",
}


@pytest.mark.parametrize("name", [name for name in TEXTS if name not in MISPLACED])
def test_a_refusal_points_at_its_place(name):
    text = TEXTS[name]
    wanted = text.index(MARK) + 1 if MARK in text else None
    assert refusal(text).position == wanted


# what a question becomes

ASKED = {
    "count": ("SELECT COUNT(*) FROM patient", {}),
    "count-where": ("SELECT COUNT(*) AS old FROM patient WHERE age >= 65 AND disease = 'Flu'", {}),
    "count-column": ("SELECT COUNT(salary) FROM patient", {}),
    "count-by-list": ("SELECT disease, COUNT(*) FROM patient GROUP BY disease", {}),
    "count-by-range": ("SELECT age / 40 AS class, COUNT(*) FROM patient GROUP BY age / 40", {}),
    "count-by-case": (
        "SELECT CASE WHEN age < 18 THEN 'young' WHEN age > 65 THEN 'old' END, COUNT(*) FROM patient GROUP BY 1",
        {},
    ),
    "count-by-year": ("SELECT EXTRACT(year FROM day), COUNT(*) FROM visit GROUP BY 1", {}),
    "count-by-two-keys": ("SELECT area, disease, COUNT(*) FROM patient WHERE area <> 'north' GROUP BY 1, 2", {}),
    "count-without-null": ("SELECT city, COUNT(*) FROM visit WHERE city IS NOT NULL GROUP BY city", {}),
    "count-persons": ("SELECT city, COUNT(DISTINCT patient_ssn) FROM visit GROUP BY city", {}),
    "sum": ("SELECT SUM(salary) FROM patient", {}),
    "sum-clipped": ("SELECT SUM(cost) FROM visit", {}),
    "sum-filter": ("SELECT SUM(cost) FILTER (WHERE city = 'Paris'), COUNT(*) FROM visit", {}),
    "sum-expression": ("SELECT SUM(age * 2 - 10) FROM patient", {}),
    "avg": ("SELECT AVG(age) FROM patient", {}),
    "avg-weighted": ("SELECT city, AVG(cost) FROM visit GROUP BY city", {}),
    "avg-sum-count-of-one-column": ("SELECT AVG(cost), SUM(cost), COUNT(cost) FROM visit", {}),
    "fewer-rows": ("SELECT COUNT(*) FROM visit", {"rows_per_unit": 5}),
    "replace": ("SELECT disease, COUNT(*) FROM patient GROUP BY disease", {"policy": REPLACE}),
    "join": (
        "SELECT p.disease, AVG(v.cost) FROM visit v JOIN patient p ON p.ssn = v.patient_ssn GROUP BY p.disease",
        {},
    ),
    "left-join": ("SELECT COUNT(v.patient_ssn) FROM patient LEFT JOIN visit v ON ssn = v.patient_ssn", {}),
    "full-join": (
        "SELECT COUNT(DISTINCT COALESCE(ssn, patient_ssn)) FROM patient FULL JOIN visit ON ssn = patient_ssn",
        {},
    ),
    "join-public": (
        "SELECT area, SUM(beds) FROM patient JOIN (SELECT area, LEAST(GREATEST(beds, 0), 99) AS beds "
        "FROM region) AS r USING (area) GROUP BY area",
        {},
    ),
    "with-twice": (
        "WITH v AS (SELECT patient_ssn, cost FROM visit WHERE city = 'Paris') "
        "SELECT COUNT(*) FROM v AS a JOIN v AS b ON a.patient_ssn = b.patient_ssn WHERE a.cost < b.cost",
        {},
    ),
    "in": ("SELECT COUNT(*) FROM patient WHERE ssn NOT IN (SELECT patient_ssn FROM visit WHERE cost > 100)", {}),
    "exists": (
        "SELECT COUNT(*) FROM visit v WHERE EXISTS "
        "(SELECT 1 FROM visit w WHERE w.patient_ssn = v.patient_ssn AND w.day > v.day)",
        {},
    ),
    "union": (
        "SELECT COUNT(*) FROM (SELECT patient_ssn FROM visit WHERE city = 'Nice' UNION SELECT ssn FROM patient) AS t",
        {},
    ),
    "per-person": (
        "SELECT n, COUNT(*) FROM (SELECT patient_ssn, COUNT(*) AS n, AVG(cost) AS a FROM visit GROUP BY patient_ssn) "
        "AS t WHERE a > 100 GROUP BY n",
        {"rows_per_unit": 1},
    ),
    "window": (
        "SELECT COUNT(*) FROM (SELECT patient_ssn, RANK() OVER (PARTITION BY patient_ssn ORDER BY day) AS r "
        "FROM visit) AS t WHERE r = 1",
        {},
    ),
    "stages": ("SELECT COUNT(*) FROM visit WHERE cost > (SELECT AVG(cost) FROM visit)", {}),
    "stages-by-key": (
        "SELECT COUNT(*) FROM visit v WHERE cost > (SELECT AVG(cost) FROM visit w WHERE w.city = v.city)",
        {},
    ),
    "open-key": ("SELECT street, area, COUNT(*) FROM patient GROUP BY street, area", {}),
    "open-keys-of-many-rows": ("SELECT note, COUNT(*) FROM visit GROUP BY note", {}),
    "rollup": ("SELECT area, COUNT(*), GROUPING(area) FROM patient GROUP BY ROLLUP (area)", {}),
    "gaussian": ("SELECT city, COUNT(*) FROM visit GROUP BY city", {"noise": "gaussian"}),
    "variance": ("SELECT VAR_SAMP(age), AVG(age), COUNT(age) FROM patient", {}),
    "variance-weighted": ("SELECT city, STDDEV(cost) FROM visit GROUP BY city", {}),
    "correlation": ("SELECT CORR(age, salary), REGR_SLOPE(age, salary) FROM patient", {}),
    "covariance": ("SELECT COVAR_POP(age, salary) FROM patient", {}),
    "median": ("SELECT disease, MEDIAN(age) FROM patient GROUP BY disease", {}),
    "ends": ("SELECT MIN(cost), MAX(day) FROM visit", {}),
    "percentiles": (
        "SELECT PERCENTILE_CONT(0.1) WITHIN GROUP (ORDER BY cost), PERCENTILE_DISC(0.9) WITHIN GROUP (ORDER BY cost) "
        "FROM visit",
        {},
    ),
    "mode": ("SELECT MODE() WITHIN GROUP (ORDER BY city) FROM visit", {}),
    "different": ("SELECT city, COUNT(DISTINCT note) FROM visit GROUP BY city", {}),
    "truths": ("SELECT BOOL_OR(age > 100), BOOL_AND(age > 17) FROM patient", {}),
    "above-the-cut": (
        "SELECT area, COUNT(*) / 40 AS n FROM patient GROUP BY area HAVING COUNT(*) > 100 ORDER BY n DESC LIMIT 2",
        {},
    ),
}


def page(sql, options):
    made = planned(sql, **options)
    lines = ["-- the analyst's", sql]
    for number, cut in enumerate(made.cuts):
        for part in cut.parts:
            lines += release(f"release {number}", cut, part)
    lines += ["", "-- above the cut", finish(made.question.post_processing).text]
    lines += ["", "-- the event", str(made.event), "", "-- notes", *(text for _, text in made.notes)]
    return "\n".join(lines) + "\n"


def release(title, cut, part):
    """One grouping set of one release."""
    lines = ["", f"-- {title}, the engine's"]
    step = r"(?<=\)),? (?=\w+ AS \(SELECT|SELECT .* FROM person AS p)"
    texts = plain(part.job)
    both = [one.text for one in (texts.people, texts.sums) if one is not None]
    lines += [re.sub(step, lambda m: m[0].strip() + "\n", text) for text in both]
    lines += ["", f"-- groups: {len(part.groups)}"]
    lines += [", ".join("NULL" if value is None else str(value) for value in group) or "(all)" for group in part.groups]
    if part.selection is not None:
        lines += ["", "-- open keys", str(part.selection)]
    lines += ["", "-- bundles, each with what one person can change, its scale and its unit"]
    extras = iter(texts.extras)
    for number, released in enumerate(part.bundles):
        names = [aggregate.name for _, aggregate, source in cut.sources if source.bundle == number]
        lines.append(f"{' and '.join(names)}: {released.sensitivity}, {released.scale}, {released.unit}")
        if released.extra is not None:
            lines += [
                f"  {next(extras).text}",
                f"  {released.extra.law}, {released.extra.low} to {released.extra.high}",
                *(["  " + str(released.extra.around)] if released.extra.around is not None else []),
            ]
    return lines


@pytest.mark.parametrize("name", ASKED)
def test_questions_become_what_they_became(name, golden):
    golden(f"sql/{name}.txt", page(*ASKED[name]))


def test_aggregates_of_the_table_have_three_pairs_each():
    from sfumato.algebra.aggregates import AGGREGATES

    spelled = {"count": r"COUNT\((?!DISTINCT)", "sum": r"SUM\(", "avg": r"AVG\("}
    for name, spelling in spelled.items():
        assert name in AGGREGATES
        assert sum(bool(re.search(spelling, sql)) for sql, _ in ASKED.values()) >= 3, name


def test_keys_of_stored_answers_stay_what_they_were(golden):
    """The key under which an answer is stored: another one for the same query would make everybody pay again."""
    golden(
        "sql/digests.txt",
        "".join(f"{planned(sql, **options).digest}  {name}\n" for name, (sql, options) in ASKED.items()),
    )
