"""System-call filters, by which the kernel refuses certain calls to a process and to everything that it starts.

A filter consists of a table of refused calls, and of rules on the arguments of other calls. Several filters can be in
force at once; a call is refused if any of them refuses it. In this module, a call is identified by the pair of its
numbers on x86_64 and aarch64. A number is None if the call does not exist on that machine.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
# BPF instructions: load a word of seccomp_data, mask it, jump if equal / greater or equal, return.
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENT_0 = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_X32_BIT = 0x40000000
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_libc = ctypes.CDLL(None, use_errno=True)

Numbers = tuple[int | None, int | None]
_Instruction = tuple[int, int, int, int]

# From this number on, a call has the same number on all machines.
FIRST_SHARED_NUMBER = 424


class Rule(NamedTuple):
    """A rule that refuses a call if one of its arguments has certain values.

    Attributes:
        argument: The position of the argument, counted from 0.
        values: The values that the argument is compared with.
        only: True to refuse all values except these, False to refuse these values.
        mask: The bits of the argument that are compared.
        answer: The error that a refused call returns. If it is 0, the call does nothing and seems to succeed.
        when: The position and the value of another argument. The rule applies only if that argument has this value;
            None to apply it to all calls.
    """

    argument: int
    values: tuple[int, ...]
    only: bool
    mask: int = 0xFFFFFFFF
    answer: int = errno.EPERM
    when: tuple[int, int] | None = None


def only(argument: int, *values: int, mask: int = 0xFFFFFFFF, answer: int = errno.EPERM) -> Rule:
    """Refuse the call unless this argument is one of these values; see `Rule`."""
    return Rule(argument, values, True, mask, answer)


def never(
    argument: int,
    *values: int,
    mask: int = 0xFFFFFFFF,
    answer: int = errno.EPERM,
    when: tuple[int, int] | None = None,
) -> Rule:
    """Refuse the call if this argument is one of these values; see `Rule`."""
    return Rule(argument, values, False, mask, answer, when)


def compiled(
    refused: Collection[Numbers],
    rules: Mapping[Numbers, Sequence[Rule]],
    unknown: Collection[Numbers] = (),
    newest: Collection[int] | None = None,
    ignored: Collection[Numbers] = (),
) -> bytes:
    """Compile a filter to a program for this machine.

    Args:
        refused: The calls that return EPERM.
        rules: Conditions on the arguments of further calls.
        unknown: The calls that return ENOSYS, so that libraries fall back to older calls.
        newest: The numbers of the allowed calls from FIRST_SHARED_NUMBER on. All other calls with such high numbers,
            including those of future kernels, return ENOSYS. None allows all of them.
        ignored: The calls that do nothing and seem to succeed.

    Returns:
        The BPF program, for `install`.

    Raises:
        OSError: The machine is neither x86_64 nor aarch64.
    """
    if platform.machine() not in _MACHINES:
        raise OSError(errno.ENOSYS, f"system-call filters support x86_64 and aarch64, not {platform.machine()}")
    machine, architecture = _MACHINES[platform.machine()]
    program: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, _ERRNO | errno.EPERM),
    ]
    # The kernel does not run the program for calls that are always allowed. Of the other calls, those with rules are
    # the most frequent, so they are tested first.
    for numbers, its_rules in rules.items():
        block = [instruction for rule in its_rules for instruction in _block(rule)]
        program += _if_equal(numbers[machine], [*block, (_RETURN, 0, 0, _ALLOW)])
    for calls, answer in ((unknown, errno.ENOSYS), (refused, errno.EPERM), (ignored, 0)):
        for numbers in calls:
            program += _if_equal(numbers[machine], [(_RETURN, 0, 0, _ERRNO | answer)])
    if newest is not None:
        program += [(_AT_LEAST, 1, 0, FIRST_SHARED_NUMBER), (_RETURN, 0, 0, _ALLOW)]
        for number in newest:
            program += _if_equal(number, [(_RETURN, 0, 0, _ALLOW)])
        program.append((_RETURN, 0, 0, _ERRNO | errno.ENOSYS))
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("<HBBI", *instruction) for instruction in program)


def install(program: bytes) -> None:
    """Put a compiled filter in force for this process and its children.

    Raises:
        OSError: The kernel refuses the change.
    """
    buffer = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))

    header = Program(len(program) // 8, ctypes.addressof(buffer))
    if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(header), 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"the system-call filter was refused: {os.strerror(number)}")


def _if_equal(number: int | None, block: Sequence[_Instruction]) -> list[_Instruction]:
    return [] if number is None else [(_EQUAL, 0, len(block), number), *block]


def _block(rule: Rule) -> list[_Instruction]:
    """Return instructions that return the rule's error if it refuses the call, and fall through otherwise."""
    count = len(rule.values)
    tests: list[_Instruction] = []
    for number, value in enumerate(rule.values, start=1):
        left = count - number
        if rule.only:
            tests.append((_EQUAL, left + 1, 0, value))
        else:
            tests.append((_EQUAL, left, 0 if left else 1, value))
    load = (_LOAD, 0, 0, _ARGUMENT_0 + 8 * rule.argument)
    block = [load, (_AND, 0, 0, rule.mask), *tests, (_RETURN, 0, 0, _ERRNO | rule.answer)]
    if rule.when is None:
        return block
    argument, value = rule.when
    return [(_LOAD, 0, 0, _ARGUMENT_0 + 8 * argument), (_EQUAL, 0, len(block), value), *block]
