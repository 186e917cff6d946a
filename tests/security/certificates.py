"""Certificates for a test, made by openssl."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest


def self_signed(folder: Path, host: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context for `host`, and a client's that trusts it and nobody else."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not here to make a certificate")
    key, certificate = folder / f"{host}.key", folder / f"{host}.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-days", "2", "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}"]
    done = subprocess.run([*command, "-keyout", key, "-out", certificate], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)
    return server, ssl.create_default_context(cafile=str(certificate))
