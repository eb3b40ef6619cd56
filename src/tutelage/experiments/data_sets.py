"""The real data sets: where each is published, under what licence, and how to tell that a copy is whole.

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
from tutelage.instances.files import DataFile, existing

FOLDER_VARIABLE = "TUTELAGE_DATA"
_PIECE = 1 << 20


@dataclass(frozen=True)
class Part:
    """One file: its name, size in bytes, sha256, and whether simulating needs it."""

    name: str
    size: int
    sha256: str
    needed: bool = False


@dataclass(frozen=True)
class DataSet:
    """A published data set.  ``archive`` is the published file, ``parts`` the files that are checked."""

    name: str
    title: str
    page: str
    address: str
    licence: str
    archive: Part | None
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Finding:
    """What was found of one file that should be ``part``: ``as published`` or ``different``."""

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
        archive=Part(
            # tensorflow/datasets, url_checksums/movielens.txt
            "ml-latest-small.zip",
            978_202,
            "696d65a3dfceac7c45750ad32df2c259311949efec81f0f144fdfb91ebc9e436",
        ),
        parts=(
            Part(
                "ratings.csv",
                2_483_723,
                "aa289ca83157595d0df6aea1be6a4ded676ddc4385472e8313a8ed9805352646",
                needed=True,
            ),
            Part("movies.csv", 494_431, "5a5f32dd9bb3797b8e728a1b98958789d2b13f294a69fdfbc5727f8a9611aa07"),
            Part("README.txt", 8_342, "63d22ac138e80fae37021797ed8e1b9424b5239dc576a137422adf783ae3f404"),
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
            Part(
                "grenoble.k7.gz",
                769_391,
                "0d004686a8cc0c2926228c9f0bca87a7290ddd653f55f4b50180188e3dca12e0",
                needed=True,
            ),
            Part(
                "grenoble.k7", 4_976_790, "91954e27a08b51bab47a9ef827077150fa68a5d9d28e90139ce4efe8681c3d6e"
            ),
        ),
    ),
)


def data_set(name: str) -> DataSet:
    """The data set of that name; else ``InputError``."""
    for each in DATA_SETS:
        if each.name == name:
            return each
    raise InputError(f"There is no data set {name!r}: they are {', '.join(each.name for each in DATA_SETS)}.")


def how_to_get(wanted: DataSet) -> str:
    """One sentence on where it is and what to do with it."""
    return (
        f"{wanted.name} is not at hand: get it from {wanted.address}, put it into a folder, and name the "
        f"folder with --data or {FOLDER_VARIABLE} (tutelage data tells licence, size and sha256)."
    )


def find(wanted: DataSet, folder: str | None) -> Path | None:
    """Where a data set lies: in ``folder`` (``TUTELAGE_DATA`` if None), or that folder or file itself."""
    text = folder if folder is not None else os.environ.get(FOLDER_VARIABLE)
    if not text:
        return None
    base = existing(text)
    names = [wanted.name, *([wanted.archive.name] if wanted.archive else [])]
    for place in (*(base / name for name in names), base):
        if place.is_file() and (place != base or _is_of(place, wanted)):
            return place
        if place.is_dir() and any((place / part.name).is_file() for part in wanted.parts if part.needed):
            return place
    return None


def _is_of(file: Path, wanted: DataSet) -> bool:
    """Whether a file that was named is one of the data set, going by its name."""
    parts = (*wanted.parts, *([wanted.archive] if wanted.archive else []))
    return file.name in {part.name for part in parts}


def check(path: str) -> list[Finding]:
    """What a file, an archive, a folder of files or a folder of such folders holds of the data sets.

    Raises ``InputError`` where nothing is there, or nothing in it has the name of a known file.
    """
    found = existing(path)
    findings = [
        _compare(data, owner, part)
        for data in _files(found)
        for owner, part in _known(data, alone=data.path == found and data.member is None)
    ]
    if not findings:
        known = ", ".join(part.name for each in DATA_SETS for part in each.parts)
        raise InputError(f"{path!r} holds no file of a known data set ({known}): check the path.")
    return findings


def doubts(path: str) -> list[str]:
    """A sentence for each file that simulating needs and that is not as published."""
    return [
        finding.sentence
        for finding in check(path)
        if finding.state != "as published"
        and any(part.needed and part.name == finding.part for part in data_set(finding.data_set).parts)
    ]


def _files(found: Path) -> Iterator[DataFile]:
    if found.is_dir():
        for item in sorted([*found.glob("*"), *found.glob("*/*")]):
            if item.is_file():
                yield from _files(item)
    elif zipfile.is_zipfile(found):
        try:
            with zipfile.ZipFile(found) as archive:
                members = [item.filename for item in archive.infolist() if not item.is_dir()]
        except (OSError, zipfile.BadZipFile) as error:
            raise InputError(f"The archive {str(found)!r} is damaged ({error}): get it anew.") from None
        yield from (DataFile(found, member) for member in members)
    else:
        yield DataFile(found)


def _known(data: DataFile, *, alone: bool) -> Iterator[tuple[DataSet, Part]]:
    """The file that this one should be.  A README is told from others by the folder that it lies in."""
    name = PurePosixPath(data.member or data.path.name).name
    for each in DATA_SETS:
        for part in each.parts:
            if part.name == name and (alone or part.needed or _lies_beside_needed(data, each)):
                yield each, part


def _lies_beside_needed(data: DataFile, owner: DataSet) -> bool:
    return any(data.beside(part.name) is not None for part in owner.parts if part.needed)


def _compare(data: DataFile, owner: DataSet, part: Part) -> Finding:
    digest, size = hashlib.sha256(), 0
    try:
        for piece in _pieces(data):
            digest.update(piece)
            size += len(piece)
    except (OSError, zipfile.BadZipFile, EOFError) as error:
        raise InputError(f"{data.label!r} cannot be read ({error}): get it anew.") from None
    if (size, digest.hexdigest()) == (part.size, part.sha256):
        return Finding(owner.name, part.name, data.label, "as published", f"{data.label} is as published.")
    told = (
        f"{data.label} is not {part.name} of {owner.name}: {size:,} bytes with sha256 {digest.hexdigest()} "
        f"instead of {part.size:,} with {part.sha256}; get it anew from {owner.address}."
    )
    return Finding(owner.name, part.name, data.label, "different", told)


def _pieces(data: DataFile) -> Iterator[bytes]:
    """The bytes as they are, a packed file's not unpacked."""
    if data.member is None:
        with data.path.open("rb") as stream:
            while piece := stream.read(_PIECE):
                yield piece
        return
    with zipfile.ZipFile(data.path) as archive, archive.open(data.member) as stream:
        while piece := stream.read(_PIECE):
            yield piece
