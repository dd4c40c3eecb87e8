"""Regular expressions of RE2, judged in the words of RE2/J, which Kafka's tool uses."""

from __future__ import annotations

from typing import Final

# What the C++ library says, up to its colon, and what the Java one says.
_IN_JAVA: Final = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "trailing \\": "trailing backslash at end of expression",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
}


def regex_fault(text: str) -> str | None:
    """What is wrong with an expression; None if nothing is."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(text, options=options)
    except re2.error as error:
        said = error.args[0]
        words = (said.decode(errors="replace") if isinstance(said, bytes) else str(said)).strip()
        cause = words.partition(": ")[0]
        return next((java for ours, java in _IN_JAVA.items() if cause.startswith(ours)), cause)
    return None
