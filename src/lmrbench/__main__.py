"""`python -m lmrbench` is the command line."""

from lmrbench.cli import main

main()
