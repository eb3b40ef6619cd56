"""Results as NetCDF files."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from tutelage.atomic_files import write_atomically
from tutelage.errors import InputError
from tutelage.paths import expand_path, is_file, is_folder
from tutelage.results.netcdf_writer import encode_netcdf
from tutelage.text import format_value

if TYPE_CHECKING:
    import xarray as xr

_SUFFIXES = (".nc", ".nc4")


def check_writable(path: str | Path) -> Path:
    """Return the resolved path of a file that can be written; else raise ``InputError``."""
    path = expand_path(path)
    try:
        path = path.resolve()
        path.stat()
    except FileNotFoundError:
        pass
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{str(path)!r} cannot be written ({reason}): name another file.") from None
    folder = path.parent
    if path.exists() and not path.is_dir() and not path.is_file():
        raise InputError(f"{str(path)!r} is not a regular file and would be replaced: name another file.")
    if path.is_dir():
        raise InputError(f"{str(path)!r} is a folder: name a file in it, as in {str(path / 'result.nc')!r}.")
    if not folder.is_dir():
        raise InputError(f"The folder {str(folder)!r} for {path.name!r} does not exist: create it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"The folder {str(folder)!r} cannot be written: name a file elsewhere.")
    return path


def check_result_path(path: str | Path) -> Path:
    """Return the resolved path of a result that can be saved there; else raise ``InputError``."""
    resolved = check_writable(path)
    name = expand_path(path).name
    if Path(name).suffix.lower() not in _SUFFIXES:
        raise InputError(
            f"Invalid file name {name!r} for a result, which is a NetCDF file: end it in {' or '.join(_SUFFIXES)}."
        )
    return resolved


def save(dataset: "xr.Dataset", path: str | Path) -> None:
    """Save a result as one NetCDF file, whose name ends in ``.nc``.

    The file is written next to its place and moved there when it is complete, so a reader never sees half of
    it and an earlier file survives a failure.  Raises ``InputError`` if the place cannot be written, and
    ``OSError`` if writing fails on the way (a full disk).
    """
    import xarray as xr

    if not isinstance(dataset, xr.Dataset):
        raise InputError(
            f"Invalid result {format_value(dataset)}: save an xarray.Dataset, as simulate() or to_dataset() returns it."
        )
    path = check_result_path(path)
    write_atomically(path, encode_netcdf(dataset))


def load(path: str | Path) -> "xr.Dataset":
    """Load a result that :func:`save` wrote; it equals what was saved.

    Raises ``InputError`` if the file cannot be read or is not a result of this version's layout.
    """
    import h5py  # type: ignore[import-untyped]
    import xarray as xr

    path = expand_path(path)
    if is_folder(path):
        raise InputError(f"{str(path)!r} is a folder: name the file in it that tutelage simulate --out wrote.")
    if not is_file(path):
        raise InputError(f"The file {str(path)!r} does not exist: name one that tutelage simulate --out wrote.")
    try:
        with h5py.File(path, "r") as file:
            list(file.attrs)  # where these cannot be read h5netcdf leaves the file open and complains later
        dataset = xr.load_dataset(path, engine="h5netcdf")
    except Exception as error:  # on a damaged file the readers raise anything
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(
            f"{str(path)!r} cannot be read as a NetCDF file ({reason}): restore it, or simulate again."
        ) from error
    if "request" not in dataset.attrs or "tutelage" not in dataset.attrs:
        raise InputError(f"{str(path)!r} is not a result of tutelage simulate: name one that is.")
    if "noticed_in" not in dataset or "spec" not in dataset.coords:
        raise InputError(f"{str(path)!r} is a result of an older layout: simulate again.")
    return dataset
