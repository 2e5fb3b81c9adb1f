"""What may a process of this sandbox do? Less than the kernel would let it: prctl, rlimits and a system-call filter.

The worker confines itself before it reads its first request, so every back end has these bounds whatever it adds
around them; each child that runs a candidate is bounded further by rlimits. Linux only.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import platform
import resource
import signal
import socket
import struct
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_SECCOMP_MODE_FILTER = 2

# BPF instructions: load a word of seccomp_data, mask it, jump if equal / greater or equal / any bit set, return.
_LOAD, _AND, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENT_0 = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_X32_BIT = 0x40000000
# CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
_NAMESPACE_FLAGS = 0x80 | 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000

# Refused altogether: reading other processes, memory that no limit counts (memfd, System V, queues, extended
# attributes), new namespaces and mounts, keyrings, the scheduling of others, and large kernel interfaces.
# For each the numbers on x86_64 and aarch64.
_REFUSED = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194),
    "shmat": (30, 196), "semget": (64, 190), "msgget": (68, 186), "mq_open": (240, 180), "setxattr": (188, 5),
    "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463), "unshare": (272, 97),
    "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "fsopen": (430, 430), "move_mount": (429, 429), "open_tree": (428, 428), "mount_setattr": (442, 442),
    "open_by_handle_at": (304, 265), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "bpf": (321, 280), "userfaultfd": (323, 282), "perf_event_open": (298, 241), "io_uring_setup": (425, 425),
    "personality": (135, 92), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "ioprio_set": (251, 30), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "process_madvise": (440, 440),
}  # fmt: skip
_CLONE, _CLONE3, _KILL = (56, 220), (435, 435), (62, 129)
_SOCKET, _SOCKETPAIR = (41, 198), (53, 199)
_MMAP, _PRLIMIT, _AFFINITY, _PRIORITY, _PRCTL = (9, 222), (302, 261), (203, 122), (141, 140), (157, 167)
_MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_SHARED_AND_ANONYMOUS = 0x21

_libc = ctypes.CDLL(None, use_errno=True)


def confine_worker(user: int | None, own_namespace: bool) -> None:
    """Give up what the worker does not need, for itself and all its children.

    user: the user and group id to become, where the worker starts as root. own_namespace: False on a back end
    whose processes share the host's process table, where a signal to everyone is refused too.
    Raises OSError where the kernel refuses.
    """
    become_user(user)
    # Python's own handler would let a child interrupt even process 1.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _filter_system_calls(refuse_signal_to_all=not own_namespace)


def become_user(user: int | None) -> None:
    """Become this user and group, where the process starts as root; gain no privileges later, and let nobody look in.

    Raises OSError where the kernel refuses.
    """
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    # Not dumpable: no child can read this process's memory or its descriptors through /proc.
    _prctl(_PR_SET_DUMPABLE, 0)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def bound_child(memory: int, processes: int, cpu_seconds: int, file_bytes: int, open_files: int) -> None:
    """Set the rlimits of the calling process, and let the worker read how much it holds of what.

    Memory (bytes) counts on top of what is mapped now, processes on top of those that the user has.
    """
    _prctl(_PR_SET_DUMPABLE, 1)
    with open("/proc/self/statm", encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    for kind, limit in (
        (resource.RLIMIT_AS, mapped + memory),
        (resource.RLIMIT_NPROC, _threads_of_user() + processes),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NOFILE, open_files),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        resource.setrlimit(kind, (limit, limit))


def _threads_of_user() -> int:
    """What the kernel holds against the limit on processes already, as far as it can be seen from here."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.stat().st_uid == os.getuid():
                # The name in the second field may hold spaces and brackets of its own.
                count += int((process / "stat").read_text().rpartition(")")[2].split()[17])
    return count


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}): {os.strerror(code)}")


def _filter_system_calls(refuse_signal_to_all: bool) -> None:
    if platform.machine() not in _MACHINES:
        raise OSError(errno.ENOSYS, f"no system-call filter is written for {platform.machine()}")
    machine, architecture = _MACHINES[platform.machine()]
    refused, unknown = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, refused),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, refused),
    ]
    for numbers in _REFUSED.values():
        program += [(_EQUAL, 0, 1, numbers[machine]), (_RETURN, 0, 0, refused)]
    # clone3 hides its flags behind a pointer; told that it is unknown, libc falls back to clone.
    program += [(_EQUAL, 0, 1, _CLONE3[machine]), (_RETURN, 0, 0, unknown)]
    by_argument: list[tuple[tuple[int, int], int, list[tuple[int, int, int, int]]]] = [
        (_CLONE, 0, [(_ANY_BIT, 0, 1, _NAMESPACE_FLAGS)]),
        (_SOCKET, 0, [(_EQUAL, 1, 0, socket.AF_UNIX)]),
        (_SOCKETPAIR, 0, [(_EQUAL, 1, 0, socket.AF_UNIX)]),
        # Limits and cores of this process are its own affair; those of the worker are not.
        (_PRLIMIT, 0, [(_EQUAL, 1, 0, 0)]),
        (_AFFINITY, 0, [(_EQUAL, 1, 0, 0)]),
        # A child may let itself be read, and not undo it: the watch has to see what it holds.
        (_PRCTL, 0, [(_EQUAL, 0, 3, _PR_SET_DUMPABLE), (_LOAD, 0, 0, _ARGUMENT_0 + 8), (_EQUAL, 1, 0, 1)]),
        (_PRIORITY, 0, [(_EQUAL, 0, 2, 0), (_LOAD, 0, 0, _ARGUMENT_0 + 8), (_EQUAL, 1, 0, 0)]),
        # Shared memory without a file stays taken when a process drops it from its own count.
        (_MMAP, 3, [(_AND, 0, 0, _SHARED_AND_ANONYMOUS), (_EQUAL, 0, 1, _SHARED_AND_ANONYMOUS)]),
    ]
    if refuse_signal_to_all:
        by_argument.append((_KILL, 0, [(_EQUAL, 0, 1, 0xFFFFFFFF)]))
    for numbers, argument, test in by_argument:
        # The test falls through to the refusal, or skips it.
        block = [(_LOAD, 0, 0, _ARGUMENT_0 + 8 * argument), *test, (_RETURN, 0, 0, refused), (_RETURN, 0, 0, _ALLOW)]
        program += [(_EQUAL, 0, len(block), numbers[machine]), *block]
    program.append((_RETURN, 0, 0, _ALLOW))
    code = b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))

    header = Program(len(program), ctypes.addressof(buffer))
    if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(header), 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"the system-call filter was refused: {os.strerror(number)}")
