"""Passwords are encrypted as Kafka's brokers did it, in Java."""

from __future__ import annotations

import secrets
from base64 import b64encode

import pytest

from headrace.credentials.password_encoder import CBC, GCM, KEY_FACTORIES, PasswordEncoder
from headrace.errors import ConfigError


def counting(size: int) -> bytes:
    """Stands in for chance: 0, 1, 2, …"""
    return bytes(range(size))


# Made with javax.crypto of a JDK 17 (PBEKeySpec, SecretKeyFactory, Cipher), with the same salt.
SALT = b64encode(counting(256)).decode()
JAVA = [
    (
        PasswordEncoder("the broker's secret", counting),
        "keystore-pässword \U0001f511",
        "keyFactoryAlgorithm:PBKDF2WithHmacSHA512,cipherAlgorithm:AES/CBC/PKCS5Padding,"
        f"keyLength:128,salt:{SALT},iterations:4096,"
        "encryptedPassword:g04gSXW2mmD86F0Q3e4s5BDOaafw6GLePTG8WLkiBqY=,passwordLength:20,"
        "initializationVector:AAECAwQFBgcICQoLDA0ODw==",
    ),
    (
        PasswordEncoder("sécret", counting, "PBKDF2WithHmacSHA256", GCM, 256, 2048),
        "changeit",
        "keyFactoryAlgorithm:PBKDF2WithHmacSHA256,cipherAlgorithm:AES/GCM/NoPadding,keyLength:256,"
        f"salt:{SALT},iterations:2048,"
        "encryptedPassword:Je+UukHd4N5fx0U0PdhxqTr26d7jp6tY,passwordLength:8,"
        "authenticationTagLength:128,initializationVector:AAECAwQFBgcICQoL",
    ),
    (
        PasswordEncoder("s", counting, "PBKDF2WithHmacSHA1", CBC, 192, 1024),
        "",
        "keyFactoryAlgorithm:PBKDF2WithHmacSHA1,cipherAlgorithm:AES/CBC/PKCS5Padding,keyLength:192,"
        f"salt:{SALT},iterations:1024,"
        "encryptedPassword:K+fOsS4Ih+FygeA2Qu0j1w==,passwordLength:0,"
        "initializationVector:AAECAwQFBgcICQoLDA0ODw==",
    ),
]
ENCODER, PASSWORD, ENCODED = JAVA[0]


def fields(encoded: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in encoded.split(","))


@pytest.mark.parametrize(("encoder", "password", "encoded"), JAVA, ids=["cbc", "gcm", "empty"])
def test_java_encrypts_to_the_same_fields(
    encoder: PasswordEncoder, password: str, encoded: str
) -> None:
    assert fields(encoder.encode({"p": password})["p"]) == fields(encoded)


@pytest.mark.parametrize(("encoder", "password", "encoded"), JAVA, ids=["cbc", "gcm", "empty"])
def test_what_java_encrypted_is_decrypted(
    encoder: PasswordEncoder, password: str, encoded: str
) -> None:
    """The text says how: other settings and the order of the fields make no difference."""
    assert encoder.decode(encoded) == password
    assert PasswordEncoder(encoder.secret, counting).decode(encoded) == password
    assert encoder.decode(", ".join(reversed(encoded.split(",")))) == password


@pytest.mark.parametrize("cipher", [CBC, GCM])
@pytest.mark.parametrize("key_factory", KEY_FACTORIES)
def test_passwords_return_and_equal_ones_look_different(cipher: str, key_factory: str) -> None:
    encoder = PasswordEncoder("s", secrets.token_bytes, key_factory, cipher, iterations=1024)
    passwords = {"a": PASSWORD, "b": PASSWORD, "long": "x" * 5000, "empty": ""}
    encoded = encoder.encode(passwords)
    assert {name: encoder.decode(text) for name, text in encoded.items()} == passwords
    vectors = [fields(text)["initializationVector"] for text in encoded.values()]
    assert len(set(vectors)) == len(passwords)
    assert fields(encoded["a"])["encryptedPassword"] != fields(encoded["b"])["encryptedPassword"]


@pytest.mark.parametrize("cipher", [CBC, GCM])
def test_another_secret_is_noticed(cipher: str) -> None:
    encoder = PasswordEncoder("s", secrets.token_bytes, cipher=cipher)
    encoded = encoder.encode({"p": PASSWORD})["p"]
    with pytest.raises(ConfigError, match="could not be decrypted"):
        PasswordEncoder("other", secrets.token_bytes).decode(encoded)


@pytest.mark.parametrize(
    "damaged",
    [
        "",
        "changeit",
        "a:b,c:d",
        ENCODED.replace("keyLength:128", "keyLength:8"),
        ENCODED.replace("iterations:4096", "iterations:0"),
        ENCODED.replace("passwordLength:20", "passwordLength:19"),
        ENCODED.replace("AES/CBC/PKCS5Padding", "DES/CBC/PKCS5Padding"),
        ENCODED.replace("HmacSHA512", "HmacMD5"),
        ENCODED.replace("salt:AAEC", "salt:*"),
        ENCODED.replace("initializationVector:AAEC", "initializationVector:"),
        ENCODED.replace("encryptedPassword:g04g", "encryptedPassword:"),
        ENCODED.partition(",initializationVector")[0],
    ],
)
def test_damaged_text_is_an_error_without_the_password(damaged: str) -> None:
    with pytest.raises(ConfigError, match="could not be decrypted") as caught:
        ENCODER.decode(damaged)
    assert caught.value.__cause__ is None
