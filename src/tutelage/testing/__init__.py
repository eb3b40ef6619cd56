"""Conformance suites for policies, teachers and stores, to run with pytest in a package of one's own.

Subclass a suite in a test module, name it ``Test...``, and give the one fixture that it asks for::

    import pytest
    from tutelage.testing import PolicyContract

    class TestGreedy(PolicyContract):
        @pytest.fixture(params=["mypackage.policies:Greedy", "mypackage.policies:Greedy(start=1)"])
        def spec(self, request):
            return request.param

``PolicyContract`` and ``TeacherContract`` ask for ``spec``, ``StoreContract`` for ``address``, the URL of an
empty store.  Install what the suites need with ``pip install 'tutelage[testing]'``.  ``tutelage check SPEC``
checks the same rules of a policy or teacher without pytest.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tutelage.testing.pytest_suites import PolicyContract, TeacherContract
    from tutelage.testing.single_client import SingleClient, count_choices, generator_words
    from tutelage.testing.stores import StoreContract

_HOMES = {
    "PolicyContract": "pytest_suites",
    "SingleClient": "single_client",
    "StoreContract": "stores",
    "TeacherContract": "pytest_suites",
    "count_choices": "single_client",
    "generator_words": "single_client",
}

__all__ = ["PolicyContract", "SingleClient", "StoreContract", "TeacherContract", "count_choices", "generator_words"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tutelage.testing' has no attribute {name!r}")
    try:
        if name == "StoreContract":
            import pytest

            for module in ("stores", "access_contract"):  # failures show the values that were compared
                pytest.register_assert_rewrite(f"tutelage.testing.{module}")
        return getattr(import_module(f"tutelage.testing.{_HOMES[name]}"), name)
    except ImportError as error:
        raise ImportError(
            f"tutelage.testing needs {error.name}, which is not installed: pip install 'tutelage[testing]'."
        ) from error
