"""The tests mirror src/."""
