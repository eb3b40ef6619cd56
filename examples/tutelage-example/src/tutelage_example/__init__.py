"""Entries for Tutelage from a package of its own."""
