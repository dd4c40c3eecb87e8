"""The line that matters in what Spark says about a failure."""

from __future__ import annotations

import pytest

from headrace.client.faults import UnknownTopic
from headrace.errors import ConfigError, CorruptData
from headrace.pipelines.run.causes import MAX_CHARS, cause_in, cause_of, is_permanent
from headrace.pipelines.sink.faults import NoQuery, NoTransactions, WrongRow
from headrace.pipelines.source.gaps import DataLost
from headrace.pipelines.spark_versions import SparkTooOld

TASK = """\
[STREAM_FAILED] Query [id = 8f, runId = 2c] terminated with exception: Job aborted due to stage \
failure: Task 0 in stage 0.0 failed 1 times, most recent failure: Lost task 0.0 in stage 0.0 \
(TID 0) (127.0.0.1 executor driver): org.apache.spark.api.python.PythonException: Traceback \
(most recent call last):
  File "worker.py", line 3200, in main
    process()
  File "shop.py", line 12, in price
    return float(text)
           ^^^^^^^^^^^
ValueError: could not convert string to float: 'poison'

\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handle(PythonRunner.scala:581)
\tat java.base/java.lang.Thread.run(Thread.java:840)

Driver stacktrace: SQLSTATE: XXKST
=== Streaming Query ===
Identifier: orders [id = 8f, runId = 2c]
"""
SOURCE = """\
[STREAM_FAILED] Query [id = 8f, runId = 2c] terminated with exception: [PYTHON_DATA_SOURCE_ERROR] \
Failed when Python data source `headrace` performs `latestOffset`: Traceback (most recent call \
last):
  File "connection.py", line 90, in connect
    socket.create_connection(address)
ConnectionRefusedError: [Errno 111] Connection refused

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "readers.py", line 40, in latestOffset
    raise UnknownTopic(topic)
headrace.client.fetching.UnknownTopic: topic orders is not there; create it
 SQLSTATE: 38000 SQLSTATE: XXKST
"""
JAVA = """\
[STREAM_FAILED] Query [id = 8f, runId = 2c] terminated with exception: Job aborted due to stage \
failure: Task 0 in stage 0.0 failed 1 times, most recent failure: Lost task 0.0 in stage 0.0 \
(TID 0) (127.0.0.1 executor driver): java.io.IOException: No space left on device
\tat java.base/java.io.FileOutputStream.writeBytes(Native Method)

Driver stacktrace: SQLSTATE: XXKST
"""
CALL = """\
An error occurred while calling o35.save.
: org.apache.spark.SparkException: Job aborted.
\tat org.apache.spark.sql.X.y(X.scala:1)
Caused by: java.lang.IllegalStateException: first
\tat org.apache.spark.sql.X.y(X.scala:2)
Caused by: java.net.UnknownHostException: kafka
\t... 3 more
"""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (TASK, "ValueError: could not convert string to float: 'poison'"),
        (SOURCE, "topic orders is not there; create it"),
        (JAVA, "IOException: No space left on device"),
        (CALL, "UnknownHostException: kafka"),
        (
            "[STREAM_FAILED] Query [id = 8f, runId = 2c] terminated with exception: "
            "[DIVIDE_BY_ZERO] Division by zero. SQLSTATE: 22012 SQLSTATE: XXKST",
            "[DIVIDE_BY_ZERO] Division by zero.",
        ),
        ("java.lang.NullPointerException\n\tat x.Y.z(Y.scala:1)", "NullPointerException"),
    ],
)
def test_the_cause_of_a_wrapped_failure(text: str, cause: str) -> None:
    """The innermost exception, from Python if there is one, without frames and codes."""
    assert cause_in(text) == cause
    assert cause_of(RuntimeError(text)) == cause or "\n\tat" not in text


def test_errors_of_this_process_speak_for_themselves() -> None:
    """Ours are whole sentences; Python's need the name of their type."""
    assert cause_of(ConfigError("kafka.x is wrong; use y")) == "kafka.x is wrong; use y"
    assert cause_of(KeyError("amount")) == "KeyError: 'amount'"
    assert cause_of(ValueError("first\nsecond")) == "ValueError: first"
    assert cause_of(RuntimeError()) == "RuntimeError"
    assert cause_of(RuntimeError("[X] is bad. SQLSTATE: 0A000")) == "RuntimeError: [X] is bad."


@pytest.mark.parametrize(
    "text", ["Traceback (most recent call last):", "[STREAM_FAILED]", "x" * 10_000, "\n\tat \n"]
)
def test_any_text_gives_one_bounded_line(text: str) -> None:
    """Also what was cut off on its way."""
    cause = cause_of(RuntimeError(text))
    assert "\n" not in cause
    assert len(cause) <= MAX_CHARS + len("RuntimeError: ")


PLAN = """
=== Streaming Query ===
Identifier: orders [id = 8f, runId = 2c]
"""
STREAM = "[STREAM_FAILED] Query [id = 8f, runId = 2c] terminated with exception: "
MODE = f"{STREAM}requirement failed: headrace does not support Update mode. SQLSTATE: XXKST{PLAN}"
MODULE = f"""\
{STREAM}[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent \
call last):
  File "shop.py", line 11, in price
    import till
ModuleNotFoundError: No module named 'till'
 SQLSTATE: 38000 SQLSTATE: XXKST{PLAN}"""
OPTION = MODULE.replace("ModuleNotFoundError: No", "headrace.errors.ConfigError: no")
ANALYSIS = """\
org.apache.spark.sql.streaming.StreamingQueryException: [UNRESOLVED_COLUMN] a column
=== Streaming Query ===
\tat org.apache.spark.sql.execution.streaming.StreamExecution.run(StreamExecution.scala:236)
Caused by: org.apache.spark.sql.catalyst.ExtendedAnalysisException: [UNRESOLVED_COLUMN] a column
\t... 3 more
"""


class Captured(Exception):
    """As PySpark keeps an error of the JVM: the message, and the frames beside it."""

    def __init__(self, message: str, stack: str) -> None:
        super().__init__(message)
        self._stackTrace = stack


def crossed(kind: type[Exception]) -> RuntimeError:
    """An error of ours in a worker, as the driver gets to see it."""
    name = f"{kind.__module__}.{kind.__qualname__}"
    return RuntimeError(MODULE.replace("ModuleNotFoundError: No", f"{name}: no"))


@pytest.mark.parametrize(
    ("error", "permanent"),
    [
        (RuntimeError(MODE), True),
        (RuntimeError(MODULE), True),
        (RuntimeError(OPTION), True),
        (Captured(f"{STREAM}[UNRESOLVED_COLUMN] a column", ANALYSIS), True),
        (ConfigError("no such option"), True),
        (ModuleNotFoundError("No module named 'till'"), True),
        (SparkTooOld("a stream needs Spark 4.2"), True),
        (crossed(SparkTooOld), True),
        (crossed(WrongRow), True),
        (crossed(CorruptData), True),
        (crossed(DataLost), True),
        (crossed(NoQuery), True),
        (crossed(NoTransactions), False),
        (crossed(UnknownTopic), False),
        (RuntimeError(TASK), False),
        (RuntimeError(SOURCE), False),
        (RuntimeError(JAVA), False),
        (RuntimeError(CALL), False),
        (ConnectionResetError("lost"), False),
        (RuntimeError(f"{STREAM}Python worker failed to connect back.{PLAN}"), False),
    ],
)
def test_what_another_attempt_does_not_change_is_permanent(
    error: Exception, permanent: bool
) -> None:
    """A wrong plan, option, row or installation, lost data; not what brokers or machines brought.

    What a function of the user makes of a row is not known: it may ask others.
    """
    assert is_permanent(error) is permanent
