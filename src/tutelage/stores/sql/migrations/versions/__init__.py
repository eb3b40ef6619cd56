"""One module per schema, in order: each is applied to a database once, and never changed after a release."""
