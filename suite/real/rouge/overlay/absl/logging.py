"""A stand-in for absl's log."""

import logging as _logging


def info(message, *args):
    _logging.getLogger("absl").info(message, *args)
