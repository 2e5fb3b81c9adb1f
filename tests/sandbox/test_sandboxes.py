"""Every back end reports what each case did, and no job affects the next."""

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.drawn import job_of
from tests.engine import BACK_ENDS

from lmrbench.errors import SandboxError
from lmrbench.sandbox.backends import bubblewrap
from lmrbench.sandbox.backends.bubblewrap import BubblewrapSandbox, Layout
from lmrbench.sandbox.connection import kill_with_children
from lmrbench.sandbox.inside.encoding import decode
from lmrbench.sandbox.packages import importable_paths, required_distributions
from lmrbench.sandbox.pool import LocalPool
from lmrbench.sandbox.protocol import Sandbox
from lmrbench.sandbox.registry import make_sandbox
from lmrbench.tasks.model import Limits

pytestmark = pytest.mark.sandbox

CHECK = """
import random
import numpy

def cases(seed):
    for number in range(4):
        yield {"name": f"case {number}", "number": number, "seed": seed}

def observe(case):
    from answer import answer
    return answer(case["number"])
"""


@pytest.fixture(scope="module", params=BACK_ENDS)
def worker(request):
    worker = make_sandbox(request.param, ()).start(())
    yield worker
    worker.close()


def job(code, owner="someone", check=CHECK, seed=0, check_seconds=20.0, case_seconds=None, **limits):
    files = {"answer.py": code.encode()} if isinstance(code, str) else code
    return job_of(files, check, seed, owner, Limits(**limits), check_seconds, case_seconds=case_seconds)


def observed(outcome):
    return [decode(case.payload) if case.status == "observed" else case.status for case in outcome.cases]


def test_observations_come_back_in_order(worker):
    outcome = worker.run(job("def answer(number): return number * 10"))
    assert observed(outcome) == [0, 10, 20, 30]
    assert worker.alive


def test_every_case_starts_from_the_same_random_state_and_another_seed_from_another(worker):
    code = "import random, numpy\ndef answer(number): return [random.random(), float(numpy.random.rand())]"
    first, again, other = (observed(worker.run(job(code, seed=seed))) for seed in (1, 1, 2))
    assert first == again
    assert first[0] == first[3]
    assert first != other


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ("raise KeyError('lost')", "raised", "KeyError: 'lost'"),
        ("raise SystemExit(0)", "raised", "SystemExit: 0"),
        ("import os; os._exit(0)", "died", "exit code 0 before it reported"),
        ("import os; os.kill(os.getpid(), 11)", "died", "killed by SIGSEGV"),
        ("return object()", "raised", "observation: a object is not plain data"),
        ("while True: pass", "timeout", "took more than 1 s of processor time"),
    ],
)
def test_one_bad_case_costs_no_other(worker, body, status, words):
    code = f"def answer(number):\n    if number == 2:\n        {body}\n    return number\n"
    outcome = worker.run(job(code, case_seconds=[1.0] * 4))
    assert observed(outcome) == [0, 1, status, 3]
    assert words in outcome.cases[2].message
    assert worker.alive


@pytest.mark.torch
def test_a_worker_imports_what_optimizers_need_once_for_all_jobs_from_the_first_that_names_them():
    plain = "import sys\ndef answer(number): return 'torch._dynamo' in sys.modules"
    worker = make_sandbox("process", ()).start(("torch",))
    try:
        for code, ready in ((plain, False), (plain + "  # optimal", False), (plain + "  # torch.optim", True)):
            outcome = worker.run(replace(job(code), imports=("torch",)))
            assert observed(outcome) == [ready] * 4
    finally:
        worker.close()


def test_waiting_for_a_processor_is_not_the_candidates_fault():
    code = """
import time

def answer(number):
    began = time.process_time()
    while time.process_time() - began < (0.3 if number < 3 else 60):
        pass
    return number
"""
    processor = {min(os.sched_getaffinity(0))}
    worker = make_sandbox("process", ()).start(())
    # In sessions of their own, between which the kernel shares the processor first.
    rivals = [subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True) for _ in range(3)]
    try:
        for process in (worker.connection.process, *rivals):
            os.sched_setaffinity(process.pid, processor)
        outcome = worker.run(job(code, case_seconds=[0.5] * 4))
    finally:
        for rival in rivals:
            rival.kill()
            rival.wait()
        worker.close()
    assert observed(outcome) == [0, 1, 2, "timeout"]


CHILDREN = """
import os

def answer(number):
    if number == 1:
        for _ in range(3):
            if os.fork() == 0:
                while True: pass
        import time
        time.sleep(100)
    return number
"""
UNWAITED = """
import os, signal, time

def answer(number):
    if number == 1:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        while True:
            if os.fork() == 0:
                began = time.process_time()
                while time.process_time() - began < 0.3: pass
                os._exit(0)
            time.sleep(0.3)
    return number
"""


@pytest.mark.parametrize("code", [CHILDREN, UNWAITED], ids=["children that loop", "children nobody waits for"])
def test_processor_time_counts_all_processes_of_a_candidate(worker, code):
    outcome = worker.run(job(code, case_seconds=[1.0] * 4, check_seconds=60.0))
    assert observed(outcome) == [0, "timeout", 2, 3]
    assert "took more than 1 s of processor time" in outcome.cases[1].message
    assert outcome.processor_seconds >= 1.0


def test_a_candidate_that_sleeps_ends_at_ten_times_its_limit_by_the_clock(worker):
    code = "import time\ndef answer(number):\n    if number: time.sleep(100)"
    outcome = worker.run(job(code, case_seconds=[0.1] * 4))
    assert [case.status for case in outcome.cases] == ["observed", "timeout", "timeout", "timeout"]
    assert outcome.cases[1].message == "took more than 1 s"
    assert outcome.processor_seconds < 1


def test_when_the_time_of_all_cases_is_used_up_the_rest_is_missing(worker):
    code = (
        "import time\ndef answer(number):\n    end = time.process_time() + 0.6\n    while time.process_time() < end: 1"
    )
    outcome = worker.run(job(code, check_seconds=1.0))
    assert [case.status for case in outcome.cases] == ["observed", "timeout", "missing", "missing"]
    assert outcome.cases[1].message == "the check's 1 s of processor time were used up"


def test_a_candidate_that_hangs_after_its_last_case_ends_with_it(worker):
    code = """
import sys, time

def hangs(frame, event, argument):
    if event == "return" and frame.f_code.co_name == "run_cases":
        time.sleep(1000)

def answer(number):
    sys.setprofile(hangs)
    return number
"""
    outcome = worker.run(job(code, check_seconds=1000.0))
    assert observed(outcome) == [0, 1, 2, 3]
    assert outcome.seconds < 100


@pytest.mark.parametrize("name", ["bubblewrap", "process"])
def test_a_job_can_end_with_a_case_and_the_worker_serves_the_next(name):
    asked = []

    def ends(number, case):
        asked.append((number, decode(case.payload)))
        return number == 1

    endless = job("def answer(number):\n    while number > 1: pass\n    return number", case_seconds=[60.0] * 4)
    with LocalPool(make_sandbox(name, ()), size=1) as pool:
        for _ in range(3):
            ((_, outcome),) = pool.run([replace(endless, check_seconds=120.0, ends_with=ends)])
            assert [case.status for case in outcome.cases] == ["observed", "observed", "missing", "missing"]
            assert not outcome.lost
            ((_, outcome),) = pool.run([job("def answer(number): return number", owner=endless.owner)])
            assert observed(outcome) == [0, 1, 2, 3]
        # The last case of all: the worker may have ended the job before it is told to.
        for _ in range(20):
            ((_, outcome),) = pool.run([replace(job("def answer(number): return 1"), ends_with=lambda n, _: n == 3)])
            assert observed(outcome) == [1, 1, 1, 1]
    assert asked == [(0, 0), (1, 1)] * 3


def test_too_much_output_is_the_candidates_fault(worker):
    outcome = worker.run(job("def answer(number): return b'x' * (1 << 20) * (number + 1)", output_mb=3))
    assert outcome.cases[0].status == "observed"
    assert "sent out more than 3 MB" in next(case.message for case in outcome.cases if case.status == "died")


def test_too_much_memory_is_the_candidates_fault(worker):
    outcome = worker.run(job("def answer(number): return len(bytes(1 << 30))", memory_mb=256))
    assert [case.status for case in outcome.cases] == ["raised"] * 4
    assert "MemoryError" in outcome.cases[0].message


def test_a_check_that_does_not_load_is_said_to_be_broken(worker):
    check = "DATA = open('no data')\ndef cases(seed): return []\ndef observe(case): return DATA"
    outcome = worker.run(replace(job(""), observe=check))
    assert "FileNotFoundError" in outcome.broken
    assert {case.status for case in outcome.cases} == {"missing"}


def test_what_is_printed_is_kept_as_the_end_of_a_log(worker):
    outcome = worker.run(job("import os\ndef answer(number): print('hello', number); os.system('echo from a shell')"))
    assert "hello 3" in outcome.log
    assert "from a shell" in outcome.log


def test_a_module_of_the_repository_wins_over_one_of_pythons_and_is_gone_for_the_next_job(worker):
    check = "def cases(seed): return [0]\ndef observe(case):\n    from answer import answer\n    return answer()\n"
    code = b"import argparse\ndef answer(): return getattr(argparse, 'WHOSE', 'of Python')"
    assert observed(worker.run(job({"answer.py": code, "argparse.py": b"WHOSE = 'mine'"}, check=check))) == ["mine"]
    assert observed(worker.run(job({"answer.py": code}, check=check))) == ["of Python"]


def test_files_of_one_job_are_gone_for_the_next(worker):
    write = "import pathlib, os\ndef answer(number):\n    pathlib.Path(os.environ['TMPDIR'], 'left').write_text('x')\n"
    look = "import os\ndef answer(number): return sorted(os.listdir(os.environ['TMPDIR']))"
    worker.run(job(write))
    assert observed(worker.run(job(look)))[0] == ["log", "repo-0"]


def test_the_environment_holds_nothing_of_the_hosts(worker, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    code = "import os, time\ndef answer(number): return [sorted(os.environ), time.tzname[0], os.environ['LANG']]"
    names, zone, language = observed(worker.run(job(code)))[0]
    assert not any("KEY" in name for name in names)
    assert (zone, language) == ("UTC", "C.UTF-8")


def test_bubblewrap_shows_no_home_no_suite_and_no_other_packages(tmp_path):
    import lmrbench

    paths = [str(Path.home() / ".bashrc"), str(Path(lmrbench.__file__).parent), str(tmp_path), "/home", "/var"]
    code = (
        "import os, importlib.util\n"
        "def answer(number):\n"
        f"    paths = {paths!r}\n"
        "    packages = [name for name in ('lmrbench', 'pytest', 'pip') if importlib.util.find_spec(name)]\n"
        "    return [[path for path in paths if os.path.exists(path)], packages]\n"
    )
    worker = make_sandbox("bubblewrap", ()).start(())
    try:
        assert observed(worker.run(job(code)))[0] == [[], []]
    finally:
        worker.close()


PACKAGES = (
    "application/python/lib/python3.12/site-packages",
    "venvs/tool/lib/python3.11/site-packages",
    "python3/dist-packages",
    "node_modules",
    "application/resources/node_modules",
    "conda/pkgs",
    "conda/envs/base/lib/python3.9/site-packages",
)


@pytest.fixture
def programs(tmp_path):
    """A folder of programs with packages installed at several depths."""
    for place in (*PACKAGES, "conda/conda-meta", "library"):
        (tmp_path / "programs" / place / "module").mkdir(parents=True)
        (tmp_path / "programs" / place / "module" / "file").write_text("x")
    tmp_path.chmod(0o755)
    bubblewrap.installed_packages.cache_clear()
    return tmp_path / "programs"


def test_packages_below_shown_folders_are_hidden_at_any_depth(programs, monkeypatch):
    monkeypatch.setattr(bubblewrap, "LIBRARY_FOLDERS", (*bubblewrap.LIBRARY_FOLDERS, str(programs)))
    code = f"import os\nprint(sorted(folder for folder, _, files in os.walk({str(programs)!r}) if files))"
    # Without the private folder /tmp, in which the test's own folder may lie.
    command = BubblewrapSandbox().command(["-c", code], Layout([], [], ["/dev/shm"]), {}, None)

    seen = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert seen.strip() == str([f"{programs}/conda/conda-meta/module", f"{programs}/library/module"])


def test_a_secret_folder_below_a_shown_one_appears_empty():
    # The standard library is shown; one of its folders stands for a suite installed beside it.
    secret = Path(os.__file__).parent / "wsgiref"
    worker = BubblewrapSandbox([secret]).start(())
    try:
        code = f"import os\ndef answer(number): return os.listdir({str(secret)!r})"
        assert observed(worker.run(job(code)))[0] == []
    finally:
        worker.close()


@pytest.mark.torch
def test_a_package_that_a_task_imports_comes_with_what_it_requires_and_nothing_else():
    names = {item.metadata["Name"].lower() for item in required_distributions(["torch"])}
    assert {"torch", "numpy", "safetensors", "sympy", "mpmath"} <= names
    assert not {"pytest", "typer", "lmrbench"} & names
    assert "torch" in importable_paths(["torch"])
    with pytest.raises(SandboxError, match="no_such_package, which is not installed; pip install no_such_package"):
        required_distributions(["no_such_package"])


class CountingSandbox(Sandbox):
    """Counts the workers that it starts."""

    name, advice = "process", ""

    def __init__(self):
        self.started = 0

    def start(self, imports, tree=None, environment=None):
        self.started += 1
        return make_sandbox("process", ()).start(imports, tree, environment)


def test_a_worker_serves_many_jobs_of_one_owner_and_never_two_owners():
    sandbox = CountingSandbox()
    with LocalPool(sandbox, size=1) as pool:
        list(pool.run([job("def answer(number): return number")] * 5))
        assert sandbox.started == 1
        jobs = [job("def answer(number): return number", owner=f"owner {number % 2}") for number in range(6)]
        outcomes = dict(pool.run(jobs))
        assert sandbox.started == 3
    assert [observed(outcomes[number]) for number in range(6)] == [[0, 1, 2, 3]] * 6
    shared = CountingSandbox()
    with LocalPool(shared, size=1, shared=True) as pool:
        list(pool.run(jobs))
        assert shared.started == 1


@pytest.mark.parametrize("isolate", [True, False])
def test_only_an_isolating_pool_never_runs_jobs_of_two_owners_at_once(isolate):
    check = (
        "def cases(seed): return [0]\n"
        "def observe(case):\n    import time\n    began = time.monotonic()\n    time.sleep(0.3)\n"
        "    return [began, time.monotonic()]\n"
    )
    jobs = [job("", owner=f"owner {number % 2}", check=check) for number in range(8)]
    with LocalPool(make_sandbox("process", ()), size=4, isolate=isolate) as pool:
        spans = [(number % 2, *observed(outcome)[0]) for number, outcome in pool.run(jobs)]
    overlap = [
        (first, second)
        for first, began, ended in spans
        for second, other_began, other_ended in spans
        if began < other_ended and other_began < ended
    ]
    assert (0, 0) in overlap
    assert ((0, 1) in overlap) is not isolate


KILL_WORKER = "import os\ndef answer(number):\n    if number == 1: os.kill(os.getppid(), 9)\n    return number\n"


def test_a_lost_worker_is_replaced_and_costs_the_other_jobs_nothing():
    sandbox = CountingSandbox()
    with LocalPool(sandbox, size=2) as pool:
        jobs = [job(KILL_WORKER if number == 3 else "def answer(number): return number") for number in range(8)]
        outcomes = dict(pool.run(jobs))
    assert [observed(outcomes[number]) for number in range(8) if number != 3] == [[0, 1, 2, 3]] * 7
    assert outcomes[3].lost
    assert "died" in [case.status for case in outcomes[3].cases]


def test_a_sandbox_that_does_not_start_is_the_machines_fault_and_says_why(monkeypatch):
    monkeypatch.setattr(bubblewrap, "importable_paths", lambda imports, environment: importable_paths(()))
    with pytest.raises(SandboxError, match=r"the bubblewrap sandbox did not start: .*no_such_module"):
        make_sandbox("bubblewrap", ()).start(("no_such_module",))
    with pytest.raises(SandboxError, match="there is no sandbox 'chroot'"):
        make_sandbox("chroot", ())


def test_leaving_the_pool_ends_running_jobs_at_once():
    began = time.monotonic()
    slow = job("import time\ndef answer(number): time.sleep(60)", check_seconds=120)
    with LocalPool(make_sandbox("process", ()), size=2) as pool:
        results = pool.run([job("def answer(number): return number"), slow, slow, slow])
        assert next(results)[0] == 0
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("name", BACK_ENDS)
def test_a_kill_ends_a_running_job_at_once_and_leaves_nothing_behind(name):
    worker = make_sandbox(name, ()).start(())
    timer = threading.Timer(1.0, worker.kill)
    timer.start()
    began = time.monotonic()
    try:
        outcome = worker.run(job("import time\ndef answer(number): time.sleep(30)", check_seconds=60))
    finally:
        worker.close()
    assert time.monotonic() - began < 15
    assert outcome.lost
    assert not worker.alive


def test_a_process_whose_end_was_noted_is_not_killed_again(monkeypatch):
    with subprocess.Popen(["true"], stdout=subprocess.PIPE) as ended:
        ended.wait()
    # Its number may be another process's by now: here it is this one's, whose child must live.
    monkeypatch.setattr(ended, "pid", os.getpid())
    with subprocess.Popen(["sleep", "30"]) as other:
        kill_with_children(ended)
        time.sleep(0.2)
        assert other.poll() is None
        other.kill()


def test_a_worker_serves_only_jobs_with_the_same_packages():
    sandbox = CountingSandbox()
    with LocalPool(sandbox, size=1) as pool:
        # numpy comes with every worker.
        kinds = [(), ("numpy",), ("scipy",), ("scipy", "numpy")]
        list(pool.run([replace(job("def answer(number): return number"), imports=kind) for kind in kinds]))
    assert sandbox.started == 2


def test_workers_of_several_kinds_may_be_kept_and_the_one_longest_unused_goes_first():
    sandbox = CountingSandbox()
    one, two, three = (
        replace(job("def answer(number): return number"), imports=kind) for kind in ((), ("scipy",), ("pandas",))
    )
    started = []
    with LocalPool(sandbox, size=1, kept=2) as pool:
        for item in (one, two, one, two, three, two, one):
            list(pool.run([item]))
            started.append(sandbox.started)
    assert started == [1, 2, 2, 2, 3, 3, 4]


def test_a_job_waits_for_the_thread_that_has_its_worker():
    sandbox = CountingSandbox()
    with LocalPool(sandbox, size=4, kept=2) as pool:
        for _ in range(8):
            list(pool.run([job("def answer(number): return number")]))
    assert sandbox.started == 1


def test_who_waits_for_a_pool_that_is_closed_is_told():
    slow = job("import time\ndef answer(number): time.sleep(60)", check_seconds=120)
    pool = LocalPool(make_sandbox("process", ()), size=1)
    errors = []

    def wait():
        with pytest.raises(SandboxError, match="closed") as error:
            list(pool.run([slow]))
        errors.append(error)

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(1.0)
    pool.__exit__(None, None, None)
    for thread in threads:
        thread.join(30)
    assert len(errors) == 3
    with pytest.raises(SandboxError, match="closed"):
        list(pool.run([slow]))


def test_a_thread_that_is_done_starts_no_worker_for_the_few_short_jobs_that_are_left():
    mine_started = threading.Event()

    class SlowToStart(CountingSandbox):
        def start(self, imports, tree=None, environment=None):
            time.sleep(4.0)
            worker = super().start(imports, tree, environment)
            if "scipy" in imports:
                # Before it is known how long the first takes to start, a second would be worth it.
                assert mine_started.wait(60)
            else:
                mine_started.set()
            return worker

    sandbox = SlowToStart()
    mine = [job("import time\ndef answer(number): time.sleep(0.1)", owner="mine")] * 4
    with LocalPool(sandbox, size=2) as pool:
        another = replace(job("def answer(number): return 0", owner="another"), imports=("scipy",))
        list(pool.run([*mine, another]))
    assert sandbox.started == 2


def test_a_long_job_does_not_hold_up_those_behind_it():
    sandbox = CountingSandbox()
    long, short = (
        job(f"import time\ndef answer(number): time.sleep({seconds})", owner="mine", check_seconds=60)
        for seconds in (5.0, 0.0)
    )
    with LocalPool(sandbox, size=2) as pool:
        results = pool.run([long, short, job("def answer(number): return 0", owner="another")])
        assert {next(results)[0], next(results)[0]} == {1, 2}
