"""The one line that matters in a stack trace of Spark.

A failure in a task travels from Python through the JVM and back, and each station wraps it in a
page of frames. The cause is in there as the last line of the innermost Python traceback or, when no
Python was involved, as the last `Caused by`. Works on text, because text is all that arrives.

The same text says whether another attempt could succeed: a batch is repeated with the same plan, so
a plan that Spark rejects, a module that is missing or a wrong option fail each time. So do records
that are damaged or gone, and rows that no topic can hold: the batch has the same ones again.
"""

from __future__ import annotations

import re
from typing import Final

MAX_CHARS: Final = 600
_TRACEBACK: Final = "Traceback (most recent call last):"
_PLAN: Final = "=== Streaming Query ==="
_SQLSTATE: Final = re.compile(r"\s*SQLSTATE: [0-9A-Z]{5}\.?")
# [STREAM_FAILED] Query [id = …, runId = …] terminated with exception: the cause
_STREAM_FAILED: Final = re.compile(r"^\[STREAM_FAILED\].*?terminated with exception: ", re.DOTALL)
# Job aborted due to stage failure: … (TID 3) (host executor driver): the cause
_STAGE: Final = re.compile(r"^Job aborted due to stage failure: .*? executor [^)]*\): ", re.DOTALL)
_EXCEPTION: Final = re.compile(r"^(?P<kind>[A-Za-z_$][\w.$]*)(?:: (?P<text>.*))?$")
_CAUSED_BY: Final = re.compile(r"^Caused by: (?P<line>.+)$", re.MULTILINE)
_CALL: Final = re.compile(r"^An error occurred while calling \S+\n: ")

# Of errors that stay until a person changes the pipeline, its installation, its options or what it
# reads. NoTransactions is not among them: brokers that are slow to answer are a reason for it.
_PERMANENT: Final = frozenset(
    {
        "AnalysisException",
        "ConfigError",
        "CorruptData",
        "DataLost",
        "ExtendedAnalysisException",
        "ImportError",
        "ModuleNotFoundError",
        "NameError",
        "NoQuery",
        "NotRepeated",
        "ParseException",
        "PicklingError",
        "SparkMissing",
        "SparkTooOld",
        "SparkUnsupportedOperationException",
        "SyntaxError",
        "UnsupportedOperationException",
        "WrongColumns",
        "WrongRow",
    }
)
# What Scala's `require` says, by which Spark also rejects an output mode.
_REQUIREMENT: Final = "requirement failed: "


def cause_of(error: BaseException) -> str:
    """The cause as one line, without frames, class paths and codes."""
    text = str(error).strip()
    if not text:
        return type(error).__name__
    if _is_wrapped(text):
        return cause_in(text)
    kind = type(error)
    said = _one_line(_SQLSTATE.sub("", text))
    # Our own errors and Spark's say all in their sentence; `KeyError: 'x'` needs its name.
    return said if _speaks_for_itself(kind.__module__) else f"{kind.__name__}: {said}"


def cause_in(text: str) -> str:
    """The same for the text of an error that has crossed a process."""
    text = _SQLSTATE.sub("", text.partition(_PLAN)[0])
    text = _CALL.sub("", text.strip())
    if _TRACEBACK in text:
        return _python_cause(text.rpartition(_TRACEBACK)[2])
    text = _STAGE.sub("", _STREAM_FAILED.sub("", text))
    caused = _CAUSED_BY.findall(text)
    return _one_line(_shorten(caused[-1] if caused else text))


def is_permanent(error: BaseException) -> bool:
    """Whether another attempt would fail in the same way."""
    if not _PERMANENT.isdisjoint(kind.__name__ for kind in type(error).__mro__):
        return True
    # PySpark keeps the frames, and the kinds of the causes with them, beside the message.
    stack = getattr(error, "_stackTrace", None)
    return any(_is_permanent_in(text) for text in (str(error), stack) if isinstance(text, str))


def _is_permanent_in(text: str) -> bool:
    text = text.partition(_PLAN)[0] if _TRACEBACK in text else text
    if _TRACEBACK in text:
        return _kind_of(_last_line(text.rpartition(_TRACEBACK)[2])) in _PERMANENT
    if _STREAM_FAILED.sub("", text.strip()).startswith(_REQUIREMENT):
        return True
    return any(_kind_of(line) in _PERMANENT for line in _CAUSED_BY.findall(text))


def _kind_of(line: str) -> str:
    match = _EXCEPTION.match(line.strip())
    return match["kind"].rpartition(".")[2] if match is not None else ""


def _is_wrapped(text: str) -> bool:
    return (
        _TRACEBACK in text
        or _PLAN in text
        or "\n\tat " in text
        or text.startswith(("[STREAM_FAILED]", "Job aborted", "An error occurred while calling"))
    )


def _python_cause(trace: str) -> str:
    return _one_line(_shorten(_last_line(trace)))


def _last_line(trace: str) -> str:
    """The line after the frames; what follows it belongs to the JVM."""
    unindented = (line for line in trace.splitlines() if line and not line[0].isspace())
    return next(unindented, trace)


def _shorten(text: str) -> str:
    """`java.io.IOException: x` is `IOException: x`; of our own errors only the sentence is left."""
    line = text.strip().partition("\n")[0]
    match = _EXCEPTION.match(line)
    if match is None or "." not in match["kind"]:
        return line
    module, _, kind = match["kind"].rpartition(".")
    if not match["text"]:
        return kind
    return match["text"] if _speaks_for_itself(module) else f"{kind}: {match['text']}"


def _speaks_for_itself(module: str) -> bool:
    return module.startswith(("headrace.", "pyspark.", "org.apache.spark"))


def _one_line(text: str) -> str:
    line = " ".join(text.strip().partition("\n")[0].split())
    return line if len(line) <= MAX_CHARS else line[: MAX_CHARS - 1] + "…"
