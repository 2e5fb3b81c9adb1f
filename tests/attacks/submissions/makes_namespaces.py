"""Makes itself a user namespace, by unshare, clone and clone3, joins the worker's, mounts and changes its root."""

import ctypes
import errno
import os

import torch
from report import report

EVIDENCE = r"unshare EPERM, clone EPERM, clone3 ENOSYS, setns EPERM, mount EPERM, chroot EPERM, x32 EPERM"
NEW_USER, NEW_MOUNT, SIGCHLD = 0x10000000, 0x20000, 17
CLONE = {"x86_64": 56, "aarch64": 220}[os.uname().machine]


def score(logits, lengths):
    libc = ctypes.CDLL(None, use_errno=True)

    def answer(result):
        if result == 0 and os.getpid() != own:
            os._exit(0)
        return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]

    own = os.getpid()
    os.makedirs("mounted", exist_ok=True)
    arguments = (ctypes.c_uint64 * 11)(NEW_USER, 0, 0, 0, SIGCHLD)
    namespace = os.open("/proc/self/ns/mnt", os.O_RDONLY)
    answers = {
        "unshare": answer(libc.unshare(NEW_USER | NEW_MOUNT)),
        "clone": answer(libc.syscall(CLONE, NEW_USER | SIGCHLD, 0, 0, 0, 0)),
        "clone3": answer(libc.syscall(435, arguments, ctypes.sizeof(arguments))),
        "setns": answer(libc.setns(namespace, 0)),
        "mount": answer(libc.mount(b"none", b"mounted", b"tmpfs", 0, None)),
        "chroot": answer(libc.chroot(b"mounted")),
        "x32": answer(libc.syscall(0x40000000 | 272, NEW_USER)),
    }
    print(", ".join(" ".join(item) for item in answers.items()))
    return report(torch.zeros(len(lengths)))
