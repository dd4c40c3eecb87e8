"""Which Python a Spark gets that is started from here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark import SparkConf

from headrace_spark_python import is_local

SETTINGS = ("MASTER", "PYSPARK_SUBMIT_ARGS", "SPARK_HOME", "SPARK_CONF_DIR")
VARIABLES = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYSPARK_GATEWAY_PORT")
FILE = Path(__file__).resolve().parents[3] / "src" / "headrace.pth"
# Prints what PYSPARK_PYTHON is when a JVM would be started, and afterwards; PySpark is imported as
# users do.
LAUNCH = """
import os, sys
from pyspark import java_gateway
def popen(command, env, **kwargs):
    print(env.get("PYSPARK_PYTHON"))
    raise SystemExit  # no JVM: the launch ends here
java_gateway.Popen = popen
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession
try:
    eval(sys.argv[1])
except SystemExit:
    print(os.environ.get("PYSPARK_PYTHON"))
"""
# A whole session, of which nothing is said but that it has no web pages.
ORDINARY = """
import os
from pyspark.sql import SparkSession
spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
where = spark.sparkContext.parallelize([0], 1).map(lambda _: __import__("sys").executable).first()
columns = spark.read.format("headrace").options(
    **{"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}
).load().columns
print(where, "value" in columns, os.environ.get("PYSPARK_PYTHON"), spark.sparkContext.master)
print(spark.sparkContext._callsite.file)
"""


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)


def conf(master: str) -> SparkConf:
    return SparkConf(loadDefaults=False).setMaster(master)


def test_a_spark_on_this_machine_is_local(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what the program says, else by what Spark would use."""
    empty = SparkConf(loadDefaults=False)
    assert is_local(None, conf("local[2]"))
    assert not is_local(None, conf("spark://there:7077"))
    assert not is_local("spark://there:7077", None)
    assert not is_local("spark://there:7077", empty)
    assert not is_local("spark://there:7077", conf("local[2]"))
    assert is_local(None, empty)
    assert is_local(None, None)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--packages a:b:1 pyspark-shell")
    assert is_local(None, None)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--properties-file mine.conf pyspark-shell")
    assert not is_local(None, None)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master yarn pyspark-shell")
    assert not is_local(None, None)
    assert is_local(None, conf("local"))


def test_the_defaults_of_an_installation_count(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A master in spark-defaults.conf may be a cluster, so nothing is assumed."""
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    defaults = tmp_path / "spark-defaults.conf"
    defaults.write_text("spark.ui.enabled false\n")
    assert is_local(None, None)
    defaults.write_text("spark.master spark://there:7077\n")
    assert not is_local(None, None)
    monkeypatch.setenv("MASTER", "local")  # Spark looks at this last
    assert not is_local(None, None)
    monkeypatch.delenv("SPARK_CONF_DIR")
    monkeypatch.setenv("MASTER", "yarn")
    assert not is_local(None, None)


def launch(started: str) -> list[str]:
    """The variable for the JVM, and what is left of it afterwards."""
    command = [sys.executable, "-c", LAUNCH, started]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("started", "chosen", "expected", "left"),
    [
        ("SparkContext('local[2]', 'a')", {}, sys.executable, "None"),
        ("SparkContext(conf=SparkConf().setMaster('local'))", {}, sys.executable, "None"),
        ("SparkSession.builder.getOrCreate()", {}, sys.executable, "None"),
        ("SparkContext('local')", {"PYSPARK_PYTHON": "mine"}, "mine", "mine"),
        ("SparkContext('local')", {"PYSPARK_DRIVER_PYTHON": "mine"}, "None", "None"),
        ("SparkContext('spark://there:7077')", {}, "None", "None"),
        ("SparkContext('spark://there:7077', conf=SparkConf())", {}, "None", "None"),
        ("SparkSession.builder.master('yarn').getOrCreate()", {}, "None", "None"),
        # A JVM without a context: any master may be named afterwards.
        ("SparkContext.setSystemProperty('a', 'b')", {}, "None", "None"),
    ],
)
def test_what_is_set_when_a_jvm_starts(
    monkeypatch: pytest.MonkeyPatch,
    started: str,
    chosen: dict[str, str],
    expected: str,
    left: str,
) -> None:
    """A program that imports PySpark alone, in this environment."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in chosen.items():
        monkeypatch.setenv(name, value)
    assert launch(started) == [expected, left]


def test_other_finders_are_asked_and_find_the_real_loader() -> None:
    """Nothing is skipped while importlib goes through the list, and our loader does not stay."""
    code = """
import sys
asked = []
class Finder:
    def find_spec(self, name, path=None, target=None):
        asked.append(name)
sys.meta_path.insert(1, Finder())
from pyspark.core import context
import inspect
print(asked.count("pyspark.core.context") > 0, type(context.__loader__).__name__)
print(type(context.__spec__.loader).__name__, "def _do_init" in inspect.getsource(context))
print(list(inspect.signature(context.SparkContext.__init__).parameters)[:2])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "True SourceFileLoader",
        "SourceFileLoader True",
        "['self', 'master']",
    ]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_most_ordinary_session_knows_the_format(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a master, and with another `python3` first on the PATH; the variable is gone then."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    stranger = tmp_path / "python3"
    stranger.write_text("#!/bin/sh\nexit 1\n")
    stranger.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    program = tmp_path / "program.py"
    program.write_text(ORDINARY)
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=250, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines() == [f"{sys.executable} True None local[*]", str(program)]


def test_python_starts_without_headrace() -> None:
    """What is looked at whenever Python starts must cost next to nothing."""
    code = "import sys; print([name for name in sys.modules if 'headrace' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['headrace_spark_python']", done.stderr


def with_file_in(folder: Path) -> subprocess.CompletedProcess[str]:
    """A Python that knows no other folder of packages reads the installed file in this one."""
    (folder / FILE.name).write_bytes(FILE.read_bytes())
    code = f"import site, sys; site.addsitedir({str(folder)!r}); print(sys.meta_path[0])"
    command = [sys.executable, "-I", "-S", "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_python_starts_in_silence_if_the_package_is_missing_or_broken(tmp_path: Path) -> None:
    """Half of an installation must not be told at every start of Python."""
    assert FILE.read_text().count("\n") == 1
    assert with_file_in(tmp_path).stderr == ""
    package = tmp_path / "headrace_spark_python"
    shutil.copytree(FILE.parent / package.name, package)
    found = with_file_in(tmp_path)
    assert found.stderr == ""
    assert "headrace_spark_python._Watch" in found.stdout
    (package / "__init__.py").write_text("1 +")
    assert with_file_in(tmp_path).stderr == ""
