"""Groups of clients whose rewards may depend on each other within a round."""

from tutelage.errors import InputError

ANY = "any"


def number_groups(dependence: str, num_clients: int, choices: str = ANY) -> tuple[int, ...]:
    """Return the group of each of M clients, numbered from 0 in the order in which they first appear.

    ``dependence`` is ``any``, one group of all clients, or the name of each client's group, separated by
    semicolons, as in ``north;north;south``.  Raises ``InputError`` unless there is a name, not empty, for each
    client; its message says that ``choices`` may be used as well.
    """
    names = [ANY] * num_clients if dependence == ANY else [name.strip() for name in dependence.split(";")]
    if len(names) != num_clients or not all(names):
        raise InputError(
            f"Invalid dependence={dependence} for {num_clients} clients: use {choices}, or the name of each client's "
            "group, as in a;a;b."
        )
    numbers: dict[str, int] = {}
    return tuple(numbers.setdefault(name, len(numbers)) for name in names)
