"""What the tests of the PostgreSQL door share: a server in a thread, a raw client, and a gateway that counts."""

import hashlib
import hmac
import socket
import ssl
import struct
from base64 import b64decode, b64encode
from functools import partial

from tests.end_to_end.hosting import PASSWORD, Hosted, dsn, hosting, let_in

from sfumato.cli import clinic
from sfumato.server.audit_log import AuditLog
from sfumato.server.pgwire.server import WireServer
from sfumato.server.pgwire.startup import WireLimits
from sfumato.server.pgwire.tls import tls
from sfumato.server.users import Users

SHARE = "epsilon = 1                                # a share"
TOTAL = "epsilon = 4                                # the total"


def make_clinic(home, written, *changes):
    """The clinic's files, with changes of its policy."""
    home.mkdir(parents=True, exist_ok=True)
    for name in clinic.FILES:
        (home / name).write_bytes((written / name).read_bytes())
    for old, new in changes:
        change_policy(home, old, new)
    return home / clinic.POLICY_FILE


def change_policy(home, old, new):
    """Write other words into the clinic's policy."""
    policy = home / clinic.POLICY_FILE
    text = policy.read_text()
    assert text.count(old) == 1, old
    policy.write_text(text.replace(old, new))


RICH = ((TOTAL, "epsilon = 1000 # everything"), (SHARE, "epsilon = 900 # a share"))


class Served:
    """A server in a thread of its own."""

    def __init__(self, gate, limits=None, encrypted=True, users=("ana",)):
        state = gate.policy.data.state
        self.gate, self.users = gate, Users(state)
        self.users.prepare()
        let_in(self.users, users)
        self.journal = AuditLog(state)
        secure = tls(state, "127.0.0.1") if encrypted else None
        self.server = WireServer(gate, self.users, self.journal, limits=limits or WireLimits(), tls=secure)
        self._hosted = Hosted(self.server)
        self.host, self.port = self._hosted.host, self._hosted.port

    def stop(self):
        self._hosted.stop()
        self.journal.close()

    def dsn(self, user="ana", **more):
        return dsn(self.host, self.port, user, **more)


def serving(policy, **options):
    return hosting(policy, partial(Served, **options))


def debits(served, analyst="ana"):
    """What was spent, as the ledger knows it."""
    return served.gate.budget(analyst).spent.epsilon


# frontend messages, as bytes


def text(value):
    return value.encode() + b"\0"


def framed(kind, body=b""):
    return kind.encode() + struct.pack("!I", len(body) + 4) + body


def startup(user="ana", database="clinic", version=196608, **more):
    body = struct.pack("!I", version)
    for name, value in {"user": user, "database": database, **more}.items():
        body += text(name) + text(value)
    return struct.pack("!I", len(body) + 5) + body + b"\0"


def query(sql):
    return framed("Q", text(sql))


def parse(sql, name="", types=()):
    return framed("P", text(name) + text(sql) + struct.pack(f"!H{len(types)}I", len(types), *types))


def bind(values=(), portal="", statement="", formats=(), results=()):
    body = text(portal) + text(statement) + struct.pack(f"!H{len(formats)}H", len(formats), *formats)
    body += struct.pack("!H", len(values))
    for value in values:
        body += struct.pack("!i", -1) if value is None else struct.pack("!I", len(value)) + value
    return framed("B", body + struct.pack(f"!H{len(results)}H", len(results), *results))


def describe(kind="P", name=""):
    return framed("D", kind.encode() + text(name))


def execute(portal="", limit=0):
    return framed("E", text(portal) + struct.pack("!I", limit))


def close(kind="P", name=""):
    return framed("C", kind.encode() + text(name))


SYNC, FLUSH, QUIT = framed("S"), framed("H"), framed("X")


def split(data):
    """Backend messages as (kind, body)."""
    found = []
    while data:
        (length,) = struct.unpack("!I", data[1:5])
        assert len(data) >= length + 1
        found.append((chr(data[0]), data[5 : length + 1]))
        data = data[length + 1 :]
    return found


def fields_of(body):
    """The fields of an error or a notice."""
    return {part[:1].decode(): part[1:].decode() for part in body.split(b"\0") if part}


def row_of(body):
    """The cells of a DataRow."""
    (count,), at, cells = struct.unpack("!H", body[:2]), 2, []
    for _ in range(count):
        (size,) = struct.unpack("!i", body[at : at + 4])
        at += 4
        cells.append(None if size < 0 else body[at : at + size])
        at += max(size, 0)
    return cells


class Raw:
    """A client that says exactly what it is told to say."""

    def __init__(self, served, *, login=True, user="ana", password=PASSWORD, encrypted=False, **more):
        self.socket = socket.create_connection((served.host, served.port), timeout=60)
        if encrypted:
            self.socket.sendall(struct.pack("!II", 8, 80877103))
            assert self.socket.recv(1) == b"S"
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            self.socket = context.wrap_socket(self.socket)
        self.heard = b""
        if login:
            self.send(startup(user, **more))
            self.greeting = self.login(password)

    def send(self, *data):
        self.socket.sendall(b"".join(data))

    def message(self):
        """The next message, or None where the server has closed."""
        while len(self.heard) < 5 or len(self.heard) < struct.unpack("!I", self.heard[1:5])[0] + 1:
            more = self.socket.recv(65536)
            if not more:
                return None
            self.heard += more
        (length,) = struct.unpack("!I", self.heard[1:5])
        one, self.heard = self.heard[: length + 1], self.heard[length + 1 :]
        return split(one)[0]

    def until(self, *kinds):
        """Everything up to a message of one of these kinds, or to the end."""
        found = []
        while (message := self.message()) is not None:
            found.append(message)
            if message[0] in kinds:
                break
        return found

    def ask(self, *data):
        self.send(*data)
        return self.until("Z")

    def login(self, password):
        found = [self.message()]
        if found[0] is None or found[0][0] != "R":
            return found
        bare = "n=,r=abcdef"
        first = b"n,," + bare.encode()
        self.send(framed("p", text("SCRAM-SHA-256") + struct.pack("!I", len(first)) + first))
        found.append(self.message())
        words = found[-1][1][4:].decode()
        parts = dict(part.split("=", 1) for part in words.split(","))
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), b64decode(parts["s"]), int(parts["i"]))
        key = hmac.digest(salted, b"Client Key", "sha256")
        without = f"c={b64encode(b'n,,').decode()},r={parts['r']}"
        signed = f"{bare},{words},{without}".encode()
        signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
        proof = b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
        self.send(framed("p", f"{without},p={proof}".encode()))
        return found + self.until("Z", "E")

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def kinds(messages):
    return "".join(kind for kind, _ in messages)
