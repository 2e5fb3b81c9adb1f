"""An agent that holds more memory than its limit is refused or killed, whatever kind of memory it is."""

import os

import anyio
import pytest

from lmrbench.solving.session import AgentSession, SessionLimits

pytestmark = pytest.mark.sandbox

BOUND_MB = 256
# Who still runs after so many seconds was not stopped.
HOLDS_SECONDS = 20
BEGINNING = """
import ctypes, mmap, os, socket, sys, time
MB = 1 << 20
libc = ctypes.CDLL(None, use_errno=True)
def fill(end, size):
    end.setblocking(False)
    try:
        while end.send(b"x" * size):
            pass
    except BlockingIOError:
        pass
def end_like_a_child():
    os.kill(os.getpid(), os.wait()[1] & 127)
"""
END = f"""
time.sleep({HOLDS_SECONDS})
print("held")
"""
KILLED = {
    "pages": "x = bytearray(500 * MB)\nfor i in range(0, len(x), 4096): x[i] = 1",
    "pages of many processes": """
for _ in range(20):
    if os.fork() == 0:
        x = bytearray(25 * MB)
        for i in range(0, len(x), 4096): x[i] = 1
        break
else:
    end_like_a_child()
""",
    "page tables": """
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_size_t]
place = libc.mmap(None, 1 << 40, mmap.PROT_READ, 0x4000 | mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
for i in range(200_000): ctypes.string_at(place + (i << 21), 1)
""",
    "stream sockets": """
held = []
for _ in range(1000):
    pair = socket.socketpair()
    for end in pair:
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MB)
        fill(end, 200_000)
    held += pair
""",
    "messages of senders that are closed": """
held = []
for number in range(300):
    held.append(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    held[-1].bind(f"\\0{number}")
    for _ in range(12):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.connect(f"\\0{number}")
            sender.setblocking(False)
            try:
                sender.send(b"x" * 200_000)
            except BlockingIOError:
                pass
""",
    "TCP": """
listener = socket.create_server(("127.0.0.1", 0), backlog=100)
held = []
for _ in range(200):
    held.append(socket.create_connection(listener.getsockname()))
    held.append(listener.accept()[0])
    for end in held[-2:]: fill(end, 200_000)
""",
    "UDP": """
held = []
for _ in range(2000):
    held.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    held[-1].bind(("127.0.0.1", 0))
    for _ in range(10): held[-1].sendto(b"x" * 20_000, held[-1].getsockname())
""",
    "pipes": """
for _ in range(19):
    if os.fork() == 0:
        break
else:
    end_like_a_child()
try:
    while True:
        out = os.pipe()[1]
        os.set_blocking(out, False)
        os.write(out, b"x" * 8192)
except OSError:
    pass
""",
    "terminals": """
held = []
for _ in range(1000):
    held.append(os.openpty())
""",
    "empty files": """
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/workspace", "/home/agent"):
    for number in range(60_000): os.close(os.open(f"{folder}/{number}", os.O_CREAT | os.O_WRONLY))
""",
    "files beside pages": """
x = bytearray(150 * MB)
for i in range(0, len(x), 4096): x[i] = 1
held = []
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/workspace", "/home/agent"):
    held.append(open(f"{folder}/file", "wb"))
    os.unlink(f"{folder}/file")
    held[-1].write(b"x" * 30 * MB)
""",
}
REFUSED = {
    "a file without a name": "os.memfd_create('x')",
    "a secret file without a name": "check(libc.syscall(447, 0))",
    "a System V segment": "check(libc.shmget(0, 100 * MB, 0o1600))",
    "a System V queue": "check(libc.msgget(0, 0o1600))",
    "System V semaphores": "check(libc.semget(0, 100, 0o1600))",
    "shared pages without a file": "mmap.mmap(-1, 100 * MB)",
    "shared pages of a device": "mmap.mmap(os.open('/dev/zero', os.O_RDWR), 100 * MB)",
    "huge pages": "mmap.mmap(-1, 2 * MB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)",
    "a socket that is not listed": "socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)",
    "a socket of the kernel's cryptography": "socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)",
    "more than the folders hold": """
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/workspace", "/home/agent"):
    with open(f"{folder}/file", "wb") as file:
        try:
            for _ in range(BOUND_MB // 8 + 1): file.write(b"x" * MB); file.flush()
            raise SystemExit(f"{folder} holds more than its part")
        except OSError:
            pass
raise OSError("all are full")
""".replace("BOUND_MB", str(BOUND_MB)),
}
CHECK = """
def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
"""


def run(code):
    """How a program of an agent ends, and what the agent's next command says."""

    async def main():
        session = AgentSession([], limits=SessionLimits(memory_mb=BOUND_MB, processes=64))
        try:
            done = await session.run(["python3", "-c", BEGINNING + code])
            for _ in range(40):
                # On a busy machine the kernel takes a moment to give back what connections held.
                if after := (await session.run(["echo", "alive"])).stdout:
                    return done, after
                await anyio.sleep(0.25)
            return done, b""
        finally:
            session.close()

    return anyio.run(main)


@pytest.mark.parametrize("kind", KILLED)
def test_who_holds_more_memory_of_any_kind_is_killed(kind):
    done, after = run(KILLED[kind] + END)

    assert (done.returncode, done.stdout) == (-9, b""), done.stderr.decode()
    assert after == b"alive\n"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86_64")
@pytest.mark.parametrize("kind", REFUSED)
def test_memory_that_can_not_be_counted_is_refused(kind):
    done, after = run(CHECK + REFUSED[kind] + "\nprint('held')")

    assert (done.returncode, done.stdout) == (1, b"")
    assert b"Error" in done.stderr.splitlines()[-1]
    assert after == b"alive\n"
