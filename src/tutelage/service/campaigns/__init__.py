"""Campaigns as they are led: what a pull does, what is kept of it, and the one thread that changes them."""
