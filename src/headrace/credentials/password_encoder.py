"""Passwords encrypted with a secret, in the format that Kafka's brokers kept in ZooKeeper.

An encrypted password is a text of `name:value` pairs that says how the key was derived from the
secret and how the password was encrypted. Decryption follows the text, not the settings, so that
passwords stay readable when the settings change.
"""

from __future__ import annotations

import functools
import hashlib
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from headrace.errors import ConfigError

KEY_FACTORIES: Final = {
    "PBKDF2WithHmacSHA1": "sha1",
    "PBKDF2WithHmacSHA224": "sha224",
    "PBKDF2WithHmacSHA256": "sha256",
    "PBKDF2WithHmacSHA384": "sha384",
    "PBKDF2WithHmacSHA512": "sha512",
}
CBC: Final = "AES/CBC/PKCS5Padding"
GCM: Final = "AES/GCM/NoPadding"
KEY_LENGTHS: Final = (128, 192, 256)
_SALT_BYTES: Final = 256
_IV_BYTES: Final = {CBC: 16, GCM: 12}
_BLOCK_BITS: Final = 128
_TAG_BITS: Final = 128


@dataclass(frozen=True, slots=True)
class PasswordEncoder:
    """Encrypts and decrypts with one secret; the other fields apply to encryption only."""

    secret: str
    random_bytes: Callable[[int], bytes]
    key_factory: str = "PBKDF2WithHmacSHA512"
    cipher: str = CBC
    key_length: int = 128
    iterations: int = 4096

    def encode(self, passwords: Mapping[str, str]) -> dict[str, str]:
        """Each password encrypted, under the same name.

        They share a salt, because a key takes milliseconds to derive and one request may set
        thousands of passwords. Each has an initialization vector of its own.
        """
        salt = self.random_bytes(_SALT_BYTES)
        key = _derived_key(self.secret, self.key_factory, salt, self.iterations, self.key_length)
        return {name: self._encode(password, salt, key) for name, password in passwords.items()}

    def _encode(self, password: str, salt: bytes, key: bytes) -> str:
        vector = self.random_bytes(_IV_BYTES[self.cipher])
        fields = {
            "keyFactoryAlgorithm": self.key_factory,
            "cipherAlgorithm": self.cipher,
            "keyLength": self.key_length,
            "salt": b64encode(salt).decode(),
            "iterations": self.iterations,
            "encryptedPassword": b64encode(
                _encrypted(self.cipher, key, vector, password.encode())
            ).decode(),
            "passwordLength": _java_length(password),
            "initializationVector": b64encode(vector).decode(),
        }
        if self.cipher == GCM:
            fields["authenticationTagLength"] = _TAG_BITS
        return ",".join(f"{name}:{value}" for name, value in fields.items())

    def decode(self, encoded: str) -> str:
        """The password, or ConfigError if it was encrypted with another secret or is damaged."""
        try:
            fields = {
                name.strip(): value.strip()
                for name, _, value in (pair.partition(":") for pair in encoded.split(","))
            }
            key = _derived_key(
                self.secret,
                fields["keyFactoryAlgorithm"],
                b64decode(fields["salt"], validate=True),
                int(fields["iterations"]),
                int(fields["keyLength"]),
            )
            vector = b64decode(fields["initializationVector"], validate=True)
            data = b64decode(fields["encryptedPassword"], validate=True)
            password = _decrypted(fields["cipherAlgorithm"], key, vector, data).decode()
            # A wrong key may by chance give bytes that look padded: Kafka checks the length too.
            if _java_length(password) != int(fields["passwordLength"]):
                raise ValueError
        except (KeyError, ValueError):
            # Without the cause: it could carry a part of the password.
            raise ConfigError("the password could not be decrypted") from None
        return password


@functools.lru_cache(maxsize=4096)
def _derived_key(
    secret: str, key_factory: str, salt: bytes, iterations: int, key_length: int
) -> bytes:
    if key_length not in KEY_LENGTHS:
        raise ValueError(key_length)
    digest = KEY_FACTORIES[key_factory]
    return hashlib.pbkdf2_hmac(digest, secret.encode(), salt, iterations, key_length // 8)


def _encrypted(cipher: str, key: bytes, vector: bytes, data: bytes) -> bytes:
    # Loaded on first use: a broker without a secret needs no cryptography.
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.padding import PKCS7

    if cipher == GCM:
        return AESGCM(key).encrypt(vector, data, None)
    padder = PKCS7(_BLOCK_BITS).padder()
    encryptor = Cipher(algorithms.AES(key), modes.CBC(vector)).encryptor()
    return encryptor.update(padder.update(data) + padder.finalize()) + encryptor.finalize()


def _decrypted(cipher: str, key: bytes, vector: bytes, data: bytes) -> bytes:
    """The bytes; KeyError for an unknown cipher, ValueError for another key or damaged data."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.padding import PKCS7

    if len(vector) != _IV_BYTES[cipher]:
        raise ValueError(len(vector))
    if cipher == GCM:
        try:
            return AESGCM(key).decrypt(vector, data, None)
        except InvalidTag:
            raise ValueError from None
    decryptor = Cipher(algorithms.AES(key), modes.CBC(vector)).decryptor()
    unpadder = PKCS7(_BLOCK_BITS).unpadder()
    return unpadder.update(decryptor.update(data) + decryptor.finalize()) + unpadder.finalize()


def _java_length(text: str) -> int:
    """The length as Java counts it: characters beyond the first 65,536 are two."""
    return len(text.encode("utf-16-le")) // 2
