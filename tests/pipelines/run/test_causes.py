"""The line that matters in what Spark says about a failure."""

from __future__ import annotations

import pytest

from headrace.errors import ConfigError
from headrace.pipelines.run.causes import MAX_CHARS, cause_in, cause_of

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
