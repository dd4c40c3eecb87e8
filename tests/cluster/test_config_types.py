"""Values of settings: what each type takes and refuses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cluster.config_keys import BROKER_KEYS, TOPIC_KEYS
from headrace.cluster.config_types import (
    ConfigKey,
    ConfigType,
    at_least,
    between,
    one_of_in_any_case,
)
from headrace.errors import ConfigError


def key(kind: ConfigType) -> ConfigKey:
    return ConfigKey("some.key", kind, None, "A key of the tests.")


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (ConfigType.BOOLEAN, "true", True),
        (ConfigType.BOOLEAN, " FALSE ", False),
        (ConfigType.INT, "2147483647", 2147483647),
        (ConfigType.INT, " -5 ", -5),
        (ConfigType.INT, "+10", 10),
        (ConfigType.SHORT, "-32768", -32768),
        (ConfigType.LONG, "9223372036854775807", 9223372036854775807),
        (ConfigType.DOUBLE, "0.5", 0.5),
        (ConfigType.DOUBLE, "1.7976931348623157E308", 1.7976931348623157e308),
        (ConfigType.DOUBLE, ".5", 0.5),
        (ConfigType.STRING, " x ", "x"),
        (ConfigType.LIST, "a, b ,a", ["a", "b"]),
        (ConfigType.LIST, "", []),
        (ConfigType.CLASS, "a.B", "a.B"),
        (ConfigType.PASSWORD, " secret ", "secret"),
    ],
)
def test_texts_become_values(kind: ConfigType, text: str, value: object) -> None:
    """White space around a value does not count, not even in a password: so it is in Kafka."""
    assert key(kind).parse(text) == value


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ConfigType.BOOLEAN, "yes"),
        (ConfigType.BOOLEAN, "1"),
        (ConfigType.INT, "2147483648"),
        (ConfigType.INT, "1.0"),
        (ConfigType.INT, "1_000"),
        (ConfigType.INT, "0x10"),
        (ConfigType.INT, ""),
        (ConfigType.INT, "٣"),
        (ConfigType.INT, "9" * 100_000),
        (ConfigType.SHORT, "32768"),
        (ConfigType.LONG, "9223372036854775808"),
        (ConfigType.DOUBLE, "0,5"),
        (ConfigType.DOUBLE, "nan"),
        (ConfigType.DOUBLE, "inf"),
        (ConfigType.DOUBLE, "1e999"),
        (ConfigType.LIST, "a,,b"),
    ],
)
def test_what_is_not_of_the_type_is_refused(kind: ConfigType, text: str) -> None:
    """As Kafka's parser: the error names the value and the key."""
    with pytest.raises(ConfigError, match=r"for configuration some\.key: ") as caught:
        key(kind).parse(text)
    assert str(caught.value).startswith(f"Invalid value {text}"[:40])


def test_a_rule_is_part_of_the_complaint() -> None:
    """What is allowed is said in the error."""
    ruled = ConfigKey("some.key", ConfigType.INT, "1", "A key.", between(1, 3))
    assert ruled.parse("3") == 3
    with pytest.raises(ConfigError) as caught:
        ruled.parse("4")
    assert str(caught.value) == "Invalid value 4 for configuration some.key: allowed is 1 to 3"
    with pytest.raises(ConfigError, match="at least 1"):
        ConfigKey("some.key", ConfigType.INT, "1", "A key.", at_least(1)).parse("0")
    any_case = ConfigKey("k", ConfigType.STRING, None, "A key.", one_of_in_any_case("on", "off"))
    assert any_case.parse("ON") == "ON"


def test_a_password_is_not_shown_in_a_complaint() -> None:
    """Not even a wrong one."""
    password = ConfigKey("p", ConfigType.PASSWORD, None, "A key.", one_of_in_any_case("x"))
    assert password.sensitive
    with pytest.raises(ConfigError, match=r"\[hidden\]") as caught:
        password.parse("secret")
    assert "secret" not in str(caught.value)


def test_the_timestamp_type_has_two_spellings() -> None:
    """`0` and `1` are taken for CreateTime and LogAppendTime, and stored as Kafka spells them."""
    for declared in (
        TOPIC_KEYS["message.timestamp.type"],
        BROKER_KEYS["log.message.timestamp.type"],
    ):
        assert declared.normalize("0") == "CreateTime"
        assert declared.normalize(" 1 ") == "LogAppendTime"
        assert declared.parse("LogAppendTime") == "LogAppendTime"
        with pytest.raises(ConfigError, match="one of CreateTime, LogAppendTime"):
            declared.parse("2")


def test_cleanup_policy_is_a_list() -> None:
    """Both policies together are `delete,compact`; `both` is not a word that Kafka knows."""
    declared = TOPIC_KEYS["cleanup.policy"]
    assert declared.parse("delete,compact") == ["delete", "compact"]
    assert declared.normalize(" compact , delete ") == "compact,delete"
    with pytest.raises(ConfigError, match="a list of compact, delete"):
        declared.parse("both")


@given(st.sampled_from([*TOPIC_KEYS.values(), *BROKER_KEYS.values()]), st.text(max_size=30))
def test_any_text_is_a_value_or_refused(declared: ConfigKey, text: str) -> None:
    """No text makes anything but a value or a ConfigError, and what is stored is stable."""
    try:
        stored = declared.normalize(text)
    except ConfigError:
        return
    assert declared.normalize(stored) == stored
    assert declared.parse(stored) == declared.parse(text)
