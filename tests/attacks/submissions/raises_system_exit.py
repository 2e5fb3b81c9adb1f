"""Raises SystemExit, KeyboardInterrupt and exceptions that can't be printed."""

import sys

EVIDENCE = r"(?s)SystemExit: 0.*KeyboardInterrupt.*GeneratorExit"


class UnprintableError(BaseException):
    def __str__(self):
        raise SystemExit(0)

    __repr__ = __str__


def score(logits, lengths):
    if len(lengths) == 2:
        sys.exit(0)
    raise {5: KeyboardInterrupt, 8: GeneratorExit, 3: UnprintableError, 12: BaseExceptionGroup("", [SystemExit(0)])}[
        len(lengths)
    ]
