"""Text files: every one is read whole, to the last row and byte, or refused with an error that names it."""

import csv
import gzip

import duckdb
import pytest

import sfumato
from sfumato.engines.duckdb import text_files as texts
from sfumato.errors import PolicyError
from sfumato.owner.admission import check

HEAD = b"who,note\n"
ENDS = "\x0b\x0c\x1c\x85\u2028"
TWO = [("a", "1"), ("b", "2")]
LONG = b"x" * (texts.LONGEST_LINE - 100)
TOO_LONG = b"x" * (40 << 20)
"""More than the engine's buffer of 32 MB: by itself it would leave such a line out at the end of a file."""
MANY_LINES = (b"y" * 1000 + b"\n") * 4_000
BIG = b"x" * (3 << 20)

READ = {
    "two rows": (HEAD + b"a,1\nb,2\n", TWO),
    "no end of the last line": (HEAD + b"a,1\nb,2", TWO),
    "carriage returns alone": (b"who,note\ra,1\rb,2\r", TWO),
    "carriage returns alone, other signs in rows": (b"who,note\ra,1;;;;;\rb,2\r", [("a", "1;;;;;"), ("b", "2")]),
    "both": (b"who,note\r\na,1\r\nb,2\r\n", TWO),
    "a byte order mark": (b"\xef\xbb\xbf" + HEAD + b"a,1\nb,2\n", TWO),
    "empty lines at the end": (HEAD + b"a,1\nb,2\n\n\n", TWO),
    "a quoted end of line": (HEAD + b'a,"1\n2"\nb,2\n', [("a", "1\n2"), ("b", "2")]),
    "a quoted end of line, both": (b'who,note\r\na,"1\r\n2"\r\nb,2\r\n', [("a", "1\r\n2"), ("b", "2")]),
    "a quoted quote": (HEAD + b'a,"x""y"\nb,2\n', [("a", 'x"y'), ("b", "2")]),
    "a quote in the middle": (HEAD + b'a,x"y\nb,2\n', [("a", 'x"y'), ("b", "2")]),
    "a comment is a row": (HEAD + b"#a,1\nb,2\n", [("#a", "1"), ("b", "2")]),
    "other ends of lines": (HEAD + f"a,{ENDS}\nb,2\n".encode(), [("a", ENDS), ("b", "2")]),
    "such ends in a name": ("who,note,\x85\x0c\na,1,x\nb,2,x\n".encode(), [(*row, "x") for row in TWO]),
    "a name over two lines": (b'who,note,"no\nte"\na,1,x\nb,2,x\n', [(*row, "x") for row in TWO]),
    "a NUL": (HEAD + b"a,\x00\nb,2\n", [("a", "\x00"), ("b", "2")]),
    "a long last line": (HEAD + b"a,1\nb," + LONG, [("a", "1"), ("b", LONG.decode())]),
    "a long first line": (HEAD + b"b," + LONG + b"\na,1\n", [("b", LONG.decode()), ("a", "1")]),
    "a long row of many lines": (HEAD + b'a,1\nb,"' + MANY_LINES + b'"\n', [("a", "1"), ("b", MANY_LINES.decode())]),
    "the same before another": (HEAD + b'b,"' + MANY_LINES + b'"\na,1', [("b", MANY_LINES.decode()), ("a", "1")]),
    "nothing but names": (HEAD, []),
    "no end after the names": (b"who,note", []),
}  # fmt: skip
REFUSED = {
    "a last line that is too long": HEAD + b"a,1\nb," + TOO_LONG + b"\n",
    "the same without its end": HEAD + b"a,1\nb," + TOO_LONG,
    "the only line": HEAD + b"b," + TOO_LONG,
    "the first line": HEAD + b"b," + BIG + b"\na,1\n",
    "a line in the middle": HEAD + b"a,1\nb," + BIG + b"\nc,3\n",
    "just above": HEAD + b"a,1\nb," + b"x" * texts.LONGEST_LINE,
    "after many rows": HEAD + b"a,1\n" * (1 << 20) + b"b," + TOO_LONG + b"\n",
    "with carriage returns in it": HEAD + b"a,1\nb," + (b"x" * 999_999 + b"\r") * 3 + b"\n",
    "after carriage returns": b"who,note\ra,1\rb," + BIG + b"\r",
    "a quoted one": HEAD + b'a,1\nb,"' + BIG + b'"\n',
    "a quote that does not end": HEAD + b'a,1\nb,"2\nc,3\n',
    "text after a quote": HEAD + b'a,1\nb,"2"x\nc,3\n',
    "too few fields": HEAD + b"a,1\nb\nc,3\n",
    "too few at the end": HEAD + b"a,1\nb",
    "too many fields": HEAD + b"a,1\nb,2,9\nc,3\n",
    "blanks": HEAD + b"a,1\n  \nb,2\n",
    "NULs": HEAD + b"a,1\n\x00\x00\nb,2\n",
    "a title before the names": b"My table\nwho,note\na,1\n",
    "two kinds of ends": b"who,note\r\na,1\nb,2\r\n",
    "carriage returns after the names": HEAD + b"a,1\rb,2\r",
    "UTF-16": "who,note\na,1\n".encode("utf-16"),
    "UTF-16, big": "who,note\na,1\n".encode("utf-16-be"),
    "UTF-16 without a mark": "who,note\na,1\n".encode("utf-16-le"),
    "Latin-1": HEAD + "a,é\nb,2\n".encode("latin-1"),
    "half of a letter at the end": HEAD + b"a,1\nb,\xc3",
    "half of a pair": HEAD + b"a,\xed\xa0\x80\nb,2\n",
    "a name that is too long": b"who," + b"n" * 200_000 + b"\na,1\n",
    "nothing": b"",
}
GZIPPED = ("two rows", "a last line that is too long", "the only line", "too few fields", "a long last line")

POLICY = """
[source]
engine = "duckdb"
files = {{ t = "{file}" }}
[data]
id = "d"
[privacy]
epsilon = 1e12
query_epsilon = 1e9
[tables.t]
{kind}
[tables.t.columns]
{columns}
"""
KINDS = {
    "public": ("public = true", ""),
    "protected": (
        'unit = "who"\nrows_per_unit = 1',
        "who = { type = 'text', max_length = 9 }\nnote = { type = 'text', max_length = 9 }",
    ),
}


def write(folder, data, kind, ending=".csv"):
    (folder / f"t{ending}").write_bytes(gzip.compress(data, 1) if ending.endswith("gz") else data)
    head, columns = KINDS[kind]
    policy = folder / "sfumato.toml"
    policy.write_text(POLICY.format(file=f"t{ending}", kind=head, columns=columns), encoding="utf-8")
    return policy


def look(policy):
    """What the policy's table holds, by what a query says of it."""
    with sfumato.open(policy) as gate:
        if gate.policy.tables["t"].public:
            return [tuple(str(value) for value in row) for row in gate.sql("SELECT * FROM t").rows]
        return gate.sql("SELECT COUNT(*) FROM t").rows[0][0]


def cases(names):
    """Every file as a public and as a protected table; in turns one of the two runs always, and both with `slow`."""
    both = [(name, kind, ending) for name in names for ending in (".csv", ".csv.gz") for kind in KINDS
            if ending == ".csv" or name in GZIPPED]  # fmt: skip
    slow = pytest.mark.slow
    return [pytest.param(*case, marks=[] if i % 4 in (0, 3) else slow) for i, case in enumerate(both)]


@pytest.mark.parametrize(("name", "kind", "ending"), cases(READ))
def test_a_text_file_is_read_whole_or_refused(tmp_path, name, kind, ending):
    data, rows = READ[name]
    policy = write(tmp_path, data, kind, ending)
    assert check(policy).problems == ()
    cut = [tuple(value[:10_000] for value in row) for row in rows]
    assert look(policy) == (len(rows) if kind == "protected" else cut)


@pytest.mark.parametrize(("name", "kind", "ending"), cases(REFUSED))
def test_a_text_file_that_cannot_be_read_is_refused(tmp_path, name, kind, ending):
    policy = write(tmp_path, REFUSED[name], kind, ending)
    problem = check(policy).problems[0]
    told = f"{problem.message} {problem.detail}"
    assert "t.csv" in told or "has no column" in told, told
    assert "xxxx" not in told
    with pytest.raises(PolicyError):
        look(policy)


def test_lines_in_a_quoted_text_are_no_rows(tmp_path):
    """Where a scanner begins in the middle of a large file, a line of somebody's note looks like a row."""
    note, many = "forged,7\n" * 20, 150_000
    data = HEAD + "".join(f'p{i},"{note}"\n' for i in range(many)).encode()
    assert len(data) > 3 * (8 << 20)  # the engine's scanners take 8 MiB each
    policy = write(tmp_path, data, "protected")
    assert check(policy).problems == ()
    assert look(policy) == many


@pytest.mark.parametrize("cut", [20, -4, None])
def test_a_gzip_file_that_is_cut_is_refused(tmp_path, cut):
    policy = write(tmp_path, HEAD + b"a,1\nb,2\n" * 1000, "protected", ".csv.gz")
    place = tmp_path / "t.csv.gz"
    place.write_bytes(place.read_bytes()[:cut] if cut else b"no such file")
    (problem,) = check(policy).problems
    assert "t.csv.gz" in problem.message
    with pytest.raises(PolicyError, match=r"t\.csv\.gz"):
        look(policy)


def test_lines_are_skipped_over_wherever_a_chunk_ends(tmp_path, monkeypatch):
    """Every length of lines against every size of chunks: found exactly where a line is too long."""
    monkeypatch.setattr(texts, "LONGEST_LINE", 7)
    place = tmp_path / "t.csv"
    for chunk in range(1, 12):
        monkeypatch.setattr(texts, "_CHUNK", chunk)
        for end in (b"\n", b"\r"):
            for lengths in ((3, 7, 0, 7), (8,), (7, 8), (8, 1), (1, 2, 9, 1), (7, 7, 7), (6, 10), (0, 0, 0)):
                for last in (end, b""):
                    place.write_bytes(
                        b"".join(b"x" * length + end for length in lengths[:-1]) + b"x" * lengths[-1] + last
                    )
                    if max(lengths) > 7:
                        with pytest.raises(PolicyError, match="longer than 7 bytes"):
                            texts._check_lines(str(place))
                    else:
                        texts._check_lines(str(place))


def test_the_engine_leaves_such_a_line_out_by_itself(tmp_path):
    """Why lines are looked at here: with this test failing, the engine has mended it."""
    place = tmp_path / "t.csv"
    place.write_bytes(HEAD + b"a,1\nb," + TOO_LONG + b"\n")
    columns = "{who: 'VARCHAR', note: 'VARCHAR'}"
    sql = f"SELECT COUNT(*) FROM read_csv('{place}', auto_detect = false, header = true, columns = {columns})"
    with duckdb.connect() as connection:
        assert connection.execute(sql).fetchone() == (1,)


def test_a_long_name_is_refused_whatever_limit_others_set(tmp_path):
    """The standard library's limit on fields belongs to the whole process: nothing here may rest on it."""
    before = csv.field_size_limit(1 << 24)
    try:
        policy = write(tmp_path, REFUSED["a name that is too long"], "public")
        assert "longer than 10,000 characters" in check(policy).problems[0].message
    finally:
        csv.field_size_limit(before)
