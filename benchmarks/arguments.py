"""Command-line arguments that several benchmarks share."""

import argparse
import os


def make_parser(description: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help shows a module's docstring as it is written."""
    return argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add ``--workers``."""
    parser.add_argument(
        "--workers",
        type=int,
        default=os.cpu_count(),
        metavar="N",
        help="runs simulated at a time (default: one per core)",
    )


def add_seed(parser: argparse.ArgumentParser, default: int) -> None:
    """Add ``--seed``."""
    parser.add_argument(
        "--seed", type=int, default=default, metavar="S", help="seed of all random numbers (%(default)s)"
    )
