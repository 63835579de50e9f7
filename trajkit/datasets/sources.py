"""Where the files of a data set are: given path, agreed folders, or a download; and how they are opened."""

from __future__ import annotations

import gzip
import logging
import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from trajkit.datasets.cache import cache_root, project_root
from trajkit.errors import DataContractError, MissingDataError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Download:
    """A public address and the name that the file gets here."""

    url: str
    file: str


def find_source(name: str, data: str | Path | None, files: str, download: Download | None = None) -> Path:
    """Return the file or folder of data set ``name``. Raises MissingDataError that says which file to put where."""
    if data is not None:
        return _given(Path(data).expanduser(), name, files)
    places = [Path(os.environ["TRAJKIT_DATA"]) / name] if os.environ.get("TRAJKIT_DATA") else []
    places += list(dict.fromkeys([Path.cwd() / "data" / name, project_root() / "data" / name]))
    for place in places:
        if place.is_file() or (place.is_dir() and any(place.iterdir())):
            return place
    wanted = f"data set {name} was not found in {', '.join(map(str, places))}: put {files} there, or give its path (DATA=...)"
    if download is None:
        raise MissingDataError(wanted)
    return _fetch(name, download, wanted)


def _given(path: Path, name: str, files: str) -> Path:
    tried = [path] if path.is_absolute() else list(dict.fromkeys([Path.cwd() / path, project_root() / path]))
    for candidate in tried:
        if candidate.exists():
            return candidate.resolve()
    raise MissingDataError(
        f"data path {str(path)!r} does not exist (looked at {' and '.join(map(str, tried))}): data set {name} needs {files}"
    )


def _fetch(name: str, download: Download, wanted: str) -> Path:
    import pooch

    folder = cache_root() / "downloads" / name
    target = folder / download.file
    if target.is_file():
        return target
    log.warning("downloading %s to %s (once)", download.url, folder)
    try:
        return Path(pooch.retrieve(download.url, known_hash=None, fname=download.file, path=folder))
    except (OSError, ValueError) as error:  # requests' errors are OSErrors
        reason = type(error).__name__
        raise MissingDataError(f"{wanted}; the download from {download.url} failed ({reason}: no network?)") from error


@contextmanager
def opened(path: Path, member: tuple[str, ...] = ()) -> Iterator[IO[bytes]]:
    """Open a plain, .gz or .zip file for reading bytes; of a zip, the first member whose name ends in one of ``member``.

    A zip within the zip is opened too. Damage found here or while reading becomes one DataContractError.
    """
    try:
        if path.stat().st_size == 0:
            raise DataContractError(f"{path} is empty: get the file again")
        if path.suffix == ".gz":
            with gzip.open(path, "rb") as file:
                yield cast(IO[bytes], file)
        elif path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive, _member(archive, path, member) as file:
                yield file
        else:
            with path.open("rb") as file:
                yield file
    except (EOFError, gzip.BadGzipFile, zlib.error, zipfile.BadZipFile) as error:
        raise DataContractError(
            f"{path} is damaged or cut off ({error}): copy or download it again, the sizes should agree"
        ) from error


@contextmanager
def _member(archive: zipfile.ZipFile, path: Path, endings: tuple[str, ...]) -> Iterator[IO[bytes]]:
    names = [n for n in archive.namelist() if not n.endswith("/") and not n.startswith("__MACOSX")]
    for ending in endings or ("",):
        for name in names:
            if name.endswith(ending):
                with archive.open(name) as file:
                    yield file
                return
            if name.endswith(ending + ".zip"):
                with (
                    archive.open(name) as inner,
                    zipfile.ZipFile(inner) as nested,
                    _member(nested, path, endings) as file,
                ):
                    yield file
                return
    raise DataContractError(f"{path} holds no {' or '.join(endings)} but {names[:5]}: give the right archive")
