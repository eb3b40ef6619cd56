"""The names of the package, loaded when they are first used."""

import pytest

import tutelage


def test_names_of_the_package():
    """Every public name loads, and an unknown one is an AttributeError."""
    for name in tutelage.__all__:
        assert getattr(tutelage, name) is not None
    assert set(tutelage.__all__) <= set(dir(tutelage))
    with pytest.raises(AttributeError, match="simulat"):
        tutelage.simulat  # noqa: B018


def test_import_compiles_nothing(python):
    """``import tutelage`` brings neither numba, xarray nor numpy in; a request brings no xarray."""
    code = """if True:
        import sys, tutelage
        assert not {"numba", "xarray", "numpy"} & set(sys.modules)
        tutelage.make_request("paper")
        assert "xarray" not in sys.modules
    """
    python("-c", code)
