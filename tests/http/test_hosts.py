"""Which Host headers name a service."""

from __future__ import annotations

import socket
import tracemalloc

import pytest

from headrace.http.hosts import OwnNames, host_name


@pytest.mark.parametrize(
    ("listening", "also", "own", "foreign"),
    [
        (
            ["127.0.0.1"],
            [],
            ["127.0.0.1", "127.0.0.1:8081", "localhost", "LOCALHOST:1", "localhost.", "[::1]:80"],
            [
                "evil.example",
                "10.0.0.1",
                "localhost.evil.example",
                "127.0.0.1.evil.example",
                "",
                "..",
            ],
        ),
        (
            ["0.0.0.0"],
            ["registry.example"],
            ["localhost:8081", "10.1.2.3", "[fe80::1]:8081", "Registry.Example.", "{hostname}"],
            ["evil.example", "registry.example.evil.example", "other.registry.example"],
        ),
        (
            ["10.0.0.5", "::1"],
            ["", "*.shop.example", "Gate.example:8443", "2001:db8::7"],
            ["10.0.0.5:8081", "a.shop.example", "a.b.shop.example:1", "localhost", "gate.example"],
            ["10.0.0.6", "[2001:db8::8]", "shop.example", "evilshop.example", "shop.example.evil"],
        ),
        (["registry.example"], [], ["registry.example"], ["localhost", "127.0.0.1"]),
        (
            ["2001:DB8:0:0::5"],
            ["[2001:db8:0::7]:8443", "2001:0db8::8"],
            ["[2001:db8::5]:1", "[2001:db8:0:0:0:0:0:5]", "[2001:db8::7]", "[2001:DB8:0::8]"],
            ["[2001:db8::6]", "localhost"],
        ),
        (["0:0::0"], [], ["10.1.2.3", "localhost", "[fe80::1%25eth0]"], ["evil.example"]),
        (["127.0.0.1"], ["*"], ["evil.example", "10.0.0.1"], ["", "a b", "[", "x:y:z"]),
    ],
    ids=["loopback", "everywhere", "one address", "a name", "spellings", "all of IPv6", "any"],
)
def test_own_and_foreign_names(
    listening: list[str], also: list[str], own: list[str], foreign: list[str]
) -> None:
    """Names of the listeners and those that are set; asked twice, because answers are kept."""
    names = OwnNames(listening, also)
    for _ in range(2):
        for header in own:
            assert names.has(header.format(hostname=socket.gethostname())), header
        for header in foreign:
            assert not names.has(header), header


def test_the_address_that_was_called_is_ones_own() -> None:
    """A listener with a name has addresses that only the connection tells."""
    names = OwnNames(["registry.example"])
    assert not names.has("192.0.2.7:8081")
    assert names.has("192.0.2.7:8081", "192.0.2.7")
    assert not names.has("[2001:db8:0::7]", "2001:db8::8")
    assert names.has("[2001:db8:0::7]", "2001:db8::7")


def test_long_headers_are_not_kept() -> None:
    """Whoever calls before signing in cannot fill the memory with names."""
    names = OwnNames(["127.0.0.1"], ["*.shop.example"])
    tracemalloc.start()
    try:
        for number in range(1_000):
            assert names.has(f"{number}.{'x' * 10_000}.shop.example")
        assert tracemalloc.get_traced_memory()[0] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "header",
    [
        *("", " ", "[", "]:5", "[::1", "[nonsense]", "a b", "x:y:z", "a/b", "a@b", ":80"),
        *("a:65536", "a:000080", "a:" + "1" * 5_000, "a:\u0668\u0660", "a:-1", "[::1]:99999"),
    ],
)
def test_what_is_no_host(header: str) -> None:
    """It names nothing."""
    assert host_name(header) is None
