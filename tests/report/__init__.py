"""Tests of the reports of experiments."""
