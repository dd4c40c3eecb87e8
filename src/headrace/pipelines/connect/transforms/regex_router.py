"""RegexRouter: topics whose whole name matches an expression get another name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import ClassVar

from headrace.java.regex import InvalidJavaRegex, Replacement
from headrace.pipelines.connect.config.definition import Definition, Key, Kind
from headrace.pipelines.connect.faults import ConfigException
from headrace.pipelines.connect.model.batch import Batch
from headrace.pipelines.connect.model.record import Record
from headrace.pipelines.connect.transforms.regexes import check_regex, regex_of
from headrace.pipelines.connect.transforms.transform import Transform

_TOPICS_KEPT = 1000


class RegexRouter(Transform):
    """The first match within the name is replaced, which need not be the whole of it."""

    definition: ClassVar = Definition(
        (
            Key(
                "regex",
                Kind.STRING,
                doc="The expression, in Java's syntax, that the whole name of a topic must match.",
                importance="HIGH",
                check=check_regex,
            ),
            Key(
                "replacement",
                Kind.STRING,
                doc="What replaces the match; $1 is the first group of the expression.",
                importance="HIGH",
            ),
        )
    )

    def __init__(self, given: Mapping[str, object]) -> None:
        settings = self.definition.read(given)
        self._regex = regex_of(settings["regex"])
        replacement = str(settings["replacement"])
        try:
            self._replacement = Replacement(replacement, self._regex)
        except InvalidJavaRegex as fault:
            raise ConfigException.of("replacement", replacement, str(fault)) from None
        self._topic = lru_cache(_TOPICS_KEPT)(self._routed)

    def _routed(self, topic: str) -> str:
        if self._regex.fullmatch(topic) is None:
            return topic
        found = self._regex.search(topic)
        assert found is not None, "what matches as a whole matches somewhere"
        return topic[: found.start()] + self._replacement.of(found) + topic[found.end() :]

    def apply(self, record: Record) -> Record:
        return record.but(topic=self._topic(record.topic))

    def apply_batch(self, batch: Batch) -> Sequence[Batch]:
        return [batch.but(topic=self._topic(batch.topic))]
