"""Small files of data in every layout, and the folder of real ones."""

import pytest

from tutelage.errors import InputError
from tutelage.instances import load


@pytest.fixture
def write(tmp_path):
    """Writes a file under tmp_path and gives its path as text."""

    def writer(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return writer


@pytest.fixture
def refuses():
    """Checks that an INSTANCE is refused in one sentence that holds the given words."""

    def check(spec, *words):
        with pytest.raises(InputError) as caught:
            load(spec)
        message = str(caught.value)
        assert message.endswith(".")
        assert "\n" not in message
        for word in words:
            assert word in message

    return check
