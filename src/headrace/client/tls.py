"""From settings to an `ssl.SSLContext`; refuses to know connections."""

from __future__ import annotations

import ssl

from headrace.client.settings import ClientSettings
from headrace.errors import ConfigError


def tls_context(settings: ClientSettings) -> ssl.SSLContext | None:
    """The context for this security protocol; None where it has no TLS."""
    if not settings.has_tls:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = settings.ssl_verify_hostname and settings.ssl_verify_certificate
    if not settings.ssl_verify_certificate:
        context.verify_mode = ssl.CERT_NONE
    elif settings.ssl_ca_location is None:
        context.load_default_certs()
    else:
        _load_authorities(context, settings.ssl_ca_location)
    if settings.ssl_certificate_location is not None:
        _load_certificate(context, settings)
    return context


def _load_authorities(context: ssl.SSLContext, location: str) -> None:
    try:
        context.load_verify_locations(location)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"ssl.ca.location={location!r} cannot be used ({error}): "
            "a PEM file with the certificates of the authorities is expected"
        ) from None


def _load_certificate(context: ssl.SSLContext, settings: ClientSettings) -> None:
    certificate, key = settings.ssl_certificate_location, settings.ssl_key_location
    assert certificate is not None
    # Without a password OpenSSL would ask for one at the terminal.
    password = settings.ssl_key_password or ""
    try:
        context.load_cert_chain(certificate, key, password)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"ssl.certificate.location={certificate!r} and ssl.key.location={key!r} cannot be used "
            f"({error}): PEM files that belong together, and ssl.key.password, are expected"
        ) from None
