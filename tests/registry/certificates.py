"""Keys and certificates for tests, made by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path


def make_pem(folder: Path, name: str) -> Path:
    """A key and a certificate for 127.0.0.1, in one PEM file that also says whom to trust."""
    key, certificate = folder / f"{name}.key", folder / f"{name}.crt"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "1", "-subj", f"/CN={name}"),
            *("-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    both = folder / f"{name}.pem"
    both.write_text(key.read_text() + certificate.read_text())
    return both
