"""The landlock back end hides all of the host that its rules do not name, as root and as any other user."""

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from tests.drawn import job_of

from lmrbench.errors import SandboxError
from lmrbench.sandbox.backends import landlock
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.inside.landlock import abi
from lmrbench.sandbox.registry import make_sandbox

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(not abi(), reason="NOT TESTED: this kernel has no Landlock"),
]

CHECK = """
def cases(seed): return [0]

def observe(case):
    from answer import answer
    return answer()
"""
ATTEMPTS = """
import errno, glob, os, signal, socket

def attempt(function, *arguments):
    try:
        return function(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
"""


def answer(code, secrets=()):
    """What `answer` of this code returns in a fresh worker."""
    worker = make_sandbox("landlock", secrets).start(())
    try:
        outcome = worker.run(job_of({"answer.py": (ATTEMPTS + code).encode()}, CHECK, 0))
    finally:
        worker.close()
    assert outcome.cases[0].status == "observed", outcome
    return decode(outcome.cases[0].payload)


def test_a_candidate_reads_of_proc_its_own_process_alone():
    code = f"""
def answer():
    paths = ["/proc/{os.getpid()}/cmdline", f"/proc/{{os.getppid()}}/cmdline", "/proc/self/net/unix", "/proc/loadavg"]
    return [*(attempt(open, path) for path in paths), attempt(os.listdir, "/proc"), bool(os.listdir("/proc/self/fd"))]
"""
    assert answer(code) == ["EACCES"] * 5 + [True]


def test_a_candidate_has_no_sockets_but_pairs_of_streams():
    code = """
def answer():
    first, second = socket.socketpair()
    first.send(b"x")
    kinds = [(family, kind) for family in (socket.AF_UNIX, socket.AF_INET) for kind in (1, 2)]
    opened = [attempt(socket.socket, *kind) for kind in kinds]
    return [second.recv(1), *opened, attempt(socket.socketpair, socket.AF_UNIX, socket.SOCK_DGRAM)]
"""
    assert answer(code) == [b"x", *["EPERM"] * 5]


def test_secret_folders_and_other_workers_folders_cannot_be_read(tmp_path):
    secret = Path(os.__file__).parent / "wsgiref"
    other = make_sandbox("landlock", ()).start(())
    try:
        places = [str(secret / "util.py"), other.connection.scratch / "rules.json", other.connection.scratch / "tmp"]
        code = f"def answer(): return [attempt(os.open, path, os.O_RDONLY) for path in {[*map(str, places)]}]"
        assert answer(code, [secret]) == ["EACCES"] * 3
    finally:
        other.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="NOT TESTED: only root's workers have a user of their own")
def test_a_repository_in_roots_closed_cache_is_linked_to_where_its_worker_can_read_it(tmp_path):
    tree = tmp_path / "closed" / "tree"
    (tree / "package").mkdir(parents=True)
    (tree / "package" / "module.py").write_text("")
    tree.parent.chmod(0o700)
    worker = make_sandbox("landlock", ()).start((), tree)
    try:
        # A container has no capability to read what the user cannot.
        assert worker.tree.parent == worker.connection.scratch
        assert (worker.tree / "package" / "module.py").samefile(tree / "package" / "module.py")
    finally:
        worker.close()
    assert (tree / "package" / "module.py").is_file()


def test_a_copy_of_a_file_works_though_modes_and_times_cannot_be_changed():
    code = """
import shutil, time

def answer():
    shutil.copy2(os.__file__, "copy.py")
    os.chmod("copy.py", 0)
    with open("copy.py") as file:
        return [len(file.read()) > 0, time.time() - os.stat("copy.py").st_mtime < 1000]
"""
    assert answer(code) == [True, True]


@pytest.mark.parametrize("version", [1, 3])
def test_with_an_old_kernel_the_filter_guards_what_landlock_does_not(version, tmp_path):
    # As its own user: a signal to any other process of the user would get through.
    code = f"""
import errno, os, signal, sys
from inside.confine import bound_child, confine_worker, guard_host

def attempt(function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

def idle():
    pid = os.fork()
    if pid == 0:
        os.close(1)
        signal.pause()
    return pid

other = idle()
confine_worker(None, False, None)
guard_host({version})
bound_child(1 << 30, 64, 10, 1 << 20, 64)
own = idle()
print(
    *(attempt(os.kill, pid, 0) for pid in (other, own, os.getpid(), 0)),
    attempt(signal.pidfd_send_signal, os.pidfd_open(other), 0),
    attempt(os.truncate, "file", 0),
    attempt(os.open, "file", os.O_RDONLY | os.O_TRUNC),
    attempt(os.open, "file", os.O_WRONLY | os.O_TRUNC),
)
"""
    (tmp_path / "file").write_text("x")
    program = Path(landlock.__file__).parents[1]
    run = subprocess.Popen(
        [sys.executable, "-c", code], cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True,
        env={"PYTHONPATH": str(program)},
    )  # fmt: skip
    words = run.stdout.readline().split()
    os.killpg(run.pid, 9)
    run.wait()
    by_path = ["EPERM", "EPERM"] if version < 3 else ["done", "done"]
    assert words == ["EPERM", "EPERM", "done", "done", "EPERM", *by_path, "done"]


def test_the_note_in_doctor_names_the_kernel_and_what_an_old_one_lacks(monkeypatch):
    assert make_sandbox("landlock", ()).note.startswith(f"Landlock ABI {abi()}")
    monkeypatch.setattr(landlock, "abi", lambda: 2)
    assert make_sandbox("landlock", ()).note == (
        "Landlock ABI 2: candidates cannot truncate files by their path, or signal the processes that they start"
    )
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    with pytest.raises(SandboxError, match="this kernel has no Landlock"):
        make_sandbox("landlock", ()).start(())


def test_a_killed_worker_leaves_no_process_behind():
    name = f"left-by-{os.getpid()}"
    code = f"""
import time

def answer():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv("/bin/sh", ["{name}", "-c", "sleep 100; true"])
        os._exit(0)
    time.sleep(100)
"""

    def left():
        return [path for path in Path("/proc").glob("[0-9]*/cmdline") if name.encode() in _read(path)]

    def kill_once_it_runs():
        end = time.monotonic() + 60
        while not left() and time.monotonic() < end:
            time.sleep(0.05)
        seen.extend(left())
        worker.kill()

    seen: list[Path] = []
    worker = make_sandbox("landlock", ()).start(())
    thread = threading.Thread(target=kill_once_it_runs)
    thread.start()
    worker.run(job_of({"answer.py": (ATTEMPTS + code).encode()}, CHECK, check_seconds=60.0))
    thread.join()
    worker.close()
    # The shell may be seen beside its child, which has the shell's name until it becomes `sleep`.
    assert seen
    assert left() == []


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.skipif(os.geteuid() != 0, reason="all other tests run as an ordinary user here")
def test_an_ordinary_user_grades_without_any_namespace(toy_suite):
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    pythons = [os.path.realpath(sys.executable), f"/usr/bin/{version}", f"/usr/local/bin/{version}"]
    places = [path for path in sys.path if "-packages" in path or Path(path, "lmrbench").is_dir()]
    python = next((path for path in pythons if os.path.exists(path) and landlock._is_open(path)), None)
    if python is None or not all(map(landlock._is_open, [*places, str(toy_suite)])):
        pytest.skip("NOT TESTED: only root can read this interpreter, its packages or the tests")
    with tempfile.TemporaryDirectory() as home:
        os.chown(home, 12345, 12345)
        command = [python, "-m", "lmrbench", "grade", "--golden", "--suite", str(toy_suite), "--sandbox", "landlock"]
        graded = subprocess.run(
            command,
            cwd=home,
            env={"PATH": os.environ["PATH"], "HOME": home, "PYTHONPATH": os.pathsep.join(places)},
            user=12345,
            group=12345,
            extra_groups=[],
            capture_output=True,
            text=True,
        )
    assert graded.returncode == 0, graded.stderr
    assert "(sandbox landlock, seed" in graded.stdout
