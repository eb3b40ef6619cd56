"""Suites that every member of an open set passes."""
