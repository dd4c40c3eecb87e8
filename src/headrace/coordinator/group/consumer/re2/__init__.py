"""Regular expressions in the syntax of RE2, matched against whole topic names in linear time.

Members of a group choose the expression, and the broker runs it over all topics: an engine that
tracks back could be held for hours by fifteen characters. So this one follows all possibilities at
once. It knows no groups to extract and no characters that cannot stand in the name of a topic.
"""

from __future__ import annotations

from headrace.coordinator.group.consumer.re2.matcher import Pattern
from headrace.coordinator.group.consumer.re2.parser import parse
from headrace.coordinator.group.consumer.re2.program import InvalidRegex, compile_program


def compile_regex(text: str) -> Pattern:
    """The pattern of an expression; InvalidRegex says why there is none."""
    return Pattern(compile_program(parse(text)))


__all__ = ["InvalidRegex", "Pattern", "compile_regex"]
