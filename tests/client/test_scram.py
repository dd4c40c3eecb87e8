"""SCRAM's computation."""

from __future__ import annotations

import pytest

from headrace.client.faults import AuthenticationFailed
from headrace.client.scram import ScramClient

# The example conversation of RFC 7677, section 3.
NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def started(username: str = "user") -> ScramClient:
    return ScramClient("sha256", username, "pencil", NONCE)


def test_the_conversation_of_the_rfc() -> None:
    """RFC 7677: proof and signature of the example, byte for byte."""
    client = started()
    assert client.first() == b"n,,n=user,r=" + NONCE.encode()
    assert client.final(SERVER_FIRST) == CLIENT_FINAL
    client.verify(SERVER_FINAL)


def test_an_older_hash_gives_the_older_example() -> None:
    """RFC 5802: the computation is that of the framework, whatever the hash function."""
    client = ScramClient("sha1", "user", "pencil", "fyko+d2lbbFgONRv9qkxdawL")
    final = client.final(b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096")
    assert final.endswith(b",p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=")
    client.verify(b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=")


def test_names_are_escaped() -> None:
    """RFC 5802, section 5.1: comma and equals sign would end the name."""
    assert started("a,b=c").first() == b"n,,n=a=2Cb=3Dc,r=" + NONCE.encode()


def test_text_is_prepared() -> None:
    """RFC 4013: a soft hyphen vanishes, a no-break space is a space, ligatures have one form."""
    client = started("us\u00ader\u00a0\u2168")
    assert client.first() == b"n,,n=user IX,r=" + NONCE.encode()


@pytest.mark.parametrize(
    ("server_first", "complaint"),
    [
        (b"r=somebody-else,s=W22ZaJ0S,i=4096", "nonce"),
        (b"r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0S,i=4096", "nonce"),
        (b"r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0S,i=1", "iterations"),
        (b"r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0S,i=99999999999", "iterations"),
        (b"r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0S,i=many", "iterations"),
        (b"r=rOprNGfwEbeRWgbNEkqOx,s=???,i=4096", "base64"),
        (b"r=rOprNGfwEbeRWgbNEkqOx,i=4096", "salt"),
        (b"\xff\xfe", "not text"),
        (b"", "nonce"),
    ],
)
def test_a_bad_challenge_is_refused(server_first: bytes, complaint: str) -> None:
    """A weak or forged challenge gets no proof out of this client."""
    with pytest.raises(AuthenticationFailed, match=complaint):
        started().final(server_first)


@pytest.mark.parametrize(
    ("server_final", "complaint"),
    [
        (b"v=" + b"A" * 43 + b"=", "not who it claims"),
        (b"e=invalid-proof", "invalid-proof"),
        (b"", "not who it claims"),
    ],
)
def test_a_server_must_prove_itself(server_final: bytes, complaint: str) -> None:
    """Without the right signature the other side does not know the account."""
    client = started()
    client.final(SERVER_FIRST)
    with pytest.raises(AuthenticationFailed, match=complaint):
        client.verify(server_final)
