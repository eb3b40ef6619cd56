"""The teacher BLT, bet, level, lift, with its bets, running totals and thresholds (docs/blt.md)."""
