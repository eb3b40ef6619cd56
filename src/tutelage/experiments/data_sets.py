"""The real data sets: where each is published, under what licence, and how to check a copy.

Nothing here uses the network.  Sizes and sums are of the files inside an archive, so that the archive, the
unpacked folder and a single file can all be checked.
"""

import hashlib
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tutelage.errors import InputError
from tutelage.instances.readers.files import DataFile
from tutelage.paths import find_path

FOLDER_VARIABLE = "TUTELAGE_DATA"
AS_PUBLISHED = "as published"
_CHUNK = 1 << 20


@dataclass(frozen=True)
class DataSetFile:
    """One published file: its name, size in bytes, sha256, and whether simulations need it."""

    name: str
    size: int
    sha256: str
    needed: bool = False


@dataclass(frozen=True)
class DataSet:
    """A published data set: ``archive`` is the published file, ``parts`` are the files that are checked."""

    name: str
    title: str
    page: str
    address: str
    licence: str
    archive: DataSetFile | None
    parts: tuple[DataSetFile, ...]


@dataclass(frozen=True)
class FileCheck:
    """How a file compares with the published ``part``: its ``state`` is ``as published`` or ``different``."""

    data_set: str
    part: str
    file: str
    state: str
    sentence: str


DATA_SETS = (
    DataSet(
        name="ml-latest-small",
        title="MovieLens, 100,836 ratings of 9,742 movies by 610 users (September 2018)",
        page="https://grouplens.org/datasets/movielens/latest/",
        address="https://files.grouplens.org/datasets/movielens/ml-latest-small.zip",
        licence=(
            "GroupLens' own (README.txt in the archive): research use with acknowledgement (Harper and "
            "Konstan 2015), redistribution under the same conditions, no commercial use without permission"
        ),
        archive=DataSetFile(
            # tensorflow/datasets, url_checksums/movielens.txt
            "ml-latest-small.zip",
            978_202,
            "696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436",
        ),
        parts=(
            DataSetFile(
                "ratings.csv",
                2_483_723,
                "aa289ca83157595d0df6aea1be6a4ded676ddc4385472e8313a8ed9805352646",
                needed=True,
            ),
            DataSetFile("movies.csv", 494_431, "5a5f32dd9bb3797b8e728a1b98958789d2b13f294a69fdfbc5727f8a9611aa07"),
            DataSetFile("README.txt", 8_342, "63d22ac138e80fae37021797ed8e1b9424b5239dc576a137422adf783ae3f404"),
        ),
    ),
    DataSet(
        name="grenoble-k7",
        title="K7 trace of radio links, FIT IoT-lab Grenoble, 50 nodes, 11 to 13 January 2018",
        page="https://github.com/keomabrun/dense_connectivity_datasets",
        address="https://bitbucket.org/6tisch/simulator (traces/grenoble.k7.gz)",
        licence="BSD with three clauses, Copyright (c) Inria",
        archive=None,
        parts=(
            DataSetFile(
                "grenoble.k7.gz",
                769_391,
                "0d004686a8cc0c2926228c9f0bca87a7290ddd653f55f4b50180188e3dca12e0",
                needed=True,
            ),
            DataSetFile("grenoble.k7", 4_976_790, "91954e27a08b51bab47a9ef827077150fa68a5d9d28e90139ce4efe8681c3d6e"),
        ),
    ),
)


def find_data_set(name: str) -> DataSet:
    """Return the data set of that name; raise ``InputError`` if it does not exist."""
    for each in DATA_SETS:
        if each.name == name:
            return each
    names = " or ".join(each.name for each in DATA_SETS)
    raise InputError(f"Unknown data set {name!r}: use {names}.")


def describe_download(wanted: DataSet) -> str:
    """Return one sentence on where to get a data set and where to put it."""
    return (
        f"The data set {wanted.name} was not found: download it from {wanted.address}, put it into a folder, "
        f"and name it with --data or {FOLDER_VARIABLE} (tutelage data prints licence, size and sha256)."
    )


def locate(wanted: DataSet, folder: str | None) -> Path | None:
    """Return where a copy is: in ``folder`` (``TUTELAGE_DATA`` if None), or that folder or file itself."""
    text = folder if folder is not None else os.environ.get(FOLDER_VARIABLE)
    if not text:
        return None
    base = find_path(text)
    names = [wanted.name, *([wanted.archive.name] if wanted.archive else [])]
    for place in (*(base / name for name in names), base):
        if place.is_file() and (place != base or _has_known_name(place, wanted)):
            return place
        if place.is_dir() and any((place / part.name).is_file() for part in wanted.parts if part.needed):
            return place
    return None


def _has_known_name(file: Path, data_set: DataSet) -> bool:
    parts = (*data_set.parts, *([data_set.archive] if data_set.archive else []))
    return file.name in {part.name for part in parts}


def check_files(path: str) -> list[FileCheck]:
    """Compare a file, an archive, a folder of files or a folder of such folders with what is published.

    Raises ``InputError`` where nothing is at ``path``, or no file in it has the name of a known file.
    """
    found = find_path(path)
    checks = [
        _compare(data, owner, part)
        for data in _walk_files(found)
        for owner, part in _match_names(data, is_whole=data.path == found and data.member is None)
    ]
    if not checks:
        known = ", ".join(part.name for each in DATA_SETS for part in each.parts)
        raise InputError(f"{path!r} contains no file of a known data set ({known}): check the path.")
    return checks


def list_differences(path: str) -> list[str]:
    """Return a sentence for each file that simulations need and that is not as published."""
    return [
        check.sentence
        for check in check_files(path)
        if check.state != AS_PUBLISHED
        and any(part.needed and part.name == check.part for part in find_data_set(check.data_set).parts)
    ]


def _walk_files(found: Path) -> Iterator[DataFile]:
    if found.is_dir():
        for item in sorted([*found.glob("*"), *found.glob("*/*")]):
            if item.is_file():
                yield from _walk_files(item)
    elif zipfile.is_zipfile(found):
        try:
            with zipfile.ZipFile(found) as archive:
                members = [item.filename for item in archive.infolist() if not item.is_dir()]
        except (OSError, zipfile.BadZipFile) as error:
            raise InputError(f"The archive {str(found)!r} is damaged ({error}): download it again.") from None
        yield from (DataFile(found, member) for member in members)
    else:
        yield DataFile(found)


def _match_names(data: DataFile, *, is_whole: bool) -> Iterator[tuple[DataSet, DataSetFile]]:
    """Yield the published file that this one should be, by its name.

    A README counts only where it lies in the folder of a data set, or is the path that was given.
    """
    name = PurePosixPath(data.member or data.path.name).name
    for each in DATA_SETS:
        for part in each.parts:
            if part.name == name and (is_whole or part.needed or _is_in_its_folder(data, each)):
                yield each, part


def _is_in_its_folder(data: DataFile, owner: DataSet) -> bool:
    return any(data.find_sibling(part.name) is not None for part in owner.parts if part.needed)


def _compare(data: DataFile, owner: DataSet, part: DataSetFile) -> FileCheck:
    digest, size = hashlib.sha256(), 0
    try:
        for chunk in _read_chunks(data):
            digest.update(chunk)
            size += len(chunk)
    except (OSError, zipfile.BadZipFile, EOFError) as error:
        raise InputError(f"{data.label!r} cannot be read ({error}): download it again.") from None
    if (size, digest.hexdigest()) == (part.size, part.sha256):
        return FileCheck(owner.name, part.name, data.label, AS_PUBLISHED, f"{data.label} is as published.")
    sentence = (
        f"{data.label} differs from the published {part.name} of {owner.name}: it has {size:,} bytes with "
        f"sha256 {digest.hexdigest()}, not {part.size:,} with {part.sha256}; download it again from "
        f"{owner.address}."
    )
    return FileCheck(owner.name, part.name, data.label, "different", sentence)


def _read_chunks(data: DataFile) -> Iterator[bytes]:
    """Yield the bytes as stored; a packed file is not unpacked."""
    if data.member is None:
        with data.path.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
        return
    with zipfile.ZipFile(data.path) as archive, archive.open(data.member) as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk
