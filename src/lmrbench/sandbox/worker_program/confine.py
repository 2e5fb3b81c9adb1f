"""What may a process of this sandbox do? Less than the kernel would let it: prctl, rlimits and a system-call filter.

The worker confines itself before it reads its first request, so every back end has these bounds whatever it adds
around them; each child that runs a candidate is bounded further by rlimits. Linux only.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import signal
import socket
import struct

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_SECCOMP_MODE_FILTER = 2

# BPF instructions: load a word of seccomp_data, jump if equal / greater or equal / any bit set, return.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENT_0 = 0, 4, 16
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_X32_BIT = 0x40000000
# CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
_NAMESPACE_FLAGS = 0x80 | 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000

# Per machine: its audit number, then system-call numbers. Refused: reading other processes, memory that no rlimit
# counts (memfd, System V, message queues), new namespaces and mounts, keyrings, and large kernel interfaces.
_MACHINES: dict[str, tuple[int, dict[str, int]]] = {
    "x86_64": (
        0xC000003E,
        {
            "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "pidfd_getfd": 438, "kcmp": 312,
            "memfd_create": 319, "memfd_secret": 447, "shmget": 29, "shmat": 30, "semget": 64, "msgget": 68,
            "mq_open": 240, "unshare": 272, "setns": 308, "mount": 165, "umount2": 166, "pivot_root": 155,
            "chroot": 161, "fsopen": 430, "move_mount": 429, "open_tree": 428, "mount_setattr": 442,
            "open_by_handle_at": 304, "add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321,
            "userfaultfd": 323, "perf_event_open": 298, "io_uring_setup": 425, "personality": 135,
            "clone": 56, "clone3": 435, "socket": 41, "kill": 62,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "pidfd_getfd": 438, "kcmp": 272,
            "memfd_create": 279, "memfd_secret": 447, "shmget": 194, "shmat": 196, "semget": 190, "msgget": 186,
            "mq_open": 180, "unshare": 97, "setns": 268, "mount": 40, "umount2": 39, "pivot_root": 41,
            "chroot": 51, "fsopen": 430, "move_mount": 429, "open_tree": 428, "mount_setattr": 442,
            "open_by_handle_at": 265, "add_key": 217, "request_key": 218, "keyctl": 219, "bpf": 280,
            "userfaultfd": 282, "perf_event_open": 241, "io_uring_setup": 425, "personality": 92,
            "clone": 220, "clone3": 435, "socket": 198, "kill": 129,
        },
    ),
}  # fmt: skip
_BY_ARGUMENT = ("clone", "clone3", "socket", "kill")

_libc = ctypes.CDLL(None, use_errno=True)


def confine_worker(user: int | None, own_namespace: bool) -> None:
    """Give up what the worker does not need, for itself and all its children.

    user: the user and group id to become, where the worker starts as root. own_namespace: False on a back end
    whose processes share the host's process table, where a signal to everyone is refused too.
    Raises OSError where the kernel refuses.
    """
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    # Not dumpable: no child can read the worker's memory or its descriptors through /proc.
    _prctl(_PR_SET_DUMPABLE, 0)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _filter_system_calls(refuse_signal_to_all=not own_namespace)


def bound_child(memory: int, processes: int, cpu_seconds: int, file_bytes: int, open_files: int) -> None:
    """Set the rlimits of the calling process. Memory (bytes) counts on top of what is mapped now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    for kind, limit in (
        (resource.RLIMIT_AS, mapped + memory),
        (resource.RLIMIT_NPROC, processes),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NOFILE, open_files),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_MEMLOCK, 0),
    ):
        resource.setrlimit(kind, (limit, limit))


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}): {os.strerror(code)}")


def _filter_system_calls(refuse_signal_to_all: bool) -> None:
    if platform.machine() not in _MACHINES:
        raise OSError(errno.ENOSYS, f"no system-call filter is written for {platform.machine()}")
    architecture, numbers = _MACHINES[platform.machine()]
    refused, unknown = _ERRNO | errno.EPERM, _ERRNO | errno.ENOSYS
    program = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, refused),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, refused),
    ]
    for name, number in numbers.items():
        if name not in _BY_ARGUMENT:
            program += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, refused)]
    # clone3 hides its flags behind a pointer; told that it is unknown, libc falls back to clone.
    program += [(_EQUAL, 0, 1, numbers["clone3"]), (_RETURN, 0, 0, unknown)]
    program += [
        (_EQUAL, 0, 4, numbers["clone"]),
        (_LOAD, 0, 0, _ARGUMENT_0),
        (_ANY_BIT, 0, 1, _NAMESPACE_FLAGS),
        (_RETURN, 0, 0, refused),
        (_RETURN, 0, 0, _ALLOW),
    ]
    program += [
        (_EQUAL, 0, 4, numbers["socket"]),
        (_LOAD, 0, 0, _ARGUMENT_0),
        (_EQUAL, 1, 0, socket.AF_UNIX),
        (_RETURN, 0, 0, refused),
        (_RETURN, 0, 0, _ALLOW),
    ]
    if refuse_signal_to_all:
        program += [
            (_EQUAL, 0, 4, numbers["kill"]),
            (_LOAD, 0, 0, _ARGUMENT_0),
            (_EQUAL, 0, 1, 0xFFFFFFFF),
            (_RETURN, 0, 0, refused),
            (_RETURN, 0, 0, _ALLOW),
        ]
    program.append((_RETURN, 0, 0, _ALLOW))
    code = b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))

    header = Program(len(program), ctypes.addressof(buffer))
    if _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(header), 0, 0) != 0:
        code_ = ctypes.get_errno()
        raise OSError(code_, f"the system-call filter was refused: {os.strerror(code_)}")
