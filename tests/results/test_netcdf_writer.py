"""Datasets as NetCDF-4 files: what xarray reads from them, and which bytes they have."""

import io

import h5py  # type: ignore[import-untyped]
import numpy as np
import xarray as xr

from tutelage.results.netcdf_writer import encode_netcdf


def _make_dataset():
    """One variable of each kind, of dimensions with and without a variable, and of one of length 0."""
    return xr.Dataset(
        {
            "packed": (("arm", "run", "event"), np.arange(24.0).reshape(2, 3, 4), {"long_name": "é"}),
            "flag": ("run", np.array([True, False, True])),
            "text": ("arm", np.array(["", "thé"])),
            "nothing": ("none", np.zeros(0)),
            "number": ((), np.int32(-1)),
        },
        coords={"run": np.arange(3), "name": ("arm", np.array(["a", "b"]))},
        attrs={"seed": np.uint64(2**64 - 1), "command": "", "long": "x" * 100_000},
    )


def test_xarray_reads_the_same():
    """Values, types, the order of variables and dimensions, and attributes longer than HDF5 keeps in place."""
    dataset = _make_dataset()
    read = xr.load_dataset(io.BytesIO(encode_netcdf(dataset)), engine="h5netcdf")
    xr.testing.assert_identical(read, dataset)
    assert list(read.variables) == list(dataset.variables)
    assert dict(read.sizes) == dict(dataset.sizes)
    assert {name: read[name].dtype for name in ("packed", "flag", "run", "number")} == {
        name: dataset[name].dtype for name in ("packed", "flag", "run", "number")
    }


def test_same_as_the_file_of_xarray():
    """Arrays, their types and the dimensions to which they belong are those that xarray's own writer stores."""
    dataset, theirs = _make_dataset(), io.BytesIO()
    encoding = {name: {"_FillValue": None} for name in dataset.variables}
    dataset.to_netcdf(theirs, engine="h5netcdf", encoding=encoding)

    def describe(file):
        return {
            name: (
                array.shape,
                array.maxshape,
                array.dtype,
                [[scale.name for scale in axis.values()] for axis in array.dims],
            )
            for name, array in file.items()
        }

    with h5py.File(io.BytesIO(encode_netcdf(dataset))) as own, h5py.File(theirs) as other:
        assert describe(own) == describe(other)


def test_same_bytes_each_time():
    """The bytes follow from the dataset alone, whether it was read from a file or not."""
    dataset = _make_dataset()
    content = bytes(encode_netcdf(dataset))
    assert bytes(encode_netcdf(_make_dataset())) == content
    assert bytes(encode_netcdf(xr.load_dataset(io.BytesIO(content), engine="h5netcdf"))) == content


def test_only_large_arrays_are_packed():
    """From three dimensions on."""
    with h5py.File(io.BytesIO(encode_netcdf(_make_dataset()))) as file:
        assert {name for name, array in file.items() if array.compression} == {"packed"}
