"""What a hostile submission must not achieve: to pass, to harm the host, or to be felt by the task after it.

Each file of `submissions/` is one attack on the task of `suite/`, whose golden holds constants that stand nowhere
else: an attack that passes has found them. An attack answers with the best that it could steal or forge, and its
`EVIDENCE` is a pattern for the reasons and the log of its grade, which shows that it did run.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import os
import re
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.drawn import job_of
from tests.engine import BACK_ENDS
from tests.graded import graded

from lmrbench.grading.grader import Grader
from lmrbench.grading.plan import GradingPlan
from lmrbench.grading.records import Grade
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.protocol import Sandbox, Worker
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import third_party_imports

SUITE = Path(__file__).parent / "suite"
GOLDEN = (SUITE / "vault" / "repo" / "scorer.py").read_text()
ATTACKS = {path.stem: path.read_text() for path in sorted(Path(__file__).parent.glob("submissions/*.py"))}
SEED = 11
MOST_SECONDS = 120
LONGEST_REASON = 10_000
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")

# Where a folder can't be emptied the worker ends, as it must, and the host starts another.
MAY_COST_THE_WORKER = {"locks_folders", "nests_folders_deeply", "replaces_its_folders"}

_DISK = "the disk is the host's: its files can be read and written"
_LIMITS = "its limits are for each process, or don't bind root: it may take too much of the host while it runs"
_PROCESSES = "the process table is the host's: others can be seen, signalled and read"
_ROOT = "where it is started by root, so is the candidate"

# Never run there, not even to see them get through: what they do, they would do to this machine.
NOT_STOPPED_BY_PROCESS = {
    "becomes_root": _ROOT,
    "bombs_attributes": _DISK,
    "bombs_dev_shm": _DISK,
    "bombs_disk": _DISK,
    "bombs_forks": _LIMITS,
    "bombs_hidden_memory": _LIMITS,
    "bombs_inodes": _DISK,
    "bombs_memory_by_copies": _LIMITS,
    "bombs_memory_by_hidden_programs": _LIMITS,
    "bombs_memory_by_programs": _LIMITS,
    "bombs_shared_memory": _LIMITS,
    "bombs_sockets": _LIMITS,
    "bombs_the_processor": _LIMITS,
    "bombs_the_system_folders": _DISK,
    "bombs_threads": _LIMITS,
    "calls_the_host": "UNIX sockets of the host can be reached",
    "changes_shared_files": _DISK,
    "counts_the_machine": "what the kernel counts for the whole machine can be read",
    "hides_files": _DISK,
    "hobbles_the_worker": _PROCESSES,
    "imports_the_harness": "lmrbench and its suite can be imported",
    "interrupts_the_worker": _PROCESSES,
    "kills_everyone": _PROCESSES,
    "kills_the_worker": _PROCESSES,
    "links_outside": _DISK,
    "offers_the_harness_to_the_kernel": _ROOT,
    "plants_start_hooks": _DISK,
    "raises_its_limits": _ROOT,
    "reads_devices": _ROOT,
    "reads_golden_cache": _DISK,
    "reads_golden_from_disk": _DISK,
    "reads_worker_memory": _PROCESSES,
    "signals_other_processes": _PROCESSES,
    "takes_worker_descriptors": _PROCESSES,
    "walks_proc": _PROCESSES,
}


# By back end: the attacks that it does not stop, and why. A back end without an entry has to stop all of them.
def may_set_floors() -> bool:
    """Whether this process, and a daemon that it starts, has CAP_SYS_RESOURCE."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("CapEff:")]
    return bool(int(line.split()[1], 16) & 1 << 24)


_FLOORS = "without CAP_SYS_RESOURCE a Docker daemon can't keep a container from lowering its oom_score_adj"
NOT_STOPPED = {
    "process": NOT_STOPPED_BY_PROCESS,
    "docker": {} if may_set_floors() else {"offers_the_harness_to_the_kernel": _FLOORS},
}

# The processes of a worker below this one: bwrap, the template and the worker; none, because the Engine starts
# containers; the worker. Those of another back end are counted before the first attack.
PROCESSES = {"bubblewrap": 3, "docker": 0, "landlock": 1, "process": 1}

# The evidence under back ends that refuse a step of an attack which others let it try.
EARLIER_EVIDENCE = {
    "landlock": {
        # An interpreter in root's home is read by this capability, within what the rules allow.
        "becomes_root": r"capabilities 000000000000000[04], no_new_privs 1, became root by \[\]",
        "bombs_dev_shm": "Permission denied: '/dev/shm/",
        # Files on a disk cost more processor time than files in memory.
        "bombs_inodes": r"wrote more than 64 MB of files|took more than \d+ s",
        "bombs_the_system_folders": r"wrote to \['/\S+/tmp', '/\S+/tmp/repo-0'\] of \d{2,} folders",
        "interrupts_the_worker": "Operation not permitted",
        "kills_the_worker": r"sent 0 signals to [1-9]\d*",
        # A folder that is nested too deeply to be listed counts as full.
        "nests_folders_deeply": "wrote more than 64 MB of files",
        "opens_by_handle": "Permission denied: '/etc'",
        "reads_golden_from_disk": r"walked \d+ files, found 0 goldens",
        "walks_proc": "case 0: mismatch",
    },
    "process": {
        "nests_folders_deeply": "wrote more than 64 MB of files",
        # Without its capabilities, root cannot list a folder that is closed to its owner.
        "replaces_its_folders": "wrote more than 64 MB of files",
    },
}

# What a task finds where it runs, which must be the same before and after any other task.
PROBE = b"""
import contextlib, fcntl, os, re, resource, stat, torch

# Without a namespace the limit on processes counts the others of the user, which come and go.
LIMITS = ("NOFILE", "STACK", *(("NPROC",) if os.getppid() == 1 else ()))

def read(path):
    with contextlib.suppress(OSError), open(path) as file:
        return file.read()
    return ""

def names(folder):
    with contextlib.suppress(OSError):
        return os.listdir(folder)
    return []

def after_name(pid):
    return read(f"/proc/{pid}/stat").rpartition(")")[2].split()

def flags(folder):
    with contextlib.suppress(OSError):
        return fcntl.ioctl(os.open(folder, os.O_RDONLY), 0x80086601, bytes(8))
    return "not told"

def look():
    own, parent = str(os.getpid()), str(os.getppid())
    others = [pid for pid in names("/proc") if pid.isdigit() and pid not in (own, parent)]
    return {
        "scratch": sorted(os.listdir(os.environ["TMPDIR"])),
        "modes": [stat.filemode(os.stat(folder).st_mode) for folder in (os.environ["TMPDIR"], "/dev/shm")],
        "times": [os.stat(folder).st_atime > 10**6 for folder in (os.environ["TMPDIR"], "/dev/shm")],
        "flags": [fcntl.fcntl(0, fcntl.F_GETFL), *map(flags, (os.environ["TMPDIR"], "/dev/shm"))],
        "shared memory": sorted(name for name in names("/dev/shm") if "attack" in name or os.getppid() == 1),
        "processes": [pid for pid in others if after_name(pid)[1:2] in ([own], [parent]) or os.getppid() == 1],
        "descriptors": len(os.listdir("/proc/self/fd")),
        "shared mappings": len(re.findall(r"^\\S+ .w.s ", read("/proc/self/maps"), re.MULTILINE)),
        "signals": re.findall(r"Sig(?:Blk|Ign|Cgt):\\t(\\w+)", read("/proc/self/status")),
        "limits": [resource.getrlimit(getattr(resource, "RLIMIT_" + name)) for name in LIMITS],
        "scheduling": [os.nice(0), os.sched_getscheduler(0), sorted(os.sched_getaffinity(0))],
        "worker": [read(f"/proc/{parent}/limits"), *after_name(parent)[15:17]],
        "torch works": not torch.allclose(torch.zeros(2), torch.ones(2)),
    }
"""
PROBE_CHECK = """
def cases(seed):
    return [0]

def observe(case):
    import probe
    return probe.look()
"""


# Whether a task sees the folder of this test, or the process that runs it.
HOST_PROBE = f"""
import contextlib, os

def look():
    with contextlib.suppress(OSError), open("/proc/{os.getpid()}/cmdline", "rb") as file:
        if file.read() == {Path("/proc/self/cmdline").read_bytes()!r}:
            return True
    with contextlib.suppress(OSError):
        return bool(os.listdir({str(SUITE)!r}))
    return False
"""


class WatchedSandbox(Sandbox):
    """A sandbox that remembers the workers that it started."""

    def __init__(self, name: str) -> None:
        self.sandbox = make_sandbox(name, [SUITE])
        self.name, self.advice = name, ""
        self.launched: list[Worker] = []

    def start(self, imports, tree=None, environment=None):
        self.launched.append(self.sandbox.start(imports, tree, environment))
        return self.launched[-1]

    def close(self):
        self.sandbox.close()


class Laboratory:
    """One warm worker for all attacks of a sandbox, and what a job finds in it before them."""

    def __init__(self, name: str) -> None:
        # What other tests have started in this process, such as the server that forks commands.
        self.before = own_processes()
        self.sandbox = WatchedSandbox(name)
        self.tasks = {task.id: task for task in load_suite(SUITE)}
        # Of its one task, so that whatever looks does so in the worker that attacks are graded in.
        self.imports = third_party_imports(self.tasks["vault/score"])
        self.open()
        if name not in NOT_STOPPED and self.run({"probe.py": HOST_PROBE.encode()}):
            self.close()
            pytest.fail(
                f"{name}: shows this machine's files or processes, so attacks would harm it; give it an entry in "
                "NOT_STOPPED, with the attacks that it does not stop"
            )
        # The golden is observed in a worker of its own, once, and kept in the tests' cache.
        (golden,) = self.grade(GOLDEN)
        assert golden.correct, golden
        self.fresh = self.look()
        self.processes = PROCESSES.get(name, len(own_processes() - self.before))

    def open(self) -> None:
        """Start a pool of one worker."""
        self.pool = LocalPool(self.sandbox, size=1)

    def close(self) -> None:
        """End the worker."""
        self.pool.__exit__(None, None, None)

    def restore(self) -> None:
        """Start anew where an earlier test has left the worker or the pool otherwise than they were."""
        if self.look() != self.fresh:
            self.close()
            self.open()
            assert self.look() == self.fresh

    def grade(self, *codes: str, seeds: tuple[int, ...] = (SEED,)) -> list[Grade]:
        """Grade hand-ins one after the other in the same worker."""
        submissions = [
            Submission(system="attacker", task="vault/score", sample=number, code={"scorer.py": code})
            for number, code in enumerate(codes)
        ]
        return sorted(graded(submissions, self.tasks, seeds, self.pool), key=lambda item: item.sample)

    def run(self, files: dict[str, bytes]) -> object:
        """What `look` of probe.py returns, as the next job of the same worker; None if it returns nothing."""
        job = job_of(files, PROBE_CHECK, SEED, "system attacker", imports=self.imports)
        ((_, outcome),) = self.pool.run([job])
        return decode(outcome.cases[0].payload) if outcome.cases and outcome.cases[0].status == "observed" else None

    def look(self) -> object:
        """What the next job finds where it runs."""
        return self.run({"probe.py": PROBE})


@pytest.fixture(scope="module", params=BACK_ENDS)
def shared_laboratory(request):
    laboratory = Laboratory(request.param)
    yield laboratory
    laboratory.close()


@pytest.fixture
def laboratory(shared_laboratory):
    shared_laboratory.restore()
    return shared_laboratory


@pytest.fixture
def canary() -> Iterator[Path]:
    """A folder of the host that everybody may write to."""
    with tempfile.TemporaryDirectory(prefix="canary-") as name:
        folder = Path(name)
        (folder / "file").write_text("alive")
        folder.chmod(0o777)
        yield folder


@pytest.fixture(scope="module")
def host_servers() -> Iterator[list[socket.socket]]:
    """Servers on this machine that give the golden to everybody who asks."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        os.chmod(folder, 0o755)
        kinds = [(socket.AF_INET, 1), (socket.AF_INET, 2), (socket.AF_UNIX, 1), (socket.AF_UNIX, 1)]
        servers = [stack.enter_context(socket.socket(family, kind)) for family, kind in kinds]
        port = next(port for port in range(47100, 47116) if _binds(servers[0], ("127.0.0.1", port)))
        addresses = [("127.0.0.1", port), f"{folder}/vault-{port}.socket", f"\0vault-{port}"]
        assert all(_binds(server, address) for server, address in zip(servers[1:], addresses, strict=True))
        for server in servers:
            threading.Thread(target=_serve, args=(server,), daemon=True).start()
        yield servers


def _binds(server: socket.socket, address: Any) -> bool:
    try:
        server.bind(address)
        if server.type == socket.SOCK_STREAM:
            server.listen()
    except OSError:
        return False
    return True


def _serve(server: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            if server.type == socket.SOCK_DGRAM:
                server.sendto(GOLDEN.encode(), server.recvfrom(100)[1])
            else:
                with server.accept()[0] as connection:
                    connection.recv(100)
                    connection.sendall(GOLDEN.encode())


def own_processes() -> set[int]:
    """All processes below this one, and all of the user ids that the sandboxes started by it are given.

    Without the one that reads submissions and its forks, which run no candidate.
    """
    sandbox_users = range(10**9 + (os.getpid() << 8), 10**9 + (os.getpid() + 1 << 8))
    parents, own = {}, {os.getpid()}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{name}/status").read_text()
            parents[int(name)] = int(re.search(r"PPid:\t(\d+)", status)[1])
            if int(re.search(r"Uid:\t(\d+)", status)[1]) in sandbox_users:
                own.add(int(name))
    while more := {pid for pid, parent in parents.items() if parent in own} - own:
        own |= more
    return {pid for pid in own - {os.getpid()} if not reads_submissions(pid)}


def reads_submissions(pid: int) -> bool:
    """Whether this is the process that reads submissions, or a fork of it."""
    with contextlib.suppress(OSError):
        own = Path(f"/proc/{pid}").stat().st_uid == os.getuid()
        return own and b"lmrbench.grading.reader" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def no_more_processes_than(count: int, before: set[int]) -> bool:
    """Whether so many are left besides earlier ones. The kernel takes a moment to end those of a closed sandbox."""
    end = time.monotonic() + 3
    while len(own_processes() - before) > count and time.monotonic() < end:
        time.sleep(0.01)
    return len(own_processes() - before) == count


def strays() -> list[str]:
    """What attacks would have left on the host, had they got there."""
    folders: list[str | Path] = [
        "/",
        "/tmp",
        "/var/tmp",
        "/dev/shm",
        os.getcwd(),
        Path.home(),
        Path(os.__file__).parent,
    ]
    return [str(path) for folder in folders for path in Path(folder).glob("attack-was-here*")]


def evidence(attack: str) -> str:
    """The value of EVIDENCE in an attack's file."""
    assignments = [node for node in ast.parse(ATTACKS[attack]).body if isinstance(node, ast.Assign)]
    return next(ast.literal_eval(node.value) for node in assignments if node.targets[0].id == "EVIDENCE")


def words(result: Grade) -> str:
    """All that a grade says."""
    reasons = [f"case {case.case}: {case.verdict}: {case.reason}" for case in result.cases]
    return "\n".join([*reasons, result.log])


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_fails_harms_nothing_and_is_not_felt_by_the_next_task(laboratory, attack, canary, host_servers):
    if reason := NOT_STOPPED.get(laboratory.sandbox.name, {}).get(attack):
        pytest.skip(reason)
    workers, began = len(laboratory.sandbox.launched), time.monotonic()

    before, hostile, after = laboratory.grade(GOLDEN, ATTACKS[attack], GOLDEN)

    assert before.correct
    assert not hostile.correct
    # A bomb may answer the cases that it does not explode in.
    assert attack.startswith("bombs_") or hostile.share == 0.0
    expected = EARLIER_EVIDENCE.get(laboratory.sandbox.name, {}).get(attack) or evidence(attack)
    if laboratory.sandbox.name == "docker" and attack.startswith("bombs_memory_by_"):
        # A container has a bound of its own, which may be reached before the worker looks.
        expected += "|killed by SIGKILL"
    assert re.search(expected, words(hostile)), words(hostile)
    assert after.correct, words(after)
    assert laboratory.look() == laboratory.fresh
    assert no_more_processes_than(laboratory.processes, laboratory.before)
    assert [path.read_text() for path in canary.iterdir()] == ["alive"]
    assert strays() == []
    assert max(len(case.reason) for case in hostile.cases) <= LONGEST_REASON
    assert not any(CONTROL.search(case.reason) for case in hostile.cases)
    assert Grade.model_validate_json(hostile.model_dump_json()) == hostile
    assert time.monotonic() - began < MOST_SECONDS
    assert not [
        item
        for item in laboratory.sandbox.launched[workers - 1 : -1]
        if (scratch := getattr(getattr(item, "connection", None), "scratch", None)) and scratch.exists()
    ]
    assert attack in MAY_COST_THE_WORKER or len(laboratory.sandbox.launched) == workers


@pytest.mark.torch
def test_no_attack_is_tried_in_an_unknown_back_end_that_shows_the_host(monkeypatch):
    monkeypatch.delitem(NOT_STOPPED, "process")
    with pytest.raises(pytest.fail.Exception, match="process: shows this machine's files or processes"):
        Laboratory("process")


def test_a_fresh_sandbox_holds_nothing(laboratory):
    assert laboratory.fresh["scratch"] == ["log", "repo-0"]
    assert laboratory.fresh["shared memory"] == []
    assert laboratory.fresh["processes"] == []
    assert laboratory.fresh["shared mappings"] == 0
    assert laboratory.fresh["torch works"]


def test_a_hard_coded_answer_is_right_under_its_seed_and_under_no_other(laboratory):
    code = ATTACKS["hard_codes_seed_0"]
    assert [laboratory.grade(code, seeds=seeds)[0].correct for seeds in ((0, 1), (0,), (1,))] == [False, True, False]


def test_an_attack_that_had_stolen_the_golden_would_pass(laboratory):
    steals = ATTACKS["calls_the_host"].replace("ANSWERS = _answers()", f"ANSWERS = [{GOLDEN.encode()!r}]")
    assert laboratory.grade(steals)[0].correct


def test_the_servers_of_the_host_do_give_the_golden_away(host_servers):
    for server in host_servers:
        with socket.socket(server.family, server.type) as client:
            client.connect(server.getsockname())
            client.send(b"?")
            assert client.recv(1 << 16) == GOLDEN.encode()


def test_no_other_job_of_a_worker_can_be_read_in_its_memory(laboratory):
    secret = b"SECRET-OF-ANOTHER-JOB"
    # As base64 at each of three offsets, and backwards, so that the search does not find itself.
    needles = [base64.b64encode(b"x" * offset + secret)[4:-4][::-1] for offset in range(3)]
    search = f"""
import ctypes, re

def look():
    found = 0
    pattern = re.compile(b"(?:" + b"|".join(re.escape(needle[::-1]) for needle in {needles}) + b")[A-Za-z0-9+/]{{40}}")
    with open("/proc/self/maps") as file:
        lines = [line.split() for line in file]
    for span, mode, _, _, _, *name in lines:
        if mode.startswith("rw") and not (name and name[0].startswith("/")):
            start, end = (int(part, 16) for part in span.split("-"))
            found += len(pattern.findall(ctypes.string_at(start, end - start)))
    return found
"""
    found = []
    for size in (100, 10_000, 100_000, 1_000_000):
        code = b"def look(): pass\n# " + (secret + b"0123456789" * 10) * 20
        laboratory.run({"filler.py": b"#" * size, "probe.py": code})
        found.append(laboratory.run({"probe.py": search.encode()}))
    assert found == [0, 0, 0, 0]


def test_the_outcome_of_a_run_that_was_given_up_is_not_taken_for_that_of_the_next(laboratory):
    def jobs(*words):
        files = [{"probe.py": f"def look(): return {word!r}".encode()} for word in words]
        return [job_of(item, PROBE_CHECK, SEED, "system attacker", imports=laboratory.imports) for item in files]

    given_up = laboratory.pool.run(jobs("first", "second"))
    next(given_up)
    given_up.close()
    ((_, outcome),) = laboratory.pool.run(jobs("third"))
    assert decode(outcome.cases[0].payload) == "third"


BODY = "def score(logits, lengths):\n    return "
SOURCES = {
    "brackets": BODY + "(" * 100_000,
    "closed brackets": BODY + "(" * 150 + ")" * 150,
    "signs": BODY + "-" * 100_000 + "1",
    "sums": BODY + "1" + " + 1" * 100_000,
    "attributes": BODY + "lengths" + ".a" * 100_000,
    "calls": BODY + "lengths" + "()" * 50_000,
    "lambdas": BODY + "lambda: " * 50_000 + "1",
    "strings": BODY + "f'{" * 100 + "1" + "}'" * 100,
    "blocks": "def score(logits, lengths):\n" + "".join(" " * depth + "if 1:\n" for depth in range(1, 300)),
    "comment": BODY + "1  # " + "x" * 5_000_000,
    "null": BODY + "1\0",
    "encoding": "# -*- coding: utf-7 -*-\n" + BODY + "1\n",
    "unknown encoding": "# -*- coding: hostile -*-\n" + BODY + "1\n",
    "form feeds": "\f" * 10_000 + BODY + "1\r\r\n\u2028",
    "numbers": BODY + "9" * 100_000,
    "a long name": f"{'a' * 1_000_000} = 1\n" + BODY + "1\n",
    "many statements": "".join(f"a{number} = {number}\n" for number in range(20_000)) + BODY + "1\n",
    "many needs": "".join(f"def a{number}(): return a{number + 1}\n" for number in range(2_000)) + BODY + "a0\n",
    "twice": BODY + "1\n\n" + BODY + "2\n",
    "many times": (BODY + "1\n") * 4_000,
    "decorated": "@__import__('os')._exit\n" + BODY + "1\n",
    "a class": "class score:\n    pass\n",
    "nothing": "",
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_hostile_source_text_is_a_failed_grade(laboratory, source):
    if laboratory.sandbox.name == "process":
        pytest.skip("the text is read outside of the sandbox")
    began = time.monotonic()
    hostile, golden = laboratory.grade(SOURCES[source], GOLDEN)
    assert (hostile.correct, golden.correct) == (False, True)
    assert max(len(text) for text in [*hostile.warnings, *(case.reason for case in hostile.cases)]) <= LONGEST_REASON
    assert time.monotonic() - began < MOST_SECONDS


@pytest.mark.torch
@pytest.mark.sandbox
def test_a_policy_that_searches_for_exploits_earns_nothing():
    # All attacks are graded above, where their share is 0, too.
    names = [name for name in ATTACKS if not name.startswith("bombs_")][::10]
    with Grader(SUITE, GradingPlan(workers=1)) as grader:
        rewards = {name: grader.grade("vault/score", ATTACKS[name]).share for name in names}
        right = grader.grade("vault/score", GOLDEN).share

    assert {name: reward for name, reward in rewards.items() if reward} == {}
    assert right == 1.0
