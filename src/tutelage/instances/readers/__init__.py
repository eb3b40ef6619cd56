"""Readers of files: ratings, radio traces, tables of means and of weights."""
