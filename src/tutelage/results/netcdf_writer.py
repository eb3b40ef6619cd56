"""Datasets as NetCDF-4 files, written by h5py.

xarray's writer looks every dimension up again for each variable, and takes several times as long for files as small
as those of an experiment.  A NetCDF-4 file is an HDF5 file whose dimensions are *dimension scales*, numbered by
``_Netcdf4Dimid``.
"""

import io
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray as xr

_PACKED = {"compression": "gzip", "compression_opts": 1, "shuffle": True}  # a seventh of the size for twice the time
_PACKED_FROM = 3  # dimensions
_NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable.{:10}"  # as the name of a scale, by its size


def encode_netcdf(dataset: "xr.Dataset") -> memoryview:
    """Return the content of the file of a dataset, the same bytes each time.

    Values are encoded as xarray does it, without fill values.  Raises ``TypeError`` or ``ValueError`` for values that
    NetCDF does not have.
    """
    import h5py  # type: ignore[import-untyped]
    import xarray as xr

    variables, attributes = xr.conventions.encode_dataset_coordinates(dataset)
    content = io.BytesIO()  # on a full disk HDF5 cannot close a file of its own, and crashes in the end
    with h5py.File(content, "w", track_order=True) as file:
        _write_attributes(file, attributes)
        written: dict[Any, Any] = {}
        for name, plain in variables.items():
            variable = plain.copy(deep=False)
            variable.encoding = {"_FillValue": None}
            encoded = xr.conventions.encode_cf_variable(variable, name=name)
            written[name] = _write_array(file, str(name), encoded.values)
            _write_attributes(written[name], encoded.attrs)
        scales = _make_scales(file, dataset.sizes)
        for name, array in written.items():
            for axis, dimension in enumerate(variables[name].dims):
                if name != dimension:
                    array.dims[axis].attach_scale(scales[dimension])
    return content.getbuffer()


def _write_array(file: Any, name: str, values: Any) -> Any:
    import h5py

    texts = values.dtype.kind in "OU"
    return file.create_dataset(
        name,
        data=values.astype(object) if texts else values,
        dtype=h5py.string_dtype() if texts else None,
        maxshape=_most(values.shape),
        track_order=True,
        **(_PACKED if values.ndim >= _PACKED_FROM else {}),
    )


def _make_scales(file: Any, sizes: Mapping[Any, int]) -> dict[Any, Any]:
    """Make every dimension a scale: its variable or, where there is none, an empty array."""
    scales: dict[Any, Any] = {}
    for number, (dimension, size) in enumerate(sizes.items()):
        name = str(dimension)
        is_variable = name in file
        if not is_variable:
            file.create_dataset(name, (size,), ">f4", maxshape=_most((size,)), track_order=True)
        scale = scales[dimension] = file[name]
        scale.make_scale(name if is_variable else _NO_VARIABLE.format(size))
        scale.attrs["_Netcdf4Dimid"] = np.int32(number)
    return scales


def _most(shape: tuple[int, ...]) -> tuple[int | None, ...] | None:
    """Return the largest shape that an array may have: in NetCDF a dimension of size 0 is one without a limit."""
    return tuple(size or None for size in shape) if 0 in shape else None


def _write_attributes(place: Any, attributes: Mapping[Any, Any]) -> None:
    for name, value in attributes.items():
        place.attrs[str(name)] = value if isinstance(value, str) else np.atleast_1d(value)
