"""A store that keeps its campaigns in a folder: ``tutelage_example.stores:FolderDatabase:///PATH``."""

from pathlib import Path

from tutelage.errors import InputError
from tutelage.stores.sqlite.database import SqliteDatabase


class FolderDatabase(SqliteDatabase):
    """The folder of a URL; the campaigns are in the SQLite file ``campaigns.db`` in it."""

    def __init__(self, url: str) -> None:
        folder = Path(url.rpartition("://")[2])
        if not folder.is_absolute():
            raise InputError(
                f"{url!r} is not a folder: write an absolute path, as in {url.partition('://')[0]}:///PATH."
            )
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(f"sqlite:///{folder}/campaigns.db")
