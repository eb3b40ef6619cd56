"""What the teachers of one family have in common: a directive that never changes, or confidence intervals."""
