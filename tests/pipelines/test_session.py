"""The tuned session: what it sets, and what it leaves to others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from headrace.errors import ConfigError
from headrace.pipelines.session import (
    EVERYWHERE,
    JAVA_OPTIONS,
    ONE_DRIVER,
    PACKAGES,
    SparkMissing,
    as_text,
    choose_master,
    is_local,
    is_remote,
    session,
    start_settings,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def settings(
    master: str | None = "local[2]",
    given: dict[str, str] | None = None,
    connector: Any = "headrace",
    *,
    ui: bool | None = None,
) -> dict[str, str]:
    return start_settings(master, given or {}, connector, ui=ui, spark_version="4.3.0")


def test_importing_pipelines_loads_no_spark() -> None:
    """Whoever only wants the decoder pays for neither PySpark nor py4j."""
    code = (
        "import sys, headrace.pipelines as p; print(callable(p.session), 'pyspark' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "True False\n"


def test_without_pyspark_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker needs no Spark, so it may be missing."""
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(SparkMissing, match=r"pip install 'headrace\[spark\]'") as caught:
        session()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "environment", "master"),
    [
        ("yarn", {"HEADRACE_MASTER": "local"}, "yarn"),
        (None, {"HEADRACE_MASTER": "spark://h:7077", "SPARK_HOME": "/s"}, "spark://h:7077"),
        (None, {"SPARK_REMOTE": "sc://h"}, "sc://h"),
        (None, {"SPARK_HOME": "/no/such/folder"}, "local[*]"),
        (None, {"PYSPARK_GATEWAY_PORT": "1", "MASTER": "yarn"}, None),
        (None, {"PYSPARK_SUBMIT_ARGS": "--master yarn pyspark-shell"}, None),
        (None, {"MASTER": "yarn"}, "yarn"),
        (None, {}, "local[*]"),
    ],
)
def test_the_master_is_the_callers_then_ours_then_sparks(
    given: str | None, environment: dict[str, str], master: str | None
) -> None:
    """None leaves the choice to spark-submit."""
    assert choose_master(given, environment) == master


@pytest.mark.parametrize("line", ["spark.master spark://a:1", " spark.master = spark://a:1 "])
def test_the_master_of_sparks_own_file(tmp_path: Path, line: str) -> None:
    """spark-defaults.conf is read as Spark reads it, and goes before $MASTER."""
    file = tmp_path / "conf" / "spark-defaults.conf"
    file.parent.mkdir()
    file.write_text(f"# spark.master yarn\nspark.x 1\n{line}\n")
    environment = {"SPARK_HOME": str(tmp_path), "MASTER": "yarn"}
    assert choose_master(None, environment) == "spark://a:1"
    assert choose_master(None, {"SPARK_CONF_DIR": str(file.parent)}) == "spark://a:1"
    assert choose_master("local", environment) == "local"


def test_masters_by_kind() -> None:
    """A pseudo-cluster in one machine has more than one process."""
    assert all(map(is_local, ["local", "local[*]", "local[4,2]"]))
    assert not any(map(is_local, [None, "local-cluster[2,1,1024]", "yarn", "spark://local"]))
    assert is_remote("sc://h:15002")
    assert not is_remote("spark://h")
    assert not is_remote(None)


def test_what_the_caller_gives_wins() -> None:
    """Java options are put together instead, since ours and theirs rarely meet."""
    made = settings(given={"spark.ui.showConsoleProgress": "true", JAVA_OPTIONS: "-Xss4m"})
    assert made["spark.ui.showConsoleProgress"] == "true"
    assert made[JAVA_OPTIONS].startswith("-Dlog4j2.configurationFile=file:/")
    assert made[JAVA_OPTIONS].endswith(" -Xss4m")
    assert made["spark.master"] == "local[2]"
    file = Path(made[JAVA_OPTIONS].split()[0].partition("file:")[2])
    assert "rootLogger.level = warn" in file.read_text()


def test_web_pages_are_off_where_nobody_else_looks() -> None:
    """With a cluster they stay as the cluster has them."""
    assert settings()["spark.ui.enabled"] == "false"
    assert settings(ui=True)["spark.ui.enabled"] == "true"
    assert "spark.ui.enabled" not in settings("yarn")
    assert settings("yarn", ui=False)["spark.ui.enabled"] == "false"
    assert "spark.master" not in settings(None)


def test_the_jar_connector_fits_the_version_of_spark() -> None:
    """It joins the caller's packages; a version or a file that the caller names is not doubled."""
    jar = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"
    assert PACKAGES not in settings()
    assert settings(connector="jar")[PACKAGES] == jar
    assert settings(given={PACKAGES: "a:b:1"}, connector="jar")[PACKAGES] == f"a:b:1,{jar}"
    own = {PACKAGES: "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"}
    assert settings(given=own, connector="jar")[PACKAGES] == own[PACKAGES]
    assert PACKAGES not in settings(given={"spark.jars": "/x/spark-sql-kafka.jar"}, connector="jar")
    with pytest.raises(ConfigError, match='allowed are "headrace" and "jar"'):
        session(connector=cast(Any, "jars"))


def test_settings_as_spark_reads_them() -> None:
    """Python's True is not Spark's."""
    assert [as_text(value) for value in (True, False, 3, Path("/x"))] == [
        "true",
        "false",
        "3",
        "/x",
    ]


def test_a_running_session_is_tuned(spark: SparkSession, tmp_path: Path) -> None:
    """Every setting has arrived, partitions match the cores, and files have no checksum files."""
    for key, value in (EVERYWHERE | ONE_DRIVER).items():
        assert spark.conf.get(key) == value, key
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert spark.conf.get("spark.python.unix.domain.socket.enabled") == "true"
    assert spark.sparkContext.uiWebUrl is None
    assert spark.sparkContext.getConf().get("spark.driver.host") in ("localhost", "127.0.0.1")
    spark.range(10).write.parquet(str(tmp_path / "rows"))
    assert not [file.name for file in (tmp_path / "rows").iterdir() if file.suffix == ".crc"]


def test_a_second_call_gives_the_same_session(spark: SparkSession) -> None:
    """And applies what can be changed at run time."""
    again = session(config={"spark.sql.shuffle.partitions": 3})
    try:
        assert again is spark
        assert spark.conf.get("spark.sql.shuffle.partitions") == "3"
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "2")
