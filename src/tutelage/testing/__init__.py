"""Conformance suites for policies, teachers and stores, to run with pytest in a package of one's own.

Subclass a suite in a test module, name it ``Test...``, and give the one fixture that it asks for::

    import pytest
    from tutelage.testing import PolicyContract

    class TestGreedy(PolicyContract):
        @pytest.fixture(params=["mypackage.policies:Greedy", "mypackage.policies:Greedy(start=1)"])
        def spec(self, request):
            return request.param

``PolicyContract`` and ``TeacherContract`` ask for ``spec``, ``StoreContract`` for ``address``, the URL of an
empty store.  Install what the suites need with ``pip install 'tutelage[testing]'``.
"""

try:
    import pytest
    import scipy  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"tutelage.testing needs {error.name}, which is not installed: pip install 'tutelage[testing]'."
    ) from error

pytest.register_assert_rewrite(  # failures then show the values that were compared
    *(f"tutelage.testing.{name}" for name in ("checked_teacher", "policies", "single_client", "teachers"))
)

from tutelage.testing.policies import PolicyContract  # noqa: E402
from tutelage.testing.single_client import SingleClient, count_choices, generator_words  # noqa: E402
from tutelage.testing.teachers import TeacherContract  # noqa: E402

__all__ = ["PolicyContract", "SingleClient", "TeacherContract", "count_choices", "generator_words"]
