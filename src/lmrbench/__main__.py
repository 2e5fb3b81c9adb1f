"""Run the command line as `python -m lmrbench`."""

from lmrbench.cli import main

main()
