"""The live server: reward teaching in front of real clients."""
