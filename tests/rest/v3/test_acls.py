"""ACLs: the broker has no authorizer, and the proxy says so."""

from __future__ import annotations

import pytest

from tests.rest.v3.running_proxy import RunningProxy

DISABLED = {"error_code": 40002, "message": "No Authorizer is configured on the broker"}
ACL = {
    "resource_type": "TOPIC",
    "resource_name": "orders",
    "pattern_type": "LITERAL",
    "principal": "User:alice",
    "host": "*",
    "operation": "READ",
    "permission": "ALLOW",
}
FILTER = "resource_type=TOPIC&pattern_type=ANY&operation=READ&permission=ALLOW"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/acls", None),
        ("GET", "/acls?principal=User:alice&resource_type=CLUSTER", None),
        ("POST", "/acls", ACL),
        ("POST", "/acls:batch", {"data": [ACL, {**ACL, "operation": "WRITE"}]}),
        ("DELETE", f"/acls?{FILTER}", None),
    ],
)
def test_security_disabled(
    proxy: RunningProxy, cluster: str, method: str, path: str, body: object
) -> None:
    """Every request about ACLs is answered as a broker without an authorizer answers."""
    assert proxy.ask(method, cluster + path, body)[:2] == (400, DISABLED)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/acls?operation=FLY", None),
        ("DELETE", "/acls?resource_type=TOPIC", None),
        ("POST", "/acls", {**ACL, "permission": "MAYBE"}),
        ("POST", "/acls", {"resource_type": "TOPIC"}),
        ("POST", "/acls:batch", {"data": []}),
    ],
)
def test_refused(proxy: RunningProxy, cluster: str, method: str, path: str, body: object) -> None:
    """What is no ACL is refused before any broker is asked."""
    answer = proxy.ask(method, cluster + path, body)
    assert (answer.status, answer.body["error_code"]) == (400, 400)
