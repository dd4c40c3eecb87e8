"""The one line that matters in a stack trace of Spark.

A failure in a task travels from Python through the JVM and back, and each station wraps it in a
page of frames. The cause is in there as the last line of the innermost Python traceback or, when no
Python was involved, as the last `Caused by`. Works on text, because text is all that arrives.
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


def _is_wrapped(text: str) -> bool:
    return (
        _TRACEBACK in text
        or _PLAN in text
        or "\n\tat " in text
        or text.startswith(("[STREAM_FAILED]", "Job aborted", "An error occurred while calling"))
    )


def _python_cause(trace: str) -> str:
    """The line after the frames; what follows it belongs to the JVM."""
    lines = trace.splitlines()
    for line in lines:
        if line and not line[0].isspace():
            return _one_line(_shorten(line))
    return _one_line(trace)


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
