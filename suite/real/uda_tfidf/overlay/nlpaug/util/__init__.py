"""Here without what reads audio, finds files and fetches models."""

from nlpaug.util.action import Action
from nlpaug.util.doc import ChangeLog, Doc, Token
from nlpaug.util.exception import (
    ExceptionInfo,
    ExceptionType,
    WarningCode,
    WarningException,
    WarningMessage,
    WarningName,
)
from nlpaug.util.method import Method

__all__ = [
    "Action",
    "ChangeLog",
    "Doc",
    "ExceptionInfo",
    "ExceptionType",
    "Method",
    "Token",
    "WarningCode",
    "WarningException",
    "WarningMessage",
    "WarningName",
]
