"""The namespace that agents work in, used directly and through Inspect's interface."""

import functools
import os
import time
import venv
from pathlib import Path

import anyio
import pytest
from inspect_ai.util import OutputLimitExceededError, SandboxUnavailableError, SandboxUserUnsupportedError

from lmrbench.errors import LmrbenchError
from lmrbench.sandbox.backends.bubblewrap import installed_packages
from lmrbench.solving import session
from lmrbench.solving.provider import BubblewrapSandboxEnvironment
from lmrbench.solving.secrets import secret_folders
from lmrbench.solving.session import AgentSession, SessionLimits

pytestmark = pytest.mark.sandbox


def in_namespace(test):
    """Run an async test with its own sandbox."""

    # With functools.wraps, pytest would look for a fixture named like the argument.
    def run():
        async def main():
            session = AgentSession([], limits=SessionLimits(memory_mb=256, processes=64))
            try:
                await test(BubblewrapSandboxEnvironment(session))
            finally:
                session.close()

        anyio.run(main)

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


@in_namespace
async def test_commands(sandbox):
    done = await sandbox.exec(
        ["sh", "-c", "cat; echo $NAME; pwd; echo no >&2; exit 3"], "hello ", "repo/..", {"NAME": "x"}
    )

    assert not done.success
    assert done.returncode == 127
    await sandbox.write_file("repo/a", "")
    done = await sandbox.exec(
        ["sh", "-c", "cat; echo $NAME; pwd; echo no >&2; exit 3"], "hello ", "repo", {"NAME": "x"}
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "hello x\n/workspace/repo\n", "no\n")
    assert (await sandbox.exec(["no-such-command"])).returncode == 127
    assert (await sandbox.exec(["/workspace"])).returncode == 126


@in_namespace
async def test_programs_can_open_a_terminal(sandbox):
    program = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(['sh', '-c', 'test -t 0 && tty'])))"
    done = await sandbox.exec(["python3", "-c", program])
    assert (done.returncode, done.stdout.strip()) == (0, "/dev/pts/0")


@in_namespace
async def test_the_agent_is_one_user_by_every_name(sandbox):
    done = await sandbox.exec(["sh", "-c", "echo $USER; id -un; echo ~"])
    assert done.stdout == "agent\nagent\n/home/agent\n"


def test_a_virtual_environment_that_is_shown_works(tmp_path):
    venv.create(tmp_path / "tools", symlinks=True)
    tmp_path.chmod(0o755)

    async def main():
        session = AgentSession([], shown=[str(tmp_path / "tools")], limits=SessionLimits(memory_mb=256, processes=64))
        try:
            (tmp_path / "tools" / "bin" / "greet").symlink_to("/bin/echo")
            assert (await session.run(["bash", "-c", "greet hello"])).stdout == b"hello\n"
            assert b"/opt/python/bin" in (await session.run(["bash", "-c", "command -v python3"])).stdout
            for name in ("python", "python3"):
                done = await session.run([f"{tmp_path}/tools/bin/{name}", "-c", "import sys; print(sys.prefix)"])
                assert (done.returncode, done.stdout.decode()) == (0, f"{tmp_path}/tools\n"), done.stderr
        finally:
            session.close()

    anyio.run(main)


@in_namespace
async def test_files(sandbox):
    await sandbox.write_file("new/folder/text", "a\r\nb")
    await sandbox.write_file("bytes", b"\xff\x00")

    assert await sandbox.read_file("/workspace/new/folder/text") == "a\r\nb"
    assert await sandbox.read_file("bytes", text=False) == b"\xff\x00"
    for file, error in (("bytes", UnicodeDecodeError), ("missing", FileNotFoundError), ("new", IsADirectoryError)):
        with pytest.raises(error):
            await sandbox.read_file(file)
    with pytest.raises(IsADirectoryError):
        await sandbox.write_file("new", "")
    with pytest.raises(PermissionError):
        await sandbox.write_file("/etc/new", "")
    await sandbox.exec(["sh", "-c", "mkfifo pipe; truncate -s 200M large"])
    with pytest.raises(OSError, match="Invalid argument"):
        await sandbox.read_file("pipe")
    with pytest.raises(OutputLimitExceededError):
        await sandbox.read_file("large")


@in_namespace
async def test_a_file_of_the_agent_does_not_show_that_the_host_has_read_it(sandbox):
    await sandbox.write_file("file", "text")
    seen = (await sandbox.exec(["stat", "-c", "%x %y %z", "file"])).stdout
    await anyio.sleep(0.05)

    assert await sandbox.read_file("file") == "text"

    assert (await sandbox.exec(["stat", "-c", "%x %y %z", "file"])).stdout == seen


@in_namespace
async def test_time_and_output_are_bounded(sandbox):
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        await sandbox.exec(["sh", "-c", "touch began; sleep 60 & sleep 60"], timeout=1)
    assert time.monotonic() - began < 10
    await anyio.sleep(0.5)
    assert "sleep" not in (await sandbox.exec(["sh", "-c", "cat /proc/[0-9]*/comm"])).stdout

    done = await sandbox.exec(["sh", "-c", "yes | head -c 30000000; echo end"])
    assert len(done.stdout) <= 10 << 20
    assert done.stdout.endswith("end\n")


@in_namespace
async def test_what_runs_in_the_background_stays(sandbox):
    done = await sandbox.exec(["sh", "-c", "nohup sleep 60 & echo started"])

    assert done.stdout == "started\n"
    assert "sleep" in (await sandbox.exec(["sh", "-c", "cat /proc/[0-9]*/comm"])).stdout


@in_namespace
async def test_commands_run_side_by_side(sandbox):
    began = time.monotonic()
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(functools.partial(sandbox.exec, ["sleep", "2"]))
    assert time.monotonic() - began < 6


@in_namespace
async def test_memory_and_processes_are_bounded(sandbox):
    hog = "x = bytearray(800 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nimport time; time.sleep(30)"
    assert (await sandbox.exec(["python3", "-c", hog], timeout=20)).returncode == -9
    await sandbox.exec(["sh", "-c", "for i in $(seq 200); do sleep 1 & done; wait"], timeout=20)
    await anyio.sleep(1.5)
    assert (await sandbox.exec(["echo", "alive"])).stdout == "alive\n"


@in_namespace
async def test_nobody_inside_can_end_it_or_see_out(sandbox):
    await sandbox.exec(["sh", "-c", "kill -9 1; kill -INT 1; kill -TERM 1; kill -9 -1"])
    script = "ls /; env; cat /proc/1/environ; cat /etc/passwd; id"
    seen = (await sandbox.exec(["sh", "-c", script])).stdout

    assert "agent" in seen
    assert str(Path.home()) not in seen
    assert "suite" not in seen
    for name in ("HOSTNAME", "SSH_AUTH_SOCK", "OPENAI_API_KEY"):
        assert f"{name}={os.environ.get(name)}" not in seen
    routes = (await sandbox.exec(["cat", "/proc/net/dev"])).stdout
    assert [line.split(":")[0].strip() for line in routes.splitlines()[2:]] == ["lo"]


REFUSED = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
numbers = {"io_setup": 206, "vmsplice": 278, "keyctl": 250, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323}
numbers |= {"mount": 165, "unshare": 272, "io_uring_setup": 425, "fanotify_init": 300, "syslog": 103}
for name, number in numbers.items():
    libc.syscall(number, 0x10000000, 0, 0, 0, 0)
    print(name, errno.errorcode.get(ctypes.get_errno()))
"""
TOOLS = """
set -e
git init -q . && git config user.email a@b.c && git config user.name a
echo 'int main(){return 0;}' > a.c && git add . && git commit -qm one && git log --oneline | grep one
python3 -c "import sqlite3; sqlite3.connect('a.db').execute('create table a(b)')"
python3 -c "import fcntl; fcntl.flock(open('a.c'), 2)"
python3 -c "import multiprocessing as m; print(m.Pool(2).map(abs, [-1, 2]))"
python3 -c "import threading; t = threading.Thread(target=print); t.start(); t.join()"
python3 -c "import asyncio; asyncio.run(asyncio.sleep(0))"
if command -v gcc; then gcc a.c -o a && ./a; fi
if command -v node; then node -e 'require("fs").watch(".").close(); console.log(require("os").freemem() > 0)'; fi
echo all work
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86_64")
@in_namespace
async def test_large_interfaces_of_the_kernel_are_refused(sandbox):
    lines = (await sandbox.exec(["python3", "-c", REFUSED])).stdout.splitlines()

    assert len(lines) == 11
    assert [line for line in lines if not line.endswith(" EPERM")] == []


@in_namespace
async def test_ordinary_tools_work(sandbox):
    done = await sandbox.exec(["sh", "-c", TOOLS], timeout=60)

    assert done.stdout.endswith("all work\n"), done.stderr


@in_namespace
async def test_there_is_one_user(sandbox):
    for user in (None, "agent", str(sandbox.session.user)):
        assert (await sandbox.exec(["true"], user=user)).success
    with pytest.raises(SandboxUserUnsupportedError):
        await sandbox.exec(["true"], user="root")


@in_namespace
async def test_a_namespace_that_is_gone_is_the_machines_fault(sandbox):
    sandbox.session.close()
    sandbox.session.close()

    with pytest.raises(SandboxUnavailableError):
        await sandbox.exec(["true"])
    with pytest.raises(SandboxUnavailableError):
        await sandbox.read_file("x")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Create a home with a cache and a checkout with two worktrees, the second of which contains the suite."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / ".cache"))
    tree, git = tmp_path / "home" / "tree", tmp_path / "home" / "main" / ".git"
    own = git / "worktrees" / "tree"
    for folder in (git, own, tree / "suite" / "dpo", tree / "tests", tree / "runs", tmp_path / "home" / "agent"):
        folder.mkdir(parents=True)
        (folder / "file").write_text("SECRET" if folder.name != "agent" else "PROGRAM")
    (tree / ".git").write_text(f"gitdir: {own}\n")
    (own / "commondir").write_text("../..\n")
    cache = tmp_path / "home" / ".cache" / "lmrbench"
    cache.mkdir(parents=True)
    (cache / "seed").write_text("SECRET")
    (tmp_path / "link").symlink_to(tmp_path / "home")
    tmp_path.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("shown", ["home", "link"])
def test_what_is_shown_hides_the_cache_and_the_checkout_with_its_history(machine, shown):
    async def main():
        session = AgentSession([], secret_folders(machine / "home" / "tree" / "suite"), [str(machine / shown)])
        try:
            return (await session.run(["grep", "-rhE", "SECRET|PROGRAM", str(machine / shown)])).stdout
        finally:
            session.close()

    assert anyio.run(main) == b"PROGRAM\n"


@pytest.mark.parametrize(
    ("shown", "seen"),
    [
        ((), {"bin"}),
        (("lib/node_modules/tool",), {"bin", "lib/node_modules/tool"}),
        (("lib/node_modules",), {"bin", "lib/node_modules/tool", "lib/node_modules/other"}),
        (
            ("lib", "application"),
            {"bin", "lib/node_modules/tool", "lib/node_modules/other", "application/lib/python3.12/site-packages"},
        ),
    ],
)
def test_of_installed_packages_an_agent_sees_what_is_mounted(tmp_path, monkeypatch, shown, seen):
    programs = tmp_path / "programs"
    for place in ("bin", "lib/node_modules/tool", "lib/node_modules/other", "application/lib/python3.12/site-packages"):
        (programs / place).mkdir(parents=True)
        (programs / place / "file").write_text("x")
    tmp_path.chmod(0o755)
    monkeypatch.setattr(session, "_SYSTEM", (*session._SYSTEM, str(programs)))
    # Without the private /tmp, which would hide the test's own folder.
    monkeypatch.setattr(session, "_WRITABLE", tuple(folder for folder in session._WRITABLE if folder != "/tmp"))
    installed_packages.cache_clear()

    async def main():
        opened = AgentSession([], shown=[str(programs / folder) for folder in shown])
        try:
            found = await opened.run(["find", str(programs), "-name", "file", "-printf", "%P "])
            writes = [
                (await opened.run(["touch", f"{programs}/{place}/new"])).returncode
                for place in ("bin", "lib/node_modules")
            ]
            return found.stdout.decode().split(), writes
        finally:
            opened.close()

    found, writes = anyio.run(main)
    assert {name.removesuffix("/file") for name in found} == seen
    assert 0 not in writes


@pytest.mark.parametrize(
    "folder", ["home/tree", "home/tree/runs", "link/tree/suite", "home/main/.git", "home/.cache/lmrbench"]
)
def test_a_folder_that_lies_in_a_secret_one_is_refused_in_one_line(machine, folder):
    with pytest.raises(LmrbenchError, match=rf"^{machine}/{folder} can't be shown in a sandbox: .*contain answers$"):
        AgentSession([], secret_folders(machine / "home" / "tree" / "suite"), [str(machine / folder)])
