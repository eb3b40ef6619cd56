"""Groups of clients, from the names that a parameter lists."""

import pytest

from tutelage.client_groups import number_groups
from tutelage.errors import InputError


def test_groups_are_numbered_in_order():
    """Clients with the same name are a group; any is one group of all."""
    assert number_groups("any", 3) == (0, 0, 0)
    assert number_groups("any", 0) == ()
    assert number_groups("south; north;south", 3) == (0, 1, 0)


@pytest.mark.parametrize("dependence", ["a", "a;b", "a;b;c;d", "a;;b", ""])
def test_each_client_needs_a_name(dependence):
    """Too few names, too many and empty ones are refused, with what was given."""
    with pytest.raises(InputError, match="for 3 clients: use any, or the name"):
        number_groups(dependence, 3)
