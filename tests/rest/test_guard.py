"""Who may ask: basic authentication, and TLS."""

from __future__ import annotations

import base64
import http.client
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.rest.service import Service, error_of


def basic(user: str, password: str) -> dict[str, str]:
    token = base64.b64encode(f"{user}:{password}".encode()).decode()
    return {"Authorization": f"Basic {token}"}


@pytest.mark.spec("admin:RP-13")
def test_40101_without_a_user(start_proxy: Callable[..., Service], tmp_path: Path) -> None:
    """authentication.method=BASIC: a user of the file, or 401 with a challenge."""
    users = tmp_path / "users"
    users.write_text("# who\nalice: plain:wonder:land, developer\n")
    properties = {
        "authentication.method": "BASIC",
        "authentication.realm": "shop",
        "authentication.users.file": users,
    }
    with start_proxy(properties) as proxy:
        wrong = [
            {},
            basic("alice", "nothing"),
            basic("bob", "wonder:land"),
            {"Authorization": "Basic ***"},
            {"Authorization": "Bearer x"},
            {"Authorization": "Basic " + "A" * 9000},
        ]
        for headers in wrong:
            reply = proxy.get("/topics", headers=headers)
            assert error_of(reply)[:2] == (401, 40101)
            assert reply.headers["www-authenticate"] == 'Basic realm="shop", charset="UTF-8"'
        for _ in range(2):
            assert proxy.get("/topics", headers=basic("alice", "wonder:land")).status == 200
        for path in ("/", "/healthz"):
            assert proxy.get(path).status == 200
        for path in ("/metrics", "/openapi.json"):
            assert proxy.get(path).status == 401
            assert proxy.get(path, headers=basic("alice", "wonder:land")).status == 200


def test_listeners_may_be_https(start_proxy: Callable[..., Service], tmp_path: Path) -> None:
    """A PEM file with key and certificate; plain HTTP on that port is closed."""
    pem = tmp_path / "server.pem"
    key = tmp_path / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-keyout", str(key), "-out", str(pem), "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"),
        ],
        check=True,
        capture_output=True,
    )
    authority = pem.read_text()
    pem.write_text(authority + key.read_text())
    properties = {"listeners": "https://127.0.0.1:0", "ssl.keystore.location": pem}
    with start_proxy(properties) as proxy:
        assert proxy.url.startswith("https://")
        context = ssl.create_default_context(cadata=authority)
        connection = http.client.HTTPSConnection(
            "localhost", proxy.address[1], timeout=10, context=context
        )
        connection.request("GET", "/")
        assert connection.getresponse().read() == b"{}"
        connection.close()
        with pytest.raises((OSError, http.client.HTTPException)):
            proxy.get("/", timeout_s=5)
