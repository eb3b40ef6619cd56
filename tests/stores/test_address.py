"""How addresses are shown."""

import pytest

from tutelage import stores
from tutelage.errors import InputError
from tutelage.stores import without_password


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("sqlite:///tutelage.db", "sqlite:///tutelage.db"),
        ("sqlite:////var/lib/tutelage.db", "sqlite:////var/lib/tutelage.db"),
        ("https://teach.example.org/tutelage", "https://teach.example.org/tutelage"),
        ("postgresql://u@h:5432/d?application_name=a@b", "postgresql://u@h:5432/d?application_name=a@b"),
        ("postgresql://h:5432/d?user=a@b", "postgresql://h:5432/d?user=a@b"),
        ("postgresql://[::1]:5432/d?user=a@b", "postgresql://[::1]:5432/d?user=a@b"),
        ("postgresql://u:secret@h1:1,h2:2/d", "postgresql://u:***@h1:1,h2:2/d"),
        ("postgresql://u:se@cret@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:se/cret@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:se?cret@h/d", "postgresql://u:***@h/d"),
        (
            "postgresql://h/d?password=secret&sslpassword=secret",
            "postgresql://h/d?password=***&sslpassword=***",
        ),
        ("host=h password=secret dbname=d", "host=h password=*** dbname=d"),
        ("host=h password = secret", "host=h password = ***"),
        (r"host=h password='se\' cret' dbname=d", "host=h password=*** dbname=d"),
        (r"password=se\ cret host=h", "password=*** host=h"),
        ("host=h password='secret", "host=h password=***"),
    ],
)
def test_no_password_is_shown(address, shown):
    """In either of PostgreSQL's forms, escaped or not; all else stays, slashes too."""
    assert without_password(address) == shown


def test_the_other_form_is_refused_without_its_password():
    """A sentence that says what an address is does not say a password."""
    with pytest.raises(InputError, match="is no store's address") as caught:
        stores.open_store("host=h user=u password=secret")
    assert "secret" not in str(caught.value)
