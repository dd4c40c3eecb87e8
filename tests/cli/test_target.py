"""Addresses and client settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli.failures import WrongUsage
from headrace.cli.target import Address, parse_address, parse_target


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("localhost:9093", Address("localhost", 9093)),
        ("localhost", Address("localhost", 9092)),
        ("[::1]:9092", Address("::1", 9092)),
        ("PLAINTEXT://kafka:1234", Address("kafka", 1234)),
        ("10.0.0.1:65535", Address("10.0.0.1", 65535)),
    ],
)
def test_an_address_has_a_host_and_maybe_a_port(text: str, expected: Address) -> None:
    """The port defaults to 9092; a protocol in front is read over."""
    assert parse_address(text) == expected


@pytest.mark.parametrize("text", ["", ":9092", "a:0", "a:65536", "a:b", "::1:9092", "a b:1", "a/b"])
def test_anything_else_is_no_address(text: str) -> None:
    """The complaint shows the text and the form."""
    with pytest.raises(WrongUsage, match="is not an address; write HOST:PORT"):
        parse_address(text)


def test_settings_of_the_client_come_from_options_and_files(tmp_path: Path) -> None:
    """-X takes KEY=VALUE or @FILE; the later one wins."""
    file = tmp_path / "client.properties"
    file.write_text("# comment\nsecurity.protocol = SASL_SSL\nsasl.password=a=b\n\n")
    target = parse_target("a:1, b:2", [f"@{file}", "sasl.password=c"])
    assert target.servers == "a:1,b:2"
    assert dict(target.properties) == {"security.protocol": "SASL_SSL", "sasl.password": "c"}
    assert target.tls
    assert not parse_target("a:1", ["security.protocol=SASL_PLAINTEXT"]).tls


@pytest.mark.parametrize(("servers", "options"), [("", []), ("a:1", ["x"]), ("a:1", ["@/no/file"])])
def test_wrong_settings_are_wrong_usage(servers: str, options: list[str]) -> None:
    """No server, a setting without a value, a file that is not there."""
    with pytest.raises(WrongUsage):
        parse_target(servers, options)


def test_an_ipv6_address_is_shown_in_brackets() -> None:
    """The form that can be typed again."""
    assert str(Address("::1", 9092)) == "[::1]:9092"
