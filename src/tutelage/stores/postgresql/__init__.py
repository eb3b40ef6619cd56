"""A store in a PostgreSQL database, which several server processes may share."""
