"""Signing in over a real connection, to a peer that checks what it is told."""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.client.cluster import Cluster
from headrace.client.faults import AuthenticationFailed, NoBroker
from headrace.errors import Error
from headrace.wire.messages.metadata import MetadataRequest, MetadataResponse
from headrace.wire.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from headrace.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from tests.client.listeners import self_signed
from tests.client.scripted_broker import Script, scripted_broker

Opened = Callable[..., Cluster]
PASSWORD = "pencil"
SALT = b"sixteen bytes ok"
REFUSED = SaslAuthenticateResponse(
    error_code=Error.SASL_AUTHENTICATION_FAILED,
    error_message="Authentication failed: Invalid username or password",
    auth_bytes=b"",
)


def sasl_script(mechanism: str, authenticate: Any) -> Script:
    def shake(request: SaslHandshakeRequest) -> SaslHandshakeResponse:
        error = 0 if request.mechanism == mechanism else Error.UNSUPPORTED_SASL_MECHANISM
        return SaslHandshakeResponse(error_code=error, mechanisms=[mechanism])

    return {
        SaslHandshakeRequest: shake,
        SaslAuthenticateRequest: authenticate,
        MetadataRequest: MetadataResponse(brokers=[], topics=[]),
    }


def plain(request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    if request.auth_bytes != b"\0alice\0pencil":
        return REFUSED
    return SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=b"")


class ScramServer:
    """The other half of RFC 5802, for one account."""

    def __init__(self, hash_name: str, *, impostor: bool = False) -> None:
        self.hash_name = hash_name
        self.impostor = impostor
        self.exchanged: list[bytes] = []

    def __call__(self, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
        said = request.auth_bytes
        answer = self.first(said) if not self.exchanged else self.final(said)
        if answer is None:
            return REFUSED
        return SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=answer)

    def first(self, said: bytes) -> bytes:
        bare = said.removeprefix(b"n,,")
        nonce = bare.partition(b",r=")[2] + b"-and-more"
        answer = b"r=%s,s=%s,i=4096" % (nonce, b64encode(SALT))
        self.exchanged = [bare, answer]
        return answer

    def final(self, said: bytes) -> bytes | None:
        without_proof, _, proof = said.partition(b",p=")
        everything = b",".join((*self.exchanged, without_proof))
        salted = hashlib.pbkdf2_hmac(self.hash_name, PASSWORD.encode(), SALT, 4096)
        stored = hashlib.new(self.hash_name, self.mac(salted, b"Client Key")).digest()
        key = bytes(
            a ^ b for a, b in zip(b64decode(proof), self.mac(stored, everything), strict=True)
        )
        if hashlib.new(self.hash_name, key).digest() != stored:
            return None
        if self.impostor:
            return b"v=" + b64encode(bytes(len(key)))
        return b"v=" + b64encode(self.mac(self.mac(salted, b"Server Key"), everything))

    def mac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self.hash_name)


def signing_in(open_cluster: Opened, bootstrap: str, mechanism: str, **changes: str) -> Cluster:
    options = {"username": "alice", "password": PASSWORD} | changes
    return open_cluster(
        bootstrap,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism=mechanism,
        sasl_username=options["username"],
        sasl_password=options["password"],
    )


@pytest.mark.spec("book2:S2-12")
@pytest.mark.parametrize(
    ("mechanism", "authenticate"),
    [
        ("PLAIN", plain),
        ("SCRAM-SHA-256", ScramServer("sha256")),
        ("SCRAM-SHA-512", ScramServer("sha512")),
    ],
)
def test_signing_in(open_cluster: Opened, mechanism: str, authenticate: Any) -> None:
    """PLAIN and SCRAM: handshake, conversation, and only then the first question."""
    with scripted_broker(sasl_script(mechanism, authenticate)) as peer:
        assert signing_in(open_cluster, peer.bootstrap, mechanism).topics() == {}
        assert isinstance(peer.seen[0], SaslHandshakeRequest)
        assert isinstance(peer.seen[-1], MetadataRequest)


@pytest.mark.parametrize(
    ("mechanism", "authenticate"),
    [("PLAIN", plain), ("SCRAM-SHA-256", ScramServer("sha256"))],
)
def test_a_wrong_password_is_told_at_once(
    open_cluster: Opened, mechanism: str, authenticate: Any
) -> None:
    """No retry: the account might be locked for it. The text has the broker's own words."""
    with scripted_broker(sasl_script(mechanism, authenticate)) as peer:
        cluster = signing_in(open_cluster, peer.bootstrap, mechanism, password="wrong")
        with pytest.raises(AuthenticationFailed, match=r"'alice'.*Invalid username.*Check sasl"):
            cluster.topics()
        assert len(peer.of(SaslHandshakeRequest)) == 1


def test_an_impostor_is_not_believed(open_cluster: Opened) -> None:
    """SCRAM is mutual: a server without the account's keys gets no further request."""
    script = sasl_script("SCRAM-SHA-256", ScramServer("sha256", impostor=True))
    with scripted_broker(script) as peer:
        cluster = signing_in(open_cluster, peer.bootstrap, "SCRAM-SHA-256")
        with pytest.raises(AuthenticationFailed, match="not who it claims"):
            cluster.topics()
        assert peer.of(MetadataRequest) == []


def test_a_mechanism_that_is_not_offered(open_cluster: Opened) -> None:
    """The text names those that are."""
    with scripted_broker(sasl_script("SCRAM-SHA-512", plain)) as peer:
        cluster = signing_in(open_cluster, peer.bootstrap, "PLAIN")
        with pytest.raises(AuthenticationFailed, match="it offers SCRAM-SHA-512"):
            cluster.topics()


def test_signing_in_where_nobody_asks(open_cluster: Opened, bootstrap: str) -> None:
    """SASL on a plaintext listener."""
    cluster = signing_in(open_cluster, bootstrap, "PLAIN")
    with pytest.raises(AuthenticationFailed, match="a listener without SASL"):
        cluster.topics()


def test_a_listener_that_wants_a_sign_in(open_cluster: Opened) -> None:
    """A broker hangs up on the first real question; the text says what may be missing."""
    with scripted_broker({MetadataRequest: None}) as peer:
        cluster = open_cluster(peer.bootstrap)
        with pytest.raises(NoBroker, match=r"wants a sign-in, set security.protocol"):
            cluster.topics()


def test_tls(open_cluster: Opened, tmp_path: Path) -> None:
    """The certificate is held against the authority and the host's name, unless told not to."""
    context = self_signed(tmp_path)
    empty: Script = {MetadataRequest: MetadataResponse(brokers=[], topics=[])}
    authority = str(tmp_path / "certificate.pem")
    with scripted_broker(empty, context=context) as peer:
        by_name = f"localhost:{peer.port}"
        trusted = {"security_protocol": "SSL", "ssl_ca_location": authority}
        assert open_cluster(by_name, **trusted).topics() == {}
        unnamed = {"ssl_endpoint_identification_algorithm": ""}
        assert open_cluster(peer.bootstrap, **trusted, **unnamed).topics() == {}
        with pytest.raises(NoBroker, match=r"IP address mismatch.*check ssl.ca.location"):
            open_cluster(peer.bootstrap, **trusted).topics()
        with pytest.raises(NoBroker, match="self-signed certificate"):
            open_cluster(by_name, security_protocol="SSL").topics()
        with pytest.raises(NoBroker, match="speaks TLS, but the client does not"):
            open_cluster(peer.bootstrap).topics()
