"""Campaigns that this server leads: what a pull does, what is stored, and the only thread that changes them."""
