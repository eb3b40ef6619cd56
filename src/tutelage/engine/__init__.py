"""The compiled engine: one run, client after client, and how runs are spread over cores."""
