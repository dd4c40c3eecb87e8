"""A SparkSession that is tuned for streaming: one function, no framework.

Spark's defaults suit large batches on large clusters: a micro-batch of a thousand rows costs a
quarter of a second of file-system calls and loopback sockets. The settings below bring it down to
less than a third, and what the caller says goes over them. Nothing here knows a topic or a broker;
PySpark is imported when a session is asked for.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, MutableMapping
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from headrace.errors import ConfigError, HeadraceError
from headrace.pipelines import source_environment
from headrace.pipelines.quick_workers import quick_workers
from headrace.pipelines.sink.output_modes import refuse_updates, take_updates
from headrace.pipelines.source.scans import read_for_each_plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Connector: TypeAlias = Literal["headrace", "jar"]

# Good on any cluster, and accepted at run time by a Spark Connect server too.
EVERYWHERE: Final = {
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
# Only with a local master. The default manager of checkpoint files guards against a second driver
# on the same checkpoint, and pays for it with some forty processes per batch.
ONE_DRIVER: Final = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
PACKAGES: Final = "spark.jars.packages"
SHUFFLE_PARTITIONS: Final = "spark.sql.shuffle.partitions"
SCALA: Final = "2.13"
_DEFAULT_MASTER: Final = re.compile(r"^\s*spark\.master\s*[\s=]\s*(\S+)", re.MULTILINE)


class SparkMissing(HeadraceError):
    """PySpark, or the part of it that is asked for, is not installed."""


def session(
    name: str = "headrace",
    *,
    master: str | None = None,
    remote: str | None = None,
    config: Mapping[str, object] | None = None,
    connector: Connector = "headrace",
    ui: bool | None = None,
) -> SparkSession:
    """The tuned session, or the one that is already running with its run-time settings tuned.

    `master` is any that Spark knows (`local[*]`, `spark://…`, `yarn`, `k8s://…`) or the address of
    a Spark Connect server (`sc://…`, also as `remote`). Without one: $HEADRACE_MASTER, else what
    Spark has been told, else `local[*]`. `config` are settings of Spark that win over ours.
    `connector="jar"` also fetches Spark's own Kafka connector from Maven. `ui` turns Spark's web
    pages on or off; by default they are off with a local master.
    """
    if connector not in ("headrace", "jar"):
        raise ConfigError(f'connector is "{connector}"; allowed are "headrace" and "jar"')
    given = {key: as_text(value) for key, value in (config or {}).items()}
    chosen = choose_master(remote or master or given.get("spark.master"), os.environ)
    spark_session = _import_session()
    if is_remote(chosen):
        return _connect(spark_session, name, str(chosen), given)
    builder = spark_session.builder.appName(name)
    starts_here = not is_running() and is_local(chosen)
    if not is_running():
        _prepare_environment(chosen, os.environ)
        given = start_settings(chosen, given, connector, ui=ui, spark_version=_spark_version())
    for key, value in given.items():
        builder = builder.config(key, value)
    with quick_workers(os.environ) if starts_here else nullcontext():
        spark: SparkSession = builder.getOrCreate()
    _tune(spark, given)
    read_for_each_plan(spark)
    take_updates(spark)
    source_environment.settle(spark)
    return spark


def end_session(spark: SparkSession, *, timeout_s: float = 60) -> None:
    """Stop the session and wait until its JVM, if this process started it, has gone."""
    gateway = None if is_connected(spark) else cast(Any, spark.sparkContext)._gateway
    try:
        spark.stop()
    except Exception:
        if gateway is None:
            raise
        # The JVM has ended before us, and there is nothing left to stop.
    process = getattr(gateway, "proc", None)
    if gateway is None or process is None:
        return
    from subprocess import TimeoutExpired

    from pyspark import SparkContext

    gateway.shutdown()
    # The JVM ends with its input. A later session must not look for this one.
    process.stdin.close()
    try:
        process.wait(timeout_s)
    except TimeoutExpired:
        process.kill()
        process.wait()
    SparkContext._gateway = None
    SparkContext._jvm = None


def activate(spark: SparkSession) -> None:
    """Let Spark's own functions find the session in the calling thread; each thread has its own."""
    if not is_connected(spark):
        inside = cast(Any, spark)
        inside._get_j_spark_session_class(inside._jvm).setActiveSession(inside._jsparkSession)


def is_connected(spark: SparkSession) -> bool:
    """Whether this is a client of a Spark Connect server."""
    return ".connect." in type(spark).__module__


def choose_master(given: str | None, environment: Mapping[str, str]) -> str | None:
    """The master to ask for; None leaves it to spark-submit, which has been told."""
    chosen = given or environment.get("HEADRACE_MASTER") or environment.get("SPARK_REMOTE")
    if chosen:
        return chosen
    if "PYSPARK_GATEWAY_PORT" in environment or "PYSPARK_SUBMIT_ARGS" in environment:
        return None
    return _default_master(environment) or environment.get("MASTER") or "local[*]"


def _default_master(environment: Mapping[str, str]) -> str | None:
    """The master of spark-defaults.conf, if this machine has such a file."""
    home = environment.get("SPARK_HOME")
    folder = environment.get("SPARK_CONF_DIR") or (home and f"{home}/conf")
    if not folder:
        return None
    try:
        text = Path(folder, "spark-defaults.conf").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = _DEFAULT_MASTER.findall(text)
    return found[-1] if found else None


def is_remote(master: str | None) -> bool:
    """Whether this is the address of a Spark Connect server."""
    return master is not None and master.startswith("sc://")


def is_local(master: str | None) -> bool:
    """Whether driver and executors are one process on this machine."""
    return master is not None and (master == "local" or master.startswith("local["))


def as_text(value: object) -> str:
    """A setting as Spark reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def start_settings(
    master: str | None,
    given: Mapping[str, str],
    connector: Connector,
    *,
    ui: bool | None,
    spark_version: str,
) -> dict[str, str]:
    """What must be known when the JVM starts: ours, under what the caller gave."""
    log_settings = Path(__file__).with_name("log4j2.properties")
    settings = {
        "spark.ui.showConsoleProgress": "false",
        JAVA_OPTIONS: f"-Dlog4j2.configurationFile=file:{log_settings}",
    }
    if master is not None:
        settings["spark.master"] = master
    if ui is not None or is_local(master):
        settings["spark.ui.enabled"] = as_text(bool(ui))
    if os.name == "posix":
        settings["spark.python.unix.domain.socket.enabled"] = "true"
    merged = settings | dict(given)
    if JAVA_OPTIONS in given:
        merged[JAVA_OPTIONS] = f"{settings[JAVA_OPTIONS]} {given[JAVA_OPTIONS]}"
    if connector == "jar" and not _names_connector(given):
        wanted = f"org.apache.spark:spark-sql-kafka-0-10_{SCALA}:{spark_version}"
        merged[PACKAGES] = ",".join(filter(None, (given.get(PACKAGES), wanted)))
    return merged


def _names_connector(given: Mapping[str, str]) -> bool:
    return any("spark-sql-kafka" in given.get(key, "") for key in (PACKAGES, "spark.jars"))


def _import_session() -> Any:
    try:
        from pyspark.sql import SparkSession
    except ImportError as fault:
        raise SparkMissing(
            f"pipelines need PySpark ({fault}); pip install 'headrace[spark]'"
        ) from None
    return SparkSession


def _spark_version() -> str:
    import pyspark

    return pyspark.__version__


def is_running() -> bool:
    """Whether this process has a session already, whoever began it."""
    if "pyspark" not in sys.modules:
        return False
    from pyspark import SparkContext

    return SparkContext._active_spark_context is not None


def _prepare_environment(master: str | None, environment: MutableMapping[str, str]) -> None:
    """Set what only the environment can tell the JVM and its Python workers."""
    if "PYSPARK_GATEWAY_PORT" in environment:
        return  # spark-submit has started the JVM already
    from headrace.java.installation import find_java

    # A JDK that is installed but not on the PATH is found by us and not by Spark's script.
    environment["JAVA_HOME"] = str(find_java(environment))
    if is_local(master):
        # Workers run under this very Python, not under whichever `python3` the PATH has first.
        environment.setdefault("PYSPARK_PYTHON", sys.executable)
        # Nothing of a local session is for other machines, whatever the host's name resolves to.
        environment.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def _tune(spark: SparkSession, given: Mapping[str, str]) -> None:
    """Set what can be set at run time, where neither the caller nor spark-defaults.conf did."""
    context = spark.sparkContext
    wanted = dict(EVERYWHERE)
    if is_local(context.master):
        wanted |= ONE_DRIVER
        wanted[SHUFFLE_PARTITIONS] = str(context.defaultParallelism)
        _leave_out_checksum_files(spark)
    said = context.getConf()
    for key, value in wanted.items():
        if key not in given and not said.contains(key):
            spark.conf.set(key, value)


def _leave_out_checksum_files(spark: SparkSession) -> None:
    """Hadoop keeps a `.crc` beside each local file: one more file per file of every checkpoint."""
    jvm: Any = spark.sparkContext._jvm
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    local_files = jvm.org.apache.hadoop.fs.FileSystem.get(jvm.java.net.URI("file:///"), hadoop)
    local_files.setWriteChecksum(False)


def _connect(spark_session: Any, name: str, address: str, given: Mapping[str, str]) -> SparkSession:
    """A session on a Spark Connect server, with the settings that it takes from clients."""
    builder = spark_session.builder.appName(name).remote(address)
    # The master is the server's matter, and naming two of them is refused.
    settings = {key: value for key, value in given.items() if key != "spark.master"}
    for key, value in (EVERYWHERE | settings).items():
        builder = builder.config(key, value)
    try:
        spark: SparkSession = builder.getOrCreate()
    except ImportError as fault:
        raise SparkMissing(
            f"Spark Connect needs more packages ({fault}); pip install 'pyspark[connect]'"
        ) from None
    refuse_updates()
    return spark
