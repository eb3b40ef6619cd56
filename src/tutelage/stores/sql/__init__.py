"""SQL that SQLite and PostgreSQL share: the schema, the statements, and the methods that run them."""
