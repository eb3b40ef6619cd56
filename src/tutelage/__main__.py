"""Run the command line: ``python -m tutelage`` is ``tutelage``."""

from tutelage.cli import main

if __name__ == "__main__":
    main()
