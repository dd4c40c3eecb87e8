"""What two runs of the same command may print differently, replaced by a name for it.

Kept small on purpose: whatever is replaced is not compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.parity.answer import Answer
from tests.parity.case import Case

_PATTERNS = (
    # Uuids as Java prints them, of members and clients: before the 22 characters of Kafka's own.
    (re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "<uuid>"),
    (re.compile(r"(?<=TopicId: )[\w-]{22}(?=\s)"), "<topic id>"),
    (re.compile(r"(?<=Cluster ID: )[\w-]{22}\b"), "<cluster id>"),
    # As librdkafka makes them for members of the new protocol, in front of their host.
    (re.compile(r"(?<= )[\w+/-]{22}(?= +/127\.)"), "<member id>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.,:]\d+)?(Z|[+-]\d\d:?\d\d)?"), "<time>"),
    (re.compile(r"\b1[789]\d{11}\b"), "<ms>"),
)
# Kafka's tools print stack traces, and above each the exception that they have just told in words.
# They are no answer to anybody, and ours print none unless `--debug`.
_TRACE = re.compile(
    r"(?:Exception in thread \S+ |Caused by: )?"
    r"(?:[a-z][\w$]*\.)+[A-Z][\w.$]*(?:Exception|Error)\b.*"
    r"|\tat .*|\t\.\.\. \d+ more| at \[Source: .*"
)
_NUMBER = re.compile(r"(?<![\w-])-?\d+(\.\d+)?(E-?\d+)?\b")


@dataclass(frozen=True, slots=True)
class Normal:
    """An answer that two runs of the same tool give alike."""

    code: int
    out: tuple[str, ...]
    err: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        told = {"code": self.code, "out": list(self.out)}
        return {**told, "err": list(self.err)} if self.err else told

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Normal:
        return cls(told["code"], tuple(told["out"]), tuple(told.get("err", ())))


def normal(case: Case, answer: Answer, places: Mapping[str, object]) -> Normal:
    """The answer without what belongs to this run alone."""
    out = _lines(answer.out, case, places)
    err = _lines(answer.err, case, places) if case.stderr else ()
    return Normal(answer.code, out, err)


def _lines(text: str, case: Case, places: Mapping[str, object]) -> tuple[str, ...]:
    for name in ("folder", "data", "bootstrap"):
        text = text.replace(str(places[name]), f"<{name}>")
    for address in str(places["bootstrap"]).split(","):
        text = re.sub(rf"\b{address.rpartition(':')[2]}\b", "<port>", text)
    for pattern, name in _PATTERNS:
        text = pattern.sub(name, text)
    if "numbers" in case.loose:
        text = _NUMBER.sub("#", text)
    lines = text.removesuffix("\n").split("\n") if text else []
    traced = any(map(_TRACE.fullmatch, lines))
    lines = [line for line in lines if not _TRACE.fullmatch(line)]
    if traced and lines[-1:] == [""]:
        lines.pop()  # the empty line that ends a trace
    if "spaces" in case.loose:
        lines = [re.sub(r"[ \t]+", " ", line).strip() for line in lines]
    if "order" in case.loose:
        lines = sorted(lines)
    if "tail" in case.loose:
        lines = lines[:1]
    return tuple(lines)
