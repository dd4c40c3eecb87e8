"""Subjects by Confluent's three strategies."""

from __future__ import annotations

import pytest

from headrace.errors import ConfigError
from headrace.schemas.model import InvalidSchema
from headrace.schemas.naming import subject_name


@pytest.mark.parametrize("prefix", ["", "io.confluent.kafka.serializers.subject."])
@pytest.mark.parametrize(
    ("strategy", "is_key", "subject"),
    [
        ("TopicNameStrategy", True, "orders-key"),
        ("TopicNameStrategy", False, "orders-value"),
        ("RecordNameStrategy", True, "shop.Order"),
        ("RecordNameStrategy", False, "shop.Order"),
        ("TopicRecordNameStrategy", False, "orders-shop.Order"),
    ],
)
def test_a_subject_is_named_by_its_strategy(
    prefix: str, strategy: str, is_key: bool, subject: str
) -> None:
    """Each strategy gives Confluent's subject, under its short and its Java name."""
    assert subject_name(prefix + strategy, "orders", is_key, "shop.Order") == subject


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        ("TOPIC_NAME", "orders-value"),
        ("RECORD_NAME", "shop.Order"),
        ("TOPIC_RECORD_NAME", "orders-shop.Order"),
    ],
)
def test_the_names_of_the_rest_api_are_known(strategy: str, subject: str) -> None:
    """The REST API's words for the strategies work as well."""
    assert subject_name(strategy, "orders", False, "shop.Order") == subject


@pytest.mark.spec("slides:G03")
def test_keys_and_values_have_subjects_of_their_own() -> None:
    """The schema of a key and that of a value of one topic are registered apart."""
    subjects = {subject_name("TopicNameStrategy", "t", is_key, None) for is_key in (True, False)}
    assert subjects == {"t-key", "t-value"}


def test_a_schema_without_a_name_needs_the_topic_strategy() -> None:
    """A primitive schema has no record name, and the error says which strategy to use."""
    with pytest.raises(InvalidSchema, match="use TopicNameStrategy"):
        subject_name("RecordNameStrategy", "orders", False, None)


def test_an_unknown_strategy_is_a_wrong_setting() -> None:
    """A misspelt strategy is refused with the names that exist."""
    with pytest.raises(ConfigError, match="TopicRecordNameStrategy"):
        subject_name("com.example.Mine", "orders", False, "shop.Order")
