"""The settings of a session, as SET, SHOW and ROLLBACK know them.

Comes in: names and values as clients write them. Goes out: values, and which of them the client must be told of. What
PostgreSQL would do with most of them has no meaning here: they are kept, so that tools find what they have set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from types import MappingProxyType
from typing import Any, cast

from sfumato.errors import InputError, QueryError, SfumatoError
from sfumato.gateway import AUTO, NOISES, Query, Rows
from sfumato.sql.read.lexer import SqlStatement
from sfumato.sql.read.zones import UTC_NAMES, zone_named
from sfumato.types import certainty, positive, whole

VERSION = "15.0"
"""Of PostgreSQL, whose catalog and protocol this door speaks."""

REPORTED = (
    "application_name", "client_encoding", "DateStyle", "default_transaction_read_only", "in_hot_standby",
    "integer_datetimes", "IntervalStyle", "is_superuser", "server_encoding", "server_version", "session_authorization",
    "standard_conforming_strings", "TimeZone",
)  # fmt: skip
"""What a client is told of at the start, and whenever it changes."""

_FIXED = {
    "server_version": VERSION, "server_version_num": "150000", "server_encoding": "UTF8", "integer_datetimes": "on",
    "is_superuser": "off", "in_hot_standby": "off", "lc_collate": "C", "lc_ctype": "C", "max_identifier_length": "63",
    "block_size": "8192", "max_index_keys": "32", "data_checksums": "on", "ssl": "on", "port": "5432",
    "max_connections": "100", "transaction_read_only": "on", "wal_level": "minimal", "listen_addresses": "",
}  # fmt: skip
_DEFAULTS = {
    "application_name": "", "client_encoding": "UTF8", "DateStyle": "ISO, MDY", "default_transaction_read_only": "on",
    "IntervalStyle": "postgres", "session_authorization": "", "standard_conforming_strings": "on", "TimeZone": "UTC",
    "search_path": '"$user", public', "client_min_messages": "notice", "statement_timeout": "0", "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0", "idle_session_timeout": "0", "extra_float_digits": "1",
    "transaction_isolation": "read committed", "default_transaction_isolation": "read committed",
    "default_transaction_deferrable": "off", "transaction_deferrable": "off", "bytea_output": "hex",
    "escape_string_warning": "on", "backslash_quote": "safe_encoding", "xmloption": "content", "xmlbinary": "base64",
    "row_security": "on", "role": "none", "work_mem": "4MB", "maintenance_work_mem": "64MB", "jit": "off",
    "synchronous_commit": "on", "lc_messages": "C", "lc_monetary": "C", "lc_numeric": "C", "lc_time": "C",
    "default_tablespace": "", "temp_tablespaces": "", "default_table_access_method": "heap", "geqo": "on",
    "check_function_bodies": "on", "debug_print_plan": "off", "log_statement": "none", "log_min_messages": "warning",
    "log_min_duration_statement": "-1", "quote_all_identifiers": "off", "synchronize_seqscans": "on",
    "enable_seqscan": "on", "enable_indexscan": "on", "enable_bitmapscan": "on", "enable_hashjoin": "on",
    "enable_mergejoin": "on", "enable_nestloop": "on", "enable_sort": "on", "enable_hashagg": "on",
    "enable_parallel_hash": "on", "enable_partition_pruning": "on", "max_parallel_workers_per_gather": "0",
    "random_page_cost": "4", "seq_page_cost": "1", "cursor_tuple_fraction": "0.1", "from_collapse_limit": "8",
    "join_collapse_limit": "8", "gin_fuzzy_search_limit": "0", "plan_cache_mode": "auto", "password_encryption":
    "scram-sha-256", "session_replication_role": "origin", "timezone_abbreviations": "Default", "tcp_keepalives_idle":
    "0", "tcp_keepalives_interval": "0", "tcp_keepalives_count": "0", "client_connection_check_interval": "0",
    "array_nulls": "on", "transform_null_equals": "off", "constraint_exclusion": "partition", "effective_cache_size":
    "4GB", "vacuum_cost_delay": "0", "commit_delay": "0", "track_activities": "on", "stats_fetch_consistency": "cache",
}  # fmt: skip
OURS = {
    "sfumato.epsilon": "", "sfumato.within": "", "sfumato.confidence": "0.95", "sfumato.rows_per_unit": "",
    "sfumato.noise": "", "sfumato.intervals": "off",
}  # fmt: skip
"""Empty: as the policy says."""
_EITHER = {"sfumato.epsilon": "sfumato.within", "sfumato.within": "sfumato.epsilon"}
_ENCODINGS = ("utf8", "unicode", "sqlascii", "default")
_ON, _OFF = ("on", "true", "yes", "1", "t"), ("off", "false", "no", "0", "f")
_SPELLED = {name.lower(): name for name in (*_FIXED, *_DEFAULTS, *OURS)}


@dataclass(frozen=True, slots=True)
class Options:
    """What a question is asked with, as the gateway takes it."""

    epsilon: str | None = None
    within: str | None = None
    confidence: str = "0.95"
    rows_per_unit: Rows = None
    noise: str | None = None
    intervals: bool = False

    def query(self, sql: str) -> Query:
        """A query with these options."""
        return Query(sql, self.epsilon, self.rows_per_unit, self.noise, self.within, _sure(self.confidence))


@lru_cache(maxsize=256)
def _sure(written: str) -> Fraction:
    return certainty(written)


UTC = "UTC"
_MOST, _LONGEST = 250, 100_000
"""Settings that a session may have, beside what it started with, and the characters of all their values."""
_WIDEST = 4
"""Bytes of one character."""
_TIMEOUT = re.compile(r"([0-9]{1,10})\s*(ms|s|min|h|d|)")
_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "": 0.001}


@dataclass
class Settings:
    """Values by name: of the session, and of this transaction alone (SET LOCAL)."""

    user: str
    session: dict[str, str] = field(default_factory=dict)
    local: dict[str, str] = field(default_factory=dict)
    initial: dict[str, str] = field(default_factory=dict)
    _made: dict[str, Any] = field(default_factory=dict)
    """What was worked out from the values, until one of them changes."""

    def get(self, name: str) -> str:
        """The value of a setting, or 42704."""
        name = spelled(name)
        if name == "session_authorization":
            return self.user
        for values in (self.local, self.session, self.initial, _DEFAULTS, OURS, _FIXED):
            if name in values:
                return values[name]
        raise _unknown(name)

    def set(self, name: str, value: str | None, *, local: bool = False) -> None:
        """Change a setting; None is its default."""
        name = spelled(name)
        if value is None:
            self.get(name)
            for values in (self.local, self.session):
                values.pop(name, None)
            self._made.clear()
            return
        others = self.size // _WIDEST - len(self.session.get(name, "")) - len(self.local.get(name, ""))
        if len(name) + len(value) + others > _LONGEST or len({*self.session, *self.local, name}) > _MOST:
            what = f"a session has at most {_MOST} settings, of {_LONGEST} characters together"
            raise QueryError(what, sqlstate="54000", hint="Set fewer of them, to shorter values.")
        changed = {name: _checked(name, value, self.user)}
        if value and name in _EITHER:  # the later one holds: both together would be refused
            changed[_EITHER[name]] = ""
        if local:
            self.local |= changed
        else:
            self.session |= changed
            self.local = {kept: was for kept, was in self.local.items() if kept not in changed}
        self._made.clear()

    def start(self, parameters: dict[str, str]) -> None:
        """Settings that came with the start-up message; what is not known there is passed over by many tools."""
        for name, value in parameters.items():
            if spelled(name) == "TimeZone":
                continue  # drivers send their machine's with every connection; the answer tells them that it is UTC
            try:
                self.initial[spelled(name)] = _checked(spelled(name), value, self.user)
            except SfumatoError:
                if name.lower().startswith("sfumato.") or name.lower() == "client_encoding":
                    raise
        self._made.clear()

    def reset(self) -> None:
        """RESET ALL."""
        self.session.clear()
        self.local.clear()
        self._made.clear()

    @property
    def size(self) -> int:
        """Bytes that the names and values of a session take at most."""
        pairs = (*self.session.items(), *self.local.items())
        return _WIDEST * sum(len(name) + len(value) for name, value in pairs)

    def end_local(self) -> None:
        """The end of a transaction, and with it of SET LOCAL."""
        if self.local:
            self.local.clear()
            self._made.clear()

    def copy(self) -> tuple[dict[str, str], dict[str, str]]:
        """What a rollback goes back to."""
        return dict(self.session), dict(self.local)

    def restore(self, kept: tuple[dict[str, str], dict[str, str]]) -> None:
        """Go back."""
        self.session, self.local = dict(kept[0]), dict(kept[1])
        self._made.clear()

    def reported(self) -> dict[str, str]:
        """What the client follows; the same object until something changes."""
        return cast("dict[str, str]", self._once("reported", lambda: {name: self.get(name) for name in REPORTED}))

    def all(self) -> tuple[tuple[str, str], ...]:
        """Every setting with its value, by name."""
        return cast("tuple[tuple[str, str], ...]", self._once("all", self._all))

    def _all(self) -> tuple[tuple[str, str], ...]:
        names = {*_FIXED, *_DEFAULTS, *OURS, *self.initial, *self.session, *self.local}
        return tuple((name, self.get(name)) for name in sorted(names, key=str.lower))

    def _once(self, what: str, make: Callable[[], Any]) -> Any:
        if what not in self._made:
            self._made[what] = make()
        return self._made[what]

    def options(self, written: dict[str, str]) -> Options:
        """What a question is asked with; `written` stands in a comment before it, and wins."""
        return cast("Options", self._once("options", self._options) if not written else self._options(written))

    def _options(self, written: Mapping[str, str] = MappingProxyType({})) -> Options:
        values = {name: self.get(f"sfumato.{name}") for name in ("epsilon", "within", "confidence", "noise")}
        if {"epsilon", "within"} & written.keys():
            values |= {"epsilon": "", "within": ""}
        rows = self.get("sfumato.rows_per_unit")
        for name, value in written.items():
            checked = _checked(f"sfumato.{name}", value, self.user)
            rows, values = (checked, values) if name == "rows_per_unit" else (rows, values | {name: checked})
        return Options(
            values["epsilon"] or None,
            values["within"] or None,
            values["confidence"],
            _rows(rows),
            values["noise"] or None,
            self.get("sfumato.intervals") == "on",
        )

    def timeout(self) -> float | None:
        """statement_timeout in seconds."""
        return cast("float | None", self._once("timeout", self._timeout))

    def _timeout(self) -> float | None:
        text = self.get("statement_timeout").strip().lower()
        written = _TIMEOUT.fullmatch(text)
        return None if written is None else int(written[1]) * _SECONDS[written[2]] or None


def spelled(name: str) -> str:
    """A name in PostgreSQL's own spelling."""
    return _SPELLED.get(name.lower(), name.lower())


def _unknown(name: str) -> QueryError:
    ours = name.startswith("sfumato.")
    hint = f"Settings: {', '.join(OURS)}; and sfumato.budget, which is read-only." if ours else None
    return QueryError(f'unrecognized configuration parameter "{name}"', sqlstate="42704", hint=hint)


def _checked(name: str, value: str, user: str) -> str:
    """A value as it is kept, or 22023."""
    word = value.strip().lower()
    if name in _FIXED:
        raise QueryError(f'parameter "{name}" cannot be changed', sqlstate="55P02")
    if name not in (*_DEFAULTS, *OURS) and ("." not in name or name.startswith("sfumato.")):
        raise _unknown(name)
    if name in OURS:
        return _ours(name, value.strip())
    if name == "client_encoding":
        if "".join(c for c in word if c.isalnum()) not in _ENCODINGS:
            raise InputError(f'client_encoding "{value}" is not supported', hint="Use UTF8.")
        return "UTF8"
    if name == "standard_conforming_strings" and word not in _ON:
        raise InputError("standard_conforming_strings is always on", hint="Write E'…' where a backslash escapes.")
    if name in ("role", "session_authorization") and word not in ("none", "default", user.lower()):
        raise QueryError(f'"{user}" cannot become "{value}"', sqlstate="42501")
    if name == "TimeZone":
        return _zone(value.strip())
    return {"DateStyle": "ISO, MDY"}.get(name, value)


def _zone(name: str) -> str:
    """The name of a time zone as it is shown, or 22023."""
    if name.lower() in (*UTC_NAMES, "local", "default", "0"):
        return UTC
    zone = zone_named(name)
    if zone is None:
        raise InputError(
            f'time zone "{name}" not recognized', hint="Write UTC, or a name of the tz database such as Europe/Paris."
        )
    return zone.key


def check_zone(statement: SqlStatement, zone: str) -> None:
    """Refuse what means another moment in another time zone of the session: times are in UTC here.

    A timestamp without time zone is the same in every session. now() and current_date are the day in UTC.
    """
    words = [token.word for token in statement.tokens] if zone != UTC else []
    if any(word.startswith("pg_") or word == "information_schema" for word in words):
        return
    for at, word in enumerate(words):
        after = words[at + 1 : at + 3]
        if word in _ZONED or (word in ("at", "with") and after == ["time", "zone"]) or [word, *after[:1]] == _CALLED:
            raise QueryError(
                f"this query depends on the time zone of the session, {zone}, but times are in UTC here",
                position=statement.tokens[at].start + 1,
                hint="Write SET TIME ZONE 'UTC', or timestamps without time zone.",
            )


_ZONED, _CALLED = ("timestamptz", "timetz", "to_timestamp"), ["timezone", "("]
"""Types and functions of moments with a time zone."""


def _rows(value: str) -> Rows:
    return AUTO if value == AUTO else int(value) if value else None


def _ours(name: str, value: str) -> str:
    """The settings of the gateway are checked when they are set, not when they are used."""
    what = name.removeprefix("sfumato.")
    word = value.lower()
    if name == "sfumato.intervals":
        if word not in (*_ON, *_OFF):
            raise InputError(f'sfumato.intervals must be on or off, but is "{value}"')
        return "on" if word in _ON else "off"
    if not value or word == "default":
        return OURS[name]
    if name == "sfumato.noise":
        if word not in NOISES:
            raise InputError(f'noise "{value}" is not known', hint='Use "geometric", "gaussian" or "auto".')
        return word
    if name == "sfumato.rows_per_unit":
        return AUTO if word == AUTO else str(whole(value, what, low=1))
    certainty(value) if name == "sfumato.confidence" else positive(value, what)
    return value
