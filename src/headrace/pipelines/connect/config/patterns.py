"""Settings that are regular expressions, in Java's words."""

from __future__ import annotations

from headrace.java.regex import InvalidJavaRegex, compile_java
from headrace.pipelines.connect.faults import ConfigException


def a_pattern(name: str, value: object) -> None:
    """A regular expression."""
    if value is None:
        raise ConfigException.of(name, value, "Invalid regex: there is none")
    try:
        compile_java(str(value))
    except InvalidJavaRegex as fault:
        raise ConfigException.of(name, value, f"Invalid regex: {fault}") from None
