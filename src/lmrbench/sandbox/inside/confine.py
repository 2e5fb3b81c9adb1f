"""Confinement of a sandbox's processes by prctl, rlimits and system-call filters. Linux only.

The worker is the process that runs jobs. It confines itself before it reads its first request, so these limits apply
under every back end, in addition to the back end's own. For each job, the worker forks children that run a candidate
(the code to grade). Each child is limited further by rlimits and a second filter. A sandbox in which an agent works has
a filter of its own. Its process 1 installs this filter, which allows the calls that ordinary programs need.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import resource
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

from .landlock import READ, SCOPES_ABI, TRUNCATE_ABI, USE, Access, restrict
from .processes import stat_fields
from .system_calls import Numbers, Rule, compiled, install, never, only

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS, _PR_SET_THP_DISABLE = 36, 38, 41
_PR_SCHED_CORE, _PR_SET_MEMORY_MERGE = 62, 67
_PR_SET_KEEPCAPS, _PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE = 8, 47, 2
_CAPABILITY_VERSION, _CAP_DAC_READ_SEARCH = 0x20080522, 2

# memfd_create creates unnamed files in memory. If the kernel reports it as unknown, programs fall back to other files.
_MEMFD_CREATE = (319, 279)

# Refused to agents and workers: large kernel interfaces, kernel keys, namespaces and mounts, memory that belongs to no
# process (System V), resources with a machine-wide allowance, and administration of the machine.
_KERNEL: dict[str, Numbers] = {
    "bpf": (321, 280), "userfaultfd": (323, 282), "perf_event_open": (298, 241), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "io_setup": (206, 0), "io_submit": (209, 2),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "unshare": (272, 97),
    "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "move_mount": (429, 429), "open_tree": (428, 428), "mount_setattr": (442, 442), "open_tree_attr": (467, 467),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "vmsplice": (278, 75),
    "memfd_secret": (447, 447), "mq_open": (240, 180), "fanotify_init": (300, 262), "fanotify_mark": (301, 263),
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "syslog": (103, 116), "acct": (163, 89),
    "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "settimeofday": (164, 170), "clock_settime": (227, 112), "vhangup": (153, 58),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None), "uselib": (134, None),
    "ustat": (136, None), "lookup_dcookie": (212, 18), "migrate_pages": (256, 238), "move_pages": (279, 239),
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semop": (65, 193),
    "semctl": (66, 191), "semtimedop": (220, 192), "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188),
    "msgctl": (71, 187), "mq_unlink": (241, 181),
}  # fmt: skip

# Also refused to workers: reading other processes, memory that no limit counts (extended attributes), scheduling of
# other processes, and channels between sandboxes. Channels are locks, watches and hints on files that two sandboxes
# see, queries whether pages of these files are in memory, and machine-wide counters.
_SHARED: dict[str, Numbers] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "get_robust_list": (274, 100), "memfd_create": _MEMFD_CREATE,
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "personality": (135, 92), "sched_setscheduler": (144, 119), "sched_setparam": (142, 118),
    "sched_setattr": (314, 274), "ioprio_set": (251, 30), "setsockopt": (54, 208), "tee": (276, 77),
    "flock": (73, 32), "inotify_init": (253, None), "inotify_init1": (294, 26), "inotify_add_watch": (254, 27),
    "mincore": (27, 232), "fadvise64": (221, 223), "readahead": (187, 213), "preadv2": (327, 286),
    "pwritev2": (328, 287), "sync": (162, 81), "syncfs": (306, 267), "sync_file_range": (277, 84),
    "mbind": (237, 235), "set_mempolicy": (238, 237), "get_mempolicy": (239, 236), "remap_file_pages": (216, 234),
    "adjtimex": (159, 171), "clock_adjtime": (305, 266), "sysfs": (139, None), "sysinfo": (99, 179),
}  # fmt: skip

# Refused to children, because no limit counts the pages that splice and sendfile leave in a pipe or socket. The worker
# itself moves observations with these two calls.
_SPLICE: dict[str, Numbers] = {"splice": (275, 76), "sendfile": (40, 71), "seccomp": (317, 277)}

# Refused to children that share the file systems of the host: changing owners, and reading counters of free space.
# Sending messages is refused as well, because /proc does not show descriptors in transit between processes.
_HOST_FILES: dict[str, Numbers] = {
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "statfs": (137, 43), "fstatfs": (138, 44), "sendmsg": (46, 211), "sendmmsg": (307, 269),
}  # fmt: skip
# Landlock does not restrict these calls, which could change files of the user. They do nothing and seem to succeed,
# because programs call them when they copy files.
_MODES_AND_TIMES: dict[str, Numbers] = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
}  # fmt: skip
_TRUNCATE, _OPEN, _OPENAT = (76, 45), (2, None), (257, 56)
# Calls other than kill and tgkill that send signals: tkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_send_signal.
_OTHER_SIGNALS = ((200, 130), (129, 138), (297, 240), (424, 424))
_TGKILL = (234, 131)

# The only calls with numbers from FIRST_SHARED_NUMBER on that workers may use: pidfd_send_signal, pidfd_open,
# close_range, faccessat2, epoll_pwait2, fchmodat2, and those of Landlock.
_NEWEST = (424, 434, 436, 439, 441, 452, 444, 445, 446)

# clone3 gets its flags through a pointer, which a filter can't follow. It is reported as unknown, so that libc falls
# back to clone.
_CLONE3 = (435, 435)
_CLONE, _KILL, _FCNTL, _IOCTL, _FUTEX = (56, 220), (62, 129), (72, 25), (16, 29), (202, 98)
_SOCKET, _SOCKETPAIR, _SETSOCKOPT, _MMAP, _MADVISE = (41, 198), (53, 199), (54, 208), (9, 222), (28, 233)
_PRLIMIT, _AFFINITY, _PRIORITY, _PRCTL = (302, 261), (203, 122), (141, 140), (157, 167)

# Refuses clone with a flag that creates a namespace: CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID,
# NEWNET.
_NAMESPACES = only(0, 0, mask=0x80 | 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000)
# Refuses CLONE_THREAD without CLONE_FILES, because the descriptors of such a thread are not counted for its process.
_OWN_DESCRIPTORS = never(0, 0x10000, mask=0x10000 | 0x400)
_SHARED_AND_ANONYMOUS, _HUGE = 0x21, 0x40000
# Refuses shared anonymous mappings. Their pages stay in memory after a process has told the kernel that it no longer
# needs them, but are then no longer counted.
_COUNTED_PAGES = never(3, _SHARED_AND_ANONYMOUS, mask=_SHARED_AND_ANONYMOUS)
# Allows only sockets whose queues can be measured: UNIX, IP and netlink sockets, except those of DCCP, SCTP, UDP-Lite
# and MPTCP.
_COUNTED_SOCKETS = (
    only(0, socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, answer=errno.EAFNOSUPPORT),
    never(2, 33, 132, 136, 262, answer=errno.EPROTONOSUPPORT),
)
# Socket buffers must keep their default size, because the count of their memory assumes it. A request for another size
# does nothing and seems to succeed.
_BUFFER_SIZES = never(2, socket.SO_SNDBUF, socket.SO_RCVBUF, answer=0, when=(1, socket.SOL_SOCKET))
# The allowed commands of fcntl: those that duplicate a descriptor, read or set its flags, or read the size of a pipe.
# Other commands (locks, leases, notifications, owners and hints) affect the file itself, not only the descriptor.
_F_DUPFD_CLOEXEC, _F_GETPIPE_SZ = 1030, 1032
_DESCRIPTOR_COMMANDS = only(1, 0, 1, 2, 3, 4, _F_DUPFD_CLOEXEC, _F_GETPIPE_SZ)
# The allowed commands of ioctl: TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX. Others fail with ENOTTY, as
# they do on most files.
_PLAIN_IOCTLS = only(1, 0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451, answer=errno.ENOTTY)
# The refused commands of madvise: MADV_MERGEABLE, HUGEPAGE, PAGEOUT, COLLAPSE.
_COMMON_PAGES = never(2, 12, 14, 21, 25)
# A futex in a shared file could wake a process of another sandbox, so only private futexes (flag 128) work. A wait on a
# shared futex returns at once, as if its value had changed, and a wake does nothing. So a thread that joins another one
# or waits for a shared semaphore does so in a busy loop.
_PRIVATE_FUTEXES = (
    never(1, 0, 9, mask=0xFF, answer=errno.EAGAIN),
    never(1, 1, 10, mask=0xFF, answer=0),
    never(1, *range(2, 9), 11, 12, 13, mask=0xFF, answer=errno.ENOSYS),
)

# The limits depend on these prctl settings, which a child inherits from the worker and may not change.
_FIXED_SETTINGS = never(0, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_THP_DISABLE, _PR_SCHED_CORE, _PR_SET_MEMORY_MERGE)

# The limit on pending signals, which the kernel counts for each user.
SIGNALS = 1024

_libc = ctypes.CDLL(None, use_errno=True)


def confine_worker(
    user: int | None, own_namespace: bool, rules: Sequence[Access] | None, reads_all: bool = False
) -> None:
    """Drop every privilege that the worker does not need, for itself and all its children.

    Args:
        user: The user and group id to become if the worker starts as root.
        own_namespace: Whether the worker has a PID namespace of its own. If not, the call kill(-1), which signals
            all processes, is refused.
        rules: The paths that Landlock allows the worker to access, besides /proc; None without Landlock.
        reads_all: See `become_user`.

    Raises:
        OSError: The kernel refuses the change.
    """
    become_user(user, reads_all)
    # With Python's own handler, a child could interrupt the worker, even if it is process 1.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if own_namespace:
        # The kernel kills the worker when the host ends. Without a namespace, this would leave the worker's children
        # behind, so such a worker kills them itself when the host hangs up.
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    refuse_huge_pages()
    _sort_once()
    calls: dict[Numbers, list[Rule]] = {
        _MMAP: [_COUNTED_PAGES],
        _MADVISE: [_COMMON_PAGES],
        _FUTEX: [*_PRIVATE_FUTEXES],
        _FCNTL: [_DESCRIPTOR_COMMANDS],
        _IOCTL: [_PLAIN_IOCTLS],
        _CLONE: [_NAMESPACES],
        _SOCKETPAIR: [only(0, socket.AF_UNIX)],
        # A process may change its own limits, cores and priority, but not those of the worker.
        _PRLIMIT: [only(0, 0)],
        _AFFINITY: [only(0, 0)],
        _PRIORITY: [only(0, 0), only(1, 0)],
    }
    refused = [*_KERNEL.values(), *_SHARED.values()]
    if rules is None:
        calls[_SOCKET] = [only(0, socket.AF_UNIX)]
    else:
        restrict([*rules, Access("/proc", READ | USE)])
        # Landlock does not restrict UNIX sockets that have a path, so `socket` is refused. Pairs of stream sockets are
        # allowed, because they can't reach any other socket.
        refused.append(_SOCKET)
        calls[_SOCKETPAIR].append(only(1, socket.SOCK_STREAM, mask=0xF))
    if not own_namespace:
        calls[_KILL] = [never(0, 0xFFFFFFFF)]
    install(compiled(refused, calls, [_CLONE3], _NEWEST))


def refuse_huge_pages() -> None:
    """Make this process and its children use small pages only.

    Huge pages would falsify the measured memory. As long as one byte of a huge page is used, the whole page stays in
    memory, but the parts that the process has returned to the kernel are not counted.
    """
    _prctl(_PR_SET_THP_DISABLE, 1)


def confine_agent() -> None:
    """Drop every privilege that an agent's programs do not need, for this process and all its children.

    Raises:
        OSError: The kernel refuses the change.
    """
    rules: dict[Numbers, list[Rule]] = {
        _MMAP: [_COUNTED_PAGES, never(3, _HUGE, mask=_HUGE)],
        _CLONE: [_NAMESPACES, _OWN_DESCRIPTORS],
        _SOCKET: [*_COUNTED_SOCKETS],
        _SETSOCKOPT: [_BUFFER_SIZES],
    }
    install(compiled(_KERNEL.values(), rules, [_CLONE3, _MEMFD_CREATE]))


def become_user(user: int | None, reads_all: bool = False) -> None:
    """Change the user, drop capabilities, rule out new privileges, and keep other processes from reading this one.

    Args:
        user: The user and group id to become, or None to stay the same user.
        reads_all: Whether the new user may read files that only root can read, such as an interpreter in root's home.
            This is safe only with Landlock rules, which restrict the files that can be read.

    Raises:
        OSError: The kernel refuses the change.
    """
    if user is not None:
        _prctl(_PR_SET_KEEPCAPS, reads_all)
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    # This also drops the capabilities that a process has in a user namespace of its own.
    _set_capabilities(1 << _CAP_DAC_READ_SEARCH if reads_all else 0)
    if reads_all and _libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_READ_SEARCH, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({_PR_CAP_AMBIENT}): {os.strerror(code)}")
    # Children can't read the memory or descriptors of a process through /proc if it is not dumpable.
    _prctl(_PR_SET_DUMPABLE, 0)
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)


def _set_capabilities(kept: int) -> None:
    """Drop all capabilities except those whose bits are set in `kept`."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    # The effective, permitted and inheritable sets, for the first 32 capabilities and then for the others.
    sets = (ctypes.c_uint32 * 6)(kept, kept, kept)
    if _libc.capset(header, sets) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"capset: {os.strerror(code)}")


def bound_child(memory: int, processes: int, cpu_seconds: int, file_bytes: int, open_files: int) -> None:
    """Limit the calling process by rlimits and a filter of its own, and allow the worker to measure it through /proc.

    Args:
        memory: The number of bytes that the process may map in addition to those that it maps now.
        processes: The number of processes that the user may have in addition to those that run now.
        cpu_seconds: The limit on the processor seconds of a single process.
        file_bytes: The limit on the size of a single file, in bytes.
        open_files: The number of files that a single process may have open.

    Raises:
        OSError: The machine's hard limit is lower; the message names the limit.
    """
    _prctl(_PR_SET_DUMPABLE, 1)
    with open("/proc/self/statm", "rb") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    for kind, limit, what in (
        (resource.RLIMIT_AS, mapped + memory, "bytes of memory (ulimit -v, in kilobytes)"),
        (resource.RLIMIT_NPROC, _threads_of_user() + processes, "processes (ulimit -u)"),
        (resource.RLIMIT_CPU, cpu_seconds, "seconds of processor time (ulimit -t)"),
        (resource.RLIMIT_FSIZE, file_bytes, "bytes a file (ulimit -f, in kilobytes)"),
        (resource.RLIMIT_NOFILE, open_files, "open files (ulimit -n)"),
        (resource.RLIMIT_CORE, 0, ""),
        (resource.RLIMIT_MEMLOCK, 0, ""),
    ):
        most = resource.getrlimit(kind)[1]
        if most != resource.RLIM_INFINITY and most < limit:
            raise OSError(f"this machine's hard limit is {most:,} {what}, and the task needs {limit:,}")
        resource.setrlimit(kind, (limit, limit))
    if not 0 <= resource.getrlimit(resource.RLIMIT_SIGPENDING)[1] < SIGNALS:
        resource.setrlimit(resource.RLIMIT_SIGPENDING, (SIGNALS, SIGNALS))
    # If the machine runs out of memory, the kernel kills a child before the worker, and both before lmrbench.
    # The mode is "r+b", because "w" would truncate the file, which Landlock refuses.
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "r+b", buffering=0) as file:
        file.write(b"1000")
    install(compiled(_SPLICE.values(), {_PRCTL: [_FIXED_SETTINGS]}))


def guard_host(version: int) -> None:
    """Install a filter that refuses calls which Landlock does not restrict, for a process without its own namespaces.

    Args:
        version: The version of the kernel's Landlock interface. If it is old, the filter also refuses calls that
            truncate files by their path, and signals to anything but the caller itself and its process group.

    Raises:
        OSError: The kernel refuses the change.
    """
    refused = [*_HOST_FILES.values()]
    calls: dict[Numbers, list[Rule]] = {}
    if version < TRUNCATE_ABI:
        refused.append(_TRUNCATE)
        # O_TRUNC empties a file even if the file is opened for reading only.
        for call, flags in ((_OPEN, 1), (_OPENAT, 2)):
            calls[call] = [never(flags, os.O_TRUNC, mask=os.O_TRUNC | os.O_ACCMODE)]
    if version < SCOPES_ABI:
        # The process may signal only itself and the process group that it leads.
        own = [only(0, 0, os.getpid(), -os.getpid() & 0xFFFFFFFF)]
        refused += _OTHER_SIGNALS
        calls |= {_KILL: own, _TGKILL: own}
    install(compiled(refused, calls, ignored=_MODES_AND_TIMES.values()))


def _threads_of_user() -> int:
    """Return the number of threads that count against the user's limit on processes, as far as /proc shows them."""
    count = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.stat().st_uid == os.getuid():
                count += int(stat_fields(int(process.name))[17])
    return count


def _sort_once() -> None:
    """Sort more than a kilobyte with libc's qsort, before the filter refuses sysinfo.

    Up to glibc 2.36, the first large sort of a process calls sysinfo and ignores errors.
    """
    numbers = (ctypes.c_long * 1000)()
    order = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda *_: 0)
    _libc.qsort(numbers, ctypes.c_size_t(1000), ctypes.c_size_t(ctypes.sizeof(ctypes.c_long)), order)


def _prctl(option: int, value: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}): {os.strerror(code)}")
