"""The compiled engine: one run, client after client, and runs spread over the workers of an executor."""
