"""The table of APIs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from headrace.errors import ClientFault, Error
from headrace.wire.registry import Api, all_apis, by_key
from headrace.wire.schema import info


@pytest.mark.parametrize("api", all_apis(), ids=lambda api: api.name)
def test_table_agrees_with_the_messages(api: Api) -> None:
    """Key, name, versions and flexibility are said twice and must be the same."""
    for cls, is_request in ((api.request, True), (api.response, False)):
        declared = info(cls)
        assert (declared.key, declared.versions) == (api.key, api.versions)
        assert declared.is_request is is_request
    assert info(api.request).name == f"{api.name}Request"
    assert info(api.response).name == f"{api.name}Response"
    assert info(api.request).flexible == info(api.response).flexible
    assert by_key(api.key) is api


def test_apis_are_in_the_order_of_their_keys() -> None:
    """A list of versions is easier to read, and to compare, in order."""
    keys = [api.key for api in all_apis()]
    assert keys == sorted(set(keys))


def test_unknown_key_is_the_clients_fault() -> None:
    """The error names the key."""
    with pytest.raises(ClientFault, match="api key 9999") as caught:
        by_key(9999)
    assert caught.value.error is Error.INVALID_REQUEST


def test_messages_are_loaded_on_demand() -> None:
    """Listing every API loads no message module; asking for one loads that one."""
    script = """
import sys
from headrace.wire import registry
[(api.key, api.versions) for api in registry.all_apis()]
loaded = lambda: sorted(n for n in sys.modules if n.startswith("headrace.wire.messages."))
assert loaded() == [], loaded()
registry.by_key(23).request
assert loaded() == ["headrace.wire.messages.offset_for_leader_epoch"], loaded()
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=30)
