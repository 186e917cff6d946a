"""A certificate authority of one test run, and certificates it signs, made by `openssl`; all keys are throw-away."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

DAYS = "2"
CURVE = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]


@dataclass(frozen=True, slots=True)
class Certificate:
    """PEM files: the certificate, its key, and both in one for Kafka."""

    certfile: Path
    keyfile: Path
    both: Path


class Authority:
    """One authority; `folder` is its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.cafile, self._key = folder / "ca.pem", folder / "ca.key"
        _openssl("genpkey", *CURVE, "-out", self._key)
        _openssl(
            *("req", "-x509", "-new", "-key", self._key, "-subj", f"/CN={name}", "-days", DAYS, "-out", self.cafile),
            *("-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"),
        )

    def sign(self, name: str, *, host: str | None = None) -> Certificate:
        """A certificate for the subject `name`, valid for the host name `host`."""
        made = Certificate(*(self._folder / f"{name}.{ending}" for ending in ("crt", "key", "pem")))
        request, extensions = self._folder / f"{name}.csr", self._folder / f"{name}.ext"
        extensions.write_text("basicConstraints=CA:FALSE\n" + (f"subjectAltName=DNS:{host}\n" if host else ""))
        _openssl("genpkey", *CURVE, "-out", made.keyfile)
        _openssl("req", "-new", "-key", made.keyfile, "-subj", f"/CN={name}", "-out", request)
        _openssl(
            *("x509", "-req", "-in", request, "-CA", self.cafile, "-CAkey", self._key, "-CAcreateserial"),
            *("-days", DAYS, "-extfile", extensions, "-out", made.certfile),
        )
        made.both.write_text(made.keyfile.read_text() + made.certfile.read_text())
        return made


def _openssl(*arguments: object) -> None:
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl is not here, and without it there are no certificates")
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
