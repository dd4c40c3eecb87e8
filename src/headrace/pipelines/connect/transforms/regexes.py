"""Settings that are Java's regular expressions."""

from __future__ import annotations

import re

from headrace.java.regex import InvalidJavaRegex, compile_java
from headrace.pipelines.connect.faults import ConfigException


def check_regex(name: str, value: object) -> None:
    """ConfigException if the value is none, or one that is not supported."""
    try:
        compile_java(str(value))
    except InvalidJavaRegex as fault:
        raise ConfigException.of(name, value, f"Invalid regex: {fault}") from None


def regex_of(value: object) -> re.Pattern[str]:
    """The expression of a setting that was checked."""
    return compile_java(str(value))
