"""Addresses as they are shown: logs and terminals contain no password."""

from urllib.parse import quote

import pytest

from tutelage import stores
from tutelage.errors import InputError
from tutelage.service.configuration import load_configuration
from tutelage.stores.address import without_password
from tutelage.stores.base import StoreError
from tutelage.stores.postgresql.connection import hide_password


@pytest.mark.parametrize(
    ("address", "printed"),
    [
        ("postgresql://me@h:5/d?sslmode=require", "postgresql://me@h:5/d?sslmode=require"),
        ("postgresql://[::1]:5/d?application_name=a@b", "postgresql://[::1]:5/d?application_name=a@b"),
        ("sqlite:////var/lib/t.db", "sqlite:////var/lib/t.db"),
        ("http://h:8321", "http://h:8321"),
        ("postgresql://me:sesame@h/d", "postgresql://me:***@h/d"),
        ("postgresql://me:ses@ame@h/d", "postgresql://me:***@h/d"),
        ("postgresql://me:ses/ame@h/d", "postgresql://me:***@h/d"),
        ("postgresql://me:ses%40ame@h/d", "postgresql://me:***@h/d"),
        ("postgresql://me:p@ses/ame@h/d", "postgresql://me:***@h/d"),
        ("postgresql://me:p@ses?ame@h/d", "postgresql://me:***@h/d"),
        ("postgresql://me:p@ses#ame@h/d?a=b&pwd=x", "postgresql://me:***@h/d?a=b&pwd=***"),
        ("postgresql://me:p@ses/ame@sesame@[::1]:5/d", "postgresql://me:***@[::1]:5/d"),
        ("postgresql://me:123/sesame@h/d", "postgresql://me:***@h/d"),
        ("postgresql://me:p@ses?a=b&c=ame@h/d", "postgresql://me:***@h/d"),
        ("postgresql://me@corp:p@sesame/ame@h/d", "postgresql://me@corp:***@h/d"),
        ("postgresql://m/e:sesame@h/d", "postgresql://m/e:***@h/d"),
        ("package.module:Store://me:p@ses/ame@h", "package.module:Store://me:***@h"),
        ("redis://:p@ses/ame@h", "redis://:***@h"),
        ("postgresql://me@h:5/d?application_name=a@b", "postgresql://me@h:5/d?application_name=a@b"),
        ("postgresql://h/d?password=ses&ame", "postgresql://h/d?password=***"),
        ("postgresql://h/d?password=s@ses/ame#x", "postgresql://h/d?password=***"),
        ("postgresql://h/d?oauth_client_secret=sesame", "postgresql://h/d?oauth_client_secret=***"),
        ("host=h password=a://sesame pwd=sesame", "host=h password=*** pwd=***"),
        ("postgresql://me:ses#ame@h/d", "postgresql://me:***@h/d"),
        ("postgresql://me:sesame@[h/d", "postgresql://me:***@[h/d"),
        ("postgresql://me:sesame", "postgresql://me:***"),
        ("postgresql://h:5,i:6/d", "postgresql://h:5,i:6/d"),
        ("mysql://me:sesame@h/d", "mysql://me:***@h/d"),
        ("ftp://me:sesame@h", "ftp://me:***@h"),
        ("http://me:sesame@h:8321", "http://me:***@h:8321"),
        ("http://me:sesame@[", "http://me:***@["),
        ("mysql:me:sesame@h/d", "mysql:***@h/d"),
        ("me:sesame@h/d", "me:***@h/d"),
        ("postgresql://h/d?a=b&password=sesame&c=d", "postgresql://h/d?a=b&password=***&c=d"),
        ("postgresql://h/d?passw%6frd=sesame", "postgresql://h/d?passw%6frd=***"),
        ("postgresql://h/d?%70assword=ses#ame", "postgresql://h/d?%70assword=***"),
        ("postgresql://h/d?PASSWORD=sesame", "postgresql://h/d?PASSWORD=***"),
        ("postgresql://h/d?sslpassword=sesame", "postgresql://h/d?sslpassword=***"),
        ("postgresql://h/d?a?password=sesame", "postgresql://h/d?a?password=***"),
        ("host=h password='ses ame' user=me", "host=h password=*** user=me"),
    ],
)
def test_passwords_are_hidden_wherever_they_stand(address, printed):
    """Also where they are written wrongly; all else is as it was."""
    assert without_password(address) == printed


@pytest.mark.parametrize("password", ["p@sesame", "p@sesame/x", "p@sesame?x", "p@sesame#x", "p@x?sesame=1", "9/sesame"])
@pytest.mark.parametrize("quoted", [False, True])
def test_no_command_shows_a_password(password, quoted, capsys, monkeypatch, tmp_path):
    """None that reads the store's URL, from whatever place; an unescaped password is refused before it is used."""
    from tutelage.cli.app import execute

    monkeypatch.chdir(tmp_path)
    url = f"postgresql://me:{quote(password, safe='') if quoted else password}@127.0.0.1:1/d"
    monkeypatch.setenv("TUTELAGE_STORE", url)
    commands = ["config", "config --json", "key list", "key create n --role admin", "db check", "db upgrade", "serve"]
    commands += ["db backup x.db", "ledger verify", f"serve {url}", f"key list --store {url}", f"demo {url}"]
    for command in commands:
        execute([*command.split(), *(["--port", "0"] if command == "serve" else [])])
        out, err = capsys.readouterr()
        assert "sesame" not in out + err, command
        assert "me:***@" in out or "me@" in err or "me:***@" in err, command
        assert command.startswith("config") or quoted or "%40" in err or "argument" in err or "pg_dump" in err, command


def test_the_reason_of_an_error_is_not_kept():
    """psycopg's own exception would show what it took for the host in a traceback."""
    with pytest.raises(StoreError) as caught:
        stores.open_reader("postgresql://me:sesame@127.0.0.1:1/d")
    assert caught.value.__suppress_context__
    assert caught.value.__cause__ is None


def test_an_unreadable_address_is_hide_password():
    """An unclosed bracket does not prevent the message about another failure."""
    assert hide_password("postgresql://u:sesame@[x") == "postgresql://u:***@[x"
    assert hide_password("postgresql://u@h/d?passw%6frd=sesame&a=b") == "postgresql://u@h/d?a=b"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:sesame@[x",
        "postgresql://u:sesame@[::1",
        "postgresql://u:sesame%6@127.0.0.1:1/d",
        'postgresql://u:a"sesame%6@127.0.0.1:1/d',
        "postgresql://u:sesame%00@127.0.0.1:1/d",
        "postgresql://u:a sesame@127.0.0.1:1/d",
        "postgresql://127.0.0.1:1/d?password=a=sesame",
        "postgresql://127.0.0.1:1/d?password=a&sesame",
        "postgresql://127.0.0.1:1/d?another=sesame",
        "postgresql://me:pw@sesame@127.0.0.1:1/d",
        "postgresql://me:pw@sesame/d@127.0.0.1:1/d",
        "postgresql://me:pw@sesame?d=sesame@127.0.0.1:1/d",
        "postgresql://me:pw@h#sesame@127.0.0.1:1/d",
        "mysql://me:sesame@h/d",
        "postgresql:/me:sesame@h/d",
        "sqlite://me:sesame@h",
        "sqlite:///a%00b",
    ],
)
def test_an_address_that_cannot_be_read_is_one_sentence(url):
    """Every way in says so; nothing of libpq's reason that may be a password is shown."""
    for ask in (stores.open_store, stores.open_reader, stores.open_keys, stores.upgrade, stores.check):
        with pytest.raises(InputError, match=r"^Invalid (store|database) URL '.*'") as caught:
            ask(url)
        message = str(caught.value).replace("another=sesame", "")  # the value of another option is shown
        assert "sesame" not in message
        assert "\n" not in message


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:127.0.0.1:sesame@127.0.0.1:1/d",
        "postgresql://u@127.0.0.1:1/d?passw%6frd=sesame",
        "postgresql://127.0.0.1:sesame/d",
    ],
)
def test_what_libpq_says_of_a_server_holds_no_password(url):
    """A part of it may have been mistaken for the host or the port."""
    with pytest.raises(StoreError, match="cannot be reached") as caught:
        stores.open_reader(url)
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    [
        "http://[",
        "http://me:sesame@[",
        "http://me:sesame@h:99999",
        "http://me:sesame@h:x",
        "http://me:ses/ame@h",
        "http://",
        "https://a b",
        "ftp://me:sesame@h",
        "ftp:me:sesame@h",
        ["http://me:sesame@h"],
    ],
)
def test_a_servers_address_that_cannot_be_used_is_one_sentence(address):
    """For both settings that are one, whichever way they are given; without the password."""
    for name in ("server", "advertise"):
        with pytest.raises(InputError, match=f"^Invalid --{name} .*: use ") as caught:
            load_configuration({name: address}, environment={})
        assert "sesame" not in str(caught.value)
        assert "ses/ame" not in str(caught.value)
