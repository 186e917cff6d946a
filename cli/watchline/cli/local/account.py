"""Which user Postgres runs as: it refuses root, and its directory must belong to its user."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from watchline.cli.local.child import Account
from watchline.schemas.errors import Misconfigured

NAMES = ("postgres", "nobody")  # no user is created for the sake of a trial


def account_for(directory: Path, programs: Path) -> Account | None:
    """The account for a server that keeps its data in `directory` and is run from `programs`.

    None unless we are root. As root: the owner of a directory in use, else `postgres` or `nobody`, who is
    given the directory (nothing above it is touched). Raises `Misconfigured` when it can't be used.
    """
    owner = directory.stat().st_uid
    if os.geteuid() != 0:
        if owner != os.geteuid():
            raise Misconfigured(
                f"{directory} belongs to {user_name(owner)}",
                hint="run as that user, or remove the directory to start afresh",
            )
        return None
    user = pwd.getpwuid(owner) if owner != 0 else first_known()
    if owner == 0:
        if any(directory.iterdir()):
            raise Misconfigured(
                f"{directory} holds files of root, and Postgres does not run as root",
                hint="name an empty directory, or remove this one",
            )
        give(directory, user)
    reach = not all(may_enter(path, user) for path in (directory, programs))
    return Account(user.pw_uid, user.pw_gid, reach=reach)


def give(directory: Path, user: pwd.struct_passwd) -> None:
    """Make `user` the owner of the directory itself."""
    try:
        os.chown(directory, user.pw_uid, user.pw_gid)
    except PermissionError as error:
        raise Misconfigured(
            f"Postgres does not run as root, and this root may not give {directory} to {user.pw_name}",
            hint="run as an ordinary user, or keep the container's usual capabilities",
        ) from error


def first_known() -> pwd.struct_passwd:
    """The first of `NAMES` that this machine has."""
    for name in NAMES:
        try:
            return pwd.getpwnam(name)
        except KeyError:  # the next one, then
            continue
    raise Misconfigured(
        "Postgres does not run as root, and this machine has no user " + " or ".join(NAMES),
        hint="run as an ordinary user",
    )


def may_enter(path: Path, user: pwd.struct_passwd) -> bool:
    """Whether `user`, in its own group only, may enter `path` and every folder above it."""
    return all(_may_search(folder, user) for folder in (path.resolve(), *path.resolve().parents))


def _may_search(folder: Path, user: pwd.struct_passwd) -> bool:
    status = folder.stat()
    if status.st_uid == user.pw_uid:
        return bool(status.st_mode & 0o100)
    if status.st_gid == user.pw_gid:
        return bool(status.st_mode & 0o010)
    return bool(status.st_mode & 0o001)


def user_name(uid: int) -> str:
    """The name of a user id, or the number when it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
