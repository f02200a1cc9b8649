"""One run of the fuzzers: bytes in, nothing out but the knowledge that nothing broke.

`python tests/end_to_end/fuzz.py -runs=20000` lets atheris (libFuzzer) look for bytes that do break something, guided by
what they reach; without it `test_pgwire_fuzz` changes good conversations at random. No socket, no thread, no gateway:
whatever a session asks for is counted, and only Execute and Query may ask for an answer.
"""

import struct
import sys

if __name__ == "__main__":  # first of all: only what is imported now is watched
    import atheris

    with atheris.instrument_imports(
        include=["sfumato.server.pgwire", "sfumato.server.scram", "sfumato.sql.read.lexer"]
    ):
        import sfumato.server.pgwire.protocol_state
        import sfumato.server.scram  # noqa: F401 - used below by its names

from tests.end_to_end import pg
from tests.end_to_end.test_pgwire_state import Fake

from sfumato.errors import SfumatoError
from sfumato.server.pgwire import messages as m
from sfumato.server.pgwire.types import BY_ARRAY, BY_OID, decode
from sfumato.server.scram import ScramExchange, verifier

OIDS = [*BY_OID, *BY_ARRAY]
KNOWN = verifier("correct horse", b"salt" * 4, 1)
MOST = 64
"""Messages of one conversation."""

SEEDS = [
    b"\0" + pg.query("SELECT n FROM t; SET sfumato.epsilon = 0.5; SHOW TimeZone"),
    b"\0" + pg.parse("SELECT n FROM t WHERE age > $1") + pg.describe("S") + pg.bind([b"1"]) + pg.execute() + pg.SYNC,
    b"\0" + pg.parse("SELECT n FROM t", "a") + pg.bind(statement="a", portal="p", results=(1,)) + pg.describe("P", "p")
    + pg.execute("p", 2) + pg.execute("p", 2) + pg.close("P", "p") + pg.SYNC,
    b"\0" + pg.query("BEGIN") + pg.query("DECLARE c CURSOR FOR SELECT n FROM t") + pg.query("FETCH 2 FROM c; COMMIT"),
    b"\0" + pg.query("COPY (SELECT n FROM t) TO STDOUT (FORMAT csv, HEADER, DELIMITER ';')"),
    b"\0" + pg.query("PREPARE a (int) AS SELECT n FROM t WHERE age > $1; EXECUTE a (5); DEALLOCATE ALL"),
    b"\0" + pg.query("SAVEPOINT s") + pg.query("/* epsilon=0.5 */ SELECT $$x$$, E'\\n', n FROM t") + pg.query("bad"),
    b"\1" + pg.startup(options="-c sfumato.epsilon=1")[4:],
    b"\1" + struct.pack("!III", 80877102, 1, 2),
    b"\2n,,n=,r=abcdef\0c=biws,r=abcdef,p=AAAA",
    b"\3\0\0{1,2,NULL}",
    b"\3\x05\1" + struct.pack("!HhHHH", 1, 0, 0, 0, 42),
]  # fmt: skip


def one(data: bytes) -> None:
    """Anything but one of the house's errors is a finding."""
    if not data:
        return
    target = (_talk, _start, _prove, _decode)[data[0] % 4]
    target(data[1:])


def _talk(data: bytes) -> None:
    fake = Fake(rows=3)
    fake.drive(fake.session.greet())
    for _ in range(MOST):
        if len(data) < 5:
            return
        kind, (length,) = chr(data[0]), struct.unpack("!I", data[1:5])
        body, data = data[5 : max(4, min(length, len(data))) + 1], data[max(4, min(length, len(data))) + 1 :]
        before = fake.spent
        try:
            steps = fake.session.receive(m.parse(kind, body))
        except SfumatoError as error:
            steps = fake.session.fail(error)
        heard = pg.split(fake.drive(steps))
        assert kind in "QE" or fake.spent == before, f"{kind!r} has spent"
        assert kind != "E" or fake.spent <= before + 1, "one Execute has spent twice"
        assert all(len(body) < 2**20 for _, body in heard)


def _start(data: bytes) -> None:
    try:
        m.parse_startup(data)
    except SfumatoError:
        pass


def _prove(data: bytes) -> None:
    first, _, last = data.partition(b"\0")
    exchange = ScramExchange(KNOWN, genuine=True)
    try:
        exchange.first("SCRAM-SHA-256", first)
        assert exchange.final(last) is None, "somebody came in without a password"
    except SfumatoError:
        pass


def _decode(data: bytes) -> None:
    try:
        decode(data[2:], OIDS[data[0] % len(OIDS)] if data else 25, data[1] % 2 if len(data) > 1 else 0)
    except SfumatoError:
        pass


def main() -> None:
    """Let atheris look."""
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
