"""SCRAM from the client's side: salted challenge and response, and the proof of both sides.

RFC 5802 with the hash functions of RFC 7677, as KIP-84 took them over, without channel binding.
The password never leaves; the server proves with its signature that it knows the account as well.
Pure computation: the nonce is an argument, and the messages go wherever the caller sends them.

    client first   n,,n=USER,r=NONCE
    server first   r=NONCE+MORE,s=SALT,i=ITERATIONS
    client final   c=biws,r=NONCE+MORE,p=PROOF
    server final   v=SIGNATURE   or   e=ERROR
"""

from __future__ import annotations

import hashlib
import hmac
import stringprep
import unicodedata
from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from typing import Final

from headrace.client.faults import AuthenticationFailed

_HEADER: Final = "n,,"
_BOUND_HEADER: Final = b64encode(_HEADER.encode()).decode()
MIN_ITERATIONS: Final = 4096
MAX_ITERATIONS: Final = 1 << 20
"""More would only be asked for by a server that wants to keep this client busy."""


class ScramClient:
    """One conversation: `first`, then `final(answer)`, then `verify(answer)`."""

    def __init__(self, hash_name: str, username: str, password: str, nonce: str) -> None:
        self._hash_name = hash_name
        self._password = _prepared(password).encode()
        self._nonce = nonce
        name = _prepared(username).replace("=", "=3D").replace(",", "=2C")
        self._first_bare = f"n={name},r={nonce}"
        self._server_signature = b""

    def first(self) -> bytes:
        """Who wants to sign in."""
        return (_HEADER + self._first_bare).encode()

    def final(self, server_first: bytes) -> bytes:
        """The proof that this client knows the password, for the server's salt."""
        challenge = _attributes(server_first)
        nonce, salt, iterations = self._checked(challenge)
        salted = hashlib.pbkdf2_hmac(self._hash_name, self._password, salt, iterations)
        without_proof = f"c={_BOUND_HEADER},r={nonce}"
        exchanged = b",".join((self._first_bare.encode(), server_first, without_proof.encode()))
        client_key = self._mac(salted, b"Client Key")
        stored_key = hashlib.new(self._hash_name, client_key).digest()
        signature = self._mac(stored_key, exchanged)
        proof = bytes(left ^ right for left, right in zip(client_key, signature, strict=True))
        self._server_signature = self._mac(self._mac(salted, b"Server Key"), exchanged)
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def verify(self, server_final: bytes) -> None:
        """Refuse a server that does not know the account."""
        outcome = _attributes(server_final)
        if "e" in outcome:
            raise AuthenticationFailed(f"the server says: {outcome['e']}")
        if not hmac.compare_digest(_decoded(outcome.get("v", "")), self._server_signature):
            raise AuthenticationFailed("the server's signature is wrong: it is not who it claims")

    def _checked(self, challenge: dict[str, str]) -> tuple[str, bytes, int]:
        nonce = challenge.get("r", "")
        if not nonce.startswith(self._nonce) or len(nonce) == len(self._nonce):
            raise AuthenticationFailed("the server's nonce does not continue that of this client")
        count = challenge.get("i", "")
        iterations = int(count) if count.isdecimal() and len(count) < 10 else 0
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            raise AuthenticationFailed(
                f"the server asks for {count!r} iterations; "
                f"allowed are {MIN_ITERATIONS} to {MAX_ITERATIONS}"
            )
        salt = _decoded(challenge.get("s", ""))
        if not salt:
            raise AuthenticationFailed("the server sent no salt")
        return nonce, salt, iterations

    def _mac(self, key: bytes, message: bytes) -> bytes:
        return hmac.digest(key, message, self._hash_name)


def _attributes(message: bytes) -> dict[str, str]:
    try:
        pairs = [part.partition("=") for part in message.decode().split(",")]
    except UnicodeDecodeError:
        raise AuthenticationFailed("the server's SCRAM message is not text") from None
    return {name: value for name, equals, value in pairs if equals}


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise AuthenticationFailed(f"the server sent {text!r}, which is not base64") from None


def _prepared(text: str) -> str:
    """SASLprep (RFC 4013) as far as it changes text: spaces, invisible characters, one form."""
    mapped = "".join(
        " " if stringprep.in_table_c12(character) else character
        for character in text
        if not stringprep.in_table_b1(character)
    )
    return unicodedata.normalize("NFKC", mapped)
