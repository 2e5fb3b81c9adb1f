"""`lmrbench task import` makes a suite from a clone of the public edition, and gives a reason for each omission."""

import ast
import json
import os
import shutil
from types import SimpleNamespace

import pytest
from tests import core
from tests.integrations.edition import ANSWERS, POINTER, write_edition
from tests.running import lmrbench

from lmrbench.authoring.audit import auditing, fuzzing, mutation
from lmrbench.errors import TaskError, UsageError
from lmrbench.grading.library import grade
from lmrbench.integrations.lmr_bench import adapting, importing
from lmrbench.integrations.lmr_bench.importing import import_edition
from lmrbench.integrations.lmr_bench.inside.adapter import instance, loaded, reads_of_self, statements_for
from lmrbench.integrations.lmr_bench.paper_text import paper_markdown
from lmrbench.solving.task import OptionError, lmr_bench
from lmrbench.source.names import bound
from lmrbench.tasks.loading import load_suite
from lmrbench.tasks.submission import Submission
from lmrbench.tasks.workspace import workspace_files

POOLING = '''"""Pooling."""
import missing_package
from math import exp

WIDTH = 4


def smooth(values, strength):
    """A softened maximum."""
    pass


class Pool(missing_package.Base):
    def __init__(self, strength):
        self.strength = strength

    def forward(self, values):
        raise NotImplementedError

    def weights(self, values):
        return [1.0 for _ in values]
'''
SMOOTH = '''from math import exp, log


def _total(values, strength):
    return sum(exp(strength * value) for value in values)


def smooth(values, strength):
    """A softened maximum."""
    total = _total(values, strength)
    return log(total / len(values)) / strength
'''
# As it is printed without its class.
FORWARD = """
def forward(self, values):
    weighted = [weight * value for weight, value in zip(self.weights(values), values)]
    return sum(weighted) / max(1.0, self.strength * len(values))
"""
SECTIONS = [{"heading": "1 Method", "text": ["A softened maximum.", "It has a strength."]}]
TRAINERS = '''
import hydra_that_is_nowhere
import torch
import torch.nn.functional as F
from typing import Tuple
from preference_files import batches


def preference_loss(policy_chosen_logps: torch.FloatTensor,
                    policy_rejected_logps: torch.FloatTensor,
                    reference_chosen_logps: torch.FloatTensor,
                    reference_rejected_logps: torch.FloatTensor,
                    beta: float,
                    label_smoothing: float = 0.0,
                    ipo: bool = False,
                    reference_free: bool = False) -> Tuple[torch.FloatTensor, torch.FloatTensor, torch.FloatTensor]:
    """Losses and rewards of pairs."""
    BODY


class Trainer(hydra_that_is_nowhere.Trainer):
    pass
'''
BODY = """gain = policy_chosen_logps - reference_chosen_logps, policy_rejected_logps - reference_rejected_logps
    gap = policy_chosen_logps - policy_rejected_logps if reference_free else gain[0] - gain[1]
    if ipo:
        return (gap - 0.5 / beta).square(), beta * gain[0].detach(), beta * gain[1].detach()
    kept, flipped = F.logsigmoid(gap * beta), F.logsigmoid(gap * -beta)
    loss = (label_smoothing - 1) * kept - label_smoothing * flipped
    return loss, beta * gain[0].detach(), beta * gain[1].detach()"""


def implementation(function="smooth", **changes):
    return {
        "index": 0,
        "instruction": f'Implement "{function}".\nIts base is \\e.',
        "category": "Training Objective",
        "goal_file": "pool/pooling.py",
        "goal_function": function,
        "class_name": None,
        "golden_file": f"golden_files/{function}_golden.py",
        "retrieval_context": ["pool/other.py", "missing.py"],
        "unit_test_file": "unit_test/unit_test_1.py",
    } | changes


def benchmark(clone, name, implementations, repository, goldens, **changes):
    """A benchmark's folder of the edition's form."""
    folder = clone / "benchmark" / name
    info = {
        "instance_id": name,
        "paper_name": f"A Paper on {name}",
        "folder_name": name,
        "paper_url": "https://example.org/paper",
        "year": 2024,
        "repo_url": "https://example.org/code",
        "repo_folder_name": "code",
        "implementations": implementations,
    }
    files = {f"code/{path}": text for path, text in repository.items()}
    files |= {f"golden_files/{path}": text for path, text in goldens.items()}
    files["info.json"] = json.dumps(info | changes)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


POOL = {
    "pool/pooling.py": POOLING,
    "pool/other.py": "SIZE = 3\n",
    "pool/pooling_golden.py": SMOOTH,
    "unit_test/unit_test_1.py": "assert smooth([1.0], 1.0) == 1.0\n",
    "unit_test/expected.json": "[1.0]",
    "pool/__pycache__/pooling.cpython-311.pyc": "bytecode",
    "weights.pt": "weights",
}
GOLDENS = {"smooth_golden.py": SMOOTH, "forward_golden.py": FORWARD}


@pytest.fixture
def clone(tmp_path):
    """A clone with one good benchmark."""
    both = [implementation(), implementation("forward", class_name="Pool", goal_file="code/pool/pooling.py")]
    folder = benchmark(tmp_path / "clone", "3-Pool Ing", both, POOL, GOLDENS)
    paper = {"title": "Pools", "abstract": "We soften maxima.", "sections": SECTIONS}
    (folder / "paper.json").write_text(json.dumps(paper))
    return tmp_path / "clone"


def reasons(found):
    return "\n".join(f"{item.where}: {item.reason}" for item in (*found.left_out, *found.remarks))


def test_functions_and_methods_become_tasks_whose_masks_are_computed(clone, tmp_path):
    found = import_edition(clone, tmp_path / "suite")

    assert [(item.task, item.target, item.check) for item in found.tasks] == [
        ("pool_ing/smooth", "pool/pooling.py::smooth", ""),
        ("pool_ing/forward", "pool/pooling.py::Pool.forward", ""),
    ]
    smooth, forward = load_suite(tmp_path / "suite")
    assert smooth.category == "training_objectives"
    assert smooth.instruction.strip() == 'Implement "smooth".\nIts base is \\e.'
    assert smooth.context == ("pool/other.py",)
    golden = smooth.files.repository["pool/pooling.py"].decode()
    assert "total = _total(values, strength)" in golden
    assert "self.weights(values), values" in golden
    assert {*smooth.files.repository} == {"pool/pooling.py", "pool/other.py"}
    for task in (smooth, forward):
        shown = b"\n".join(workspace_files(task, "full").values())
        assert b"missing_package" in shown
        assert b"/ strength" not in shown
        assert b"weighted" not in shown
    assert "## Abstract\n\nWe soften maxima.\n\n## 1 Method\n\nA softened maximum." in smooth.files.summary
    assert "3-Pool Ing: weights.pt: weights" in reasons(found)
    assert "pool_ing/smooth: no check: the suite core has no task for this paper" in reasons(found)


def test_the_same_clone_gives_the_same_bytes(clone, tmp_path):
    for name in ("one", "two"):
        import_edition(clone, tmp_path / name)
    one, two = (
        {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
        for name in ("one", "two")
    )
    assert one == two


GOOD = {"fine_golden.py": "def fine(x):\n    return x * 3 + 1\n"}
CODE = {
    "mod.py": "def fine(x):\n    pass\n",
    "broken.py": "def fine(:\n",
    "large.py": f"def fine(x): pass\n#{' ' * (1 << 20)}",
}
AMISS: dict[str, dict[str, object]] = {
    "golden_file: golden_files/none.py: no such file": {"golden_file": "golden_files/none.py"},
    "golden_file: '../../../secret.py' is not a path inside": {"golden_file": "../../../secret.py"},
    "golden_file: None is not a path inside": {"golden_file": None},
    "goal_file: '/etc/passwd' is not a path inside": {"goal_file": "/etc/passwd"},
    "goal_file: 'code/../../x.py' is not a path inside": {"goal_file": "code/../../x.py"},
    "goal_file: none.py: no such file": {"goal_file": "none.py"},
    "goal_file: linked.py was left out": {"goal_file": "linked.py"},
    "goal_file: large.py was left out": {"goal_file": "large.py"},
    "broken.py: fine: the file can't be parsed: line 1": {"goal_file": "broken.py"},
    "mod.py: other: no such function": {"goal_function": "other"},
    "goal_function: 'mod.py::a b' is not of the form": {"goal_function": "a b"},
    "mod.py: Layer.fine: no such function; similar: fine": {"class_name": "Layer"},
    "category: unknown category 'Cooking'": {"category": "Cooking"},
    "instruction: missing": {"instruction": "  "},
    "the golden does not define fine; similar: fin": {"golden_file": "fin.py"},
    "stub.py: fine has no body": {"golden_file": "stub.py"},
    "bad.py: the golden can't be parsed": {"golden_file": "bad.py"},
    "golden_file: linked.py: no such file": {"golden_file": "linked.py"},
}


def test_each_implementation_that_can_not_be_asked_for_has_its_reason(tmp_path):
    usual: dict[str, object] = {"goal_file": "code/mod.py"}
    amiss = [implementation("fine", **(usual | changes)) for changes in AMISS.values()]
    goldens = {"fin.py": "def fin(x):\n    return 2\n", "bad.py": "def fine(:\n", "stub.py": "def fine(x):\n    ...\n"}
    clone = tmp_path / "clone"
    folder = benchmark(clone, "1-Amiss", [*amiss, 3, implementation("fine", **usual)], CODE, GOOD | goldens)
    (tmp_path / "secret.py").write_text("def fine(x):\n    return 'secret'\n")
    for place in ("code", "golden_files"):
        (folder / place / "linked.py").symlink_to(tmp_path / "secret.py")

    found = import_edition(clone, tmp_path / "suite")

    said = reasons(found)
    for reason in AMISS:
        assert reason in said
    assert "1-Amiss: linked.py: a link; not followed" in said
    assert "1-Amiss: large.py: larger than 1048576 bytes" in said
    assert [item.task for item in found.tasks] == ["amiss/fine"]
    written = b"".join(path.read_bytes() for path in (tmp_path / "suite").rglob("*") if path.is_file())
    assert b"secret" not in written


def test_each_benchmark_that_can_not_be_read_has_its_reason(tmp_path):
    clone = tmp_path / "clone"
    one = [implementation("fine", goal_file="mod.py")]

    def folder(name, **changes):
        return benchmark(clone, name, changes.pop("implementations", one), CODE, GOOD, **changes)

    folder("1-Fine", instance_id="same")
    folder("2-Twice", instance_id="same")
    (folder("3-No Facts") / "info.json").unlink()
    (folder("4-No Json") / "info.json").write_text("{")
    (folder("5-Deep") / "info.json").write_text("[" * 100_000)
    folder("6-No Year", year="soon")
    folder("7-No Address", paper_url="somewhere")
    folder("8-No Code", repo_folder_name="../1-Fine/code", implementations="none")
    folder("9-None", implementations=[])
    shutil.rmtree(folder("10-No Folder") / "code")
    (clone / "benchmark" / "11-Link").symlink_to(clone / "benchmark" / "1-Fine")
    (folder("12-Large") / "info.json").write_text(" " * (5 << 20))

    found = import_edition(clone, tmp_path / "suite")

    assert [item.task for item in found.tasks] == ["fine/fine"]
    said = {item.where: item.reason for item in found.left_out}
    for name, reason in {
        "2-Twice": "instance_id: 'same' is also the id of 1-Fine",
        "3-No Facts": "info.json: no such file",
        "4-No Json": "info.json: not valid JSON",
        "5-Deep": "info.json: not valid JSON",
        "6-No Year": "info.json: year: Input should be a valid integer",
        "7-No Address": "info.json: paper_url: ",
        "8-No Code": "no function can be imported",
        "9-None": "no function can be imported",
        "10-No Folder": "repo_folder_name: no folder 'code'",
        "11-Link": "is a symbolic link",
        "12-Large": "info.json: larger than",
    }.items():
        assert reason in said[name]


def test_copies_of_the_answer_are_left_out_or_named(clone, tmp_path):
    code = clone / "benchmark" / "3-Pool Ing" / "code"
    (code / "older.py").write_text(SMOOTH.replace("values", "ys").replace("strength", "power"))
    (code / "old.py").write_text(SMOOTH.replace("values", "xs").replace("def smooth", "def soft"))
    (code / "pool" / "again.py").write_text("def whole(x):\n    return 3 * x + 4 * x\n")
    one = implementation("whole", goal_file="pool/again.py", golden_file="whole.py", category="decoding")
    folder = benchmark(clone, "4-Copy", [one], {"pool/again.py": "", "copy.py": ""}, {})
    for path in ("code/pool/again.py", "code/copy.py", "golden_files/whole.py"):
        (folder / path).parent.mkdir(exist_ok=True)
        shutil.copy(code / "pool" / "again.py", folder / path)

    said = reasons(import_edition(clone, tmp_path / "suite"))

    assert "pool_ing: repo/older.py::smooth contains 100% of an answer" in said
    assert "pool_ing: repo/old.py::soft contains 100% of an answer" in said
    assert "4-Copy: copy.py: a copy of pool/again.py" in said


def test_nothing_half_made_is_left(clone, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(importing, "load_paper", interrupted)
    with pytest.raises(KeyboardInterrupt):
        import_edition(clone, tmp_path / "suite")
    assert os.listdir(tmp_path) == ["clone"]


@pytest.mark.parametrize("there", ["file", "full", "link"])
def test_what_is_there_is_not_touched(clone, tmp_path, there):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="is not empty"):
        import_edition(clone, tmp_path / there)
    assert (tmp_path / "full" / "mine").read_text() == (tmp_path / "file").read_text() == "mine"


def test_without_a_check_all_but_grading_works(clone, tmp_path):
    (tmp_path / "empty").mkdir()
    made = lmrbench("task", "import", "lmr-bench", clone, "--to", "empty", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "2 tasks imported" in made.stdout
    assert "empty: 2 tasks, of which 0 can be graded" in made.stdout
    assert "Left out" in made.stdout
    suite = ("--suite", tmp_path / "empty")
    assert "pool_ing/smooth" in lmrbench("list", *suite).stdout
    assert "there is no check to certify" in lmrbench("show", "pool_ing/smooth", *suite).stdout
    exported = lmrbench("export", "pool_ing", *suite, "--to", "work", cwd=tmp_path)
    assert exported.returncode == 0, exported.stderr
    goal = tmp_path / "work" / "pool_ing" / "smooth" / "repo" / "pool" / "pooling.py"
    goal.write_text(goal.read_text().replace('maximum."""\n    raise NotImplementedError', 'maximum."""\n    return 1'))
    answers = (tmp_path / "work" / "pool_ing" / "smooth", "--system", "me", "--to", "answers.jsonl")
    collected = lmrbench("collect", *answers, *suite, cwd=tmp_path)
    assert collected.returncode == 0, collected.stderr
    for command in (
        ("grade", "answers.jsonl"),
        ("grade", "--golden", "-t", "pool_ing/smooth"),
        ("run", "-t", "pool_ing/smooth"),
        ("task", "audit", "pool_ing/smooth"),
    ):
        refused = lmrbench(*command, *suite, cwd=tmp_path)
        assert refused.returncode == 2
        assert refused.stderr == "lmrbench: pool_ing/smooth has no check and can't be graded\n"
    assert not (tmp_path / "runs").exists()


def test_the_library_and_inspect_refuse_what_has_no_check(clone, tmp_path):
    import_edition(clone, tmp_path / "suite")
    tasks = load_suite(tmp_path / "suite")
    with pytest.raises(TaskError, match="pool_ing/smooth has no check"):
        grade([Submission(system="me", task="pool_ing/smooth", code="def smooth(): ...")], tasks=tasks)
    with pytest.raises(OptionError, match="pool_ing/smooth: no check"):
        lmr_bench(tasks="pool_ing/smooth", suite=str(tmp_path / "suite"))


def test_a_whole_method_needs_a_check(clone, tmp_path):
    import_edition(clone, tmp_path / "suite")
    table = tmp_path / "suite" / "pool_ing" / "task.toml"
    table.write_text(table.read_text().replace("check =", 'tier = "method"\ncheck ='))
    with pytest.raises(TaskError, match=r"task\[0\]\.check is empty; tasks of the tier method need a check"):
        load_suite(tmp_path / "suite")


def test_a_clone_without_tasks_writes_nothing(tmp_path):
    benchmark(tmp_path / "clone", "1-None", [], CODE, {})
    made = lmrbench("task", "import", "lmr-bench", "clone", "--to", "suite", cwd=tmp_path)
    assert made.returncode == 1
    assert "1-None" in made.stdout
    assert os.listdir(tmp_path) == ["clone"]
    no_clone = lmrbench("task", "import", "lmr-bench", tmp_path, "--to", "suite", cwd=tmp_path)
    assert (no_clone.returncode, no_clone.stderr.count("\n")) == (2, 1)


def preferences(clone, old="", new=""):
    """A benchmark like that of DPO, in whose code a text is replaced."""
    one = implementation("preference_loss", goal_file="trainers.py", golden_file="golden_files/loss.py")
    masked, golden = (TRAINERS.replace("BODY", body).replace(old or "BODY", new) for body in ("pass", BODY))
    address = "https://arxiv.org/pdf/2305.18290v2"
    return benchmark(clone, "24-DPO", [one], {"trainers.py": masked}, {"loss.py": golden}, paper_url=address)


@pytest.mark.torch
@pytest.mark.sandbox
def test_a_check_of_ours_observes_their_function_without_the_packages_of_their_repository(clone, tmp_path):
    preferences(clone)

    made = lmrbench("task", "import", "lmr-bench", clone, "--to", "suite", "--json", cwd=tmp_path)

    by_name = {item["task"]: item["check"] for item in json.loads(made.stdout)["tasks"]}
    assert by_name == {"pool_ing/smooth": "", "pool_ing/forward": "", "dpo/preference_loss": "dpo/preference_loss"}
    options = ("--suite", "suite", "--out", "run", "--json")
    graded = lmrbench("grade", "--golden", "--mask", *options, cwd=tmp_path)
    assert graded.returncode == 0, graded.stderr
    without = "pool_ing/smooth, pool_ing/forward have no check and can't be graded; left out"
    # A slow machine adds lines of progress.
    assert graded.stderr.startswith(f"lmrbench: {without}\n")
    grades = {item["system"]: item for item in json.loads(graded.stdout)["grades"]}
    assert grades["golden"]["correct"]
    assert not grades["mask"]["correct"]
    assert {case["verdict"] for case in grades["mask"]["cases"]} == {"error"}
    assert "experiment" not in {case["name"] for case in grades["golden"]["cases"]}
    wrong = BODY.replace("gap * beta), ", "gap), ")
    signature = TRAINERS.partition("def ")[2].partition("    BODY")[0]
    line = {"system": "wrong", "task": "dpo/preference_loss", "code": f"def {signature}    {wrong}\n"}
    (tmp_path / "wrong.jsonl").write_text(json.dumps(line) + "\n")
    (grade,) = json.loads(lmrbench("grade", "wrong.jsonl", "--suite", "suite", "--json", cwd=tmp_path).stdout)["grades"]
    assert not grade["correct"]
    assert {case["verdict"] for case in grade["cases"]} <= {"match", "mismatch"}


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("beta: float,", "weight: float,", "calls preference_loss(policy_chosen_logps, policy_rejected_logps"),
        ("beta: float,", "beta: float, scale: float,", "calls preference_loss(policy_chosen_logps"),
        ("gain = ", "batches(); gain = ", "can't observe a function that needs preference_files"),
        ("gain = ", "import einops; gain = ", "can't observe a function that needs einops"),
        ("gain = ", "from ..nowhere import x; gain = ", "can't observe a function that needs ."),
    ],
)
def test_a_function_that_our_check_can_not_observe_gets_none(clone, tmp_path, old, new, reason):
    preferences(clone, old, new)

    found = import_edition(clone, tmp_path / "suite")

    assert "dpo/preference_loss: no check: the check of dpo/preference_loss " in reasons(found)
    assert reason in reasons(found)


def test_modules_of_their_repository_may_be_needed_if_they_need_nothing_else(clone, tmp_path):
    folder = preferences(clone, "gain = ", "batches(); gain = ")
    (folder / "code" / "preference_files").mkdir()
    (folder / "code" / "preference_files" / "__init__.py").write_text("from .inner import batches\n")
    (folder / "code" / "preference_files" / "inner.py").write_text("import math\ndef batches(): return math.pi\n")
    assert "dpo/preference_loss" in {item.check for item in import_edition(clone, tmp_path / "suite").tasks}

    (folder / "code" / "preference_files" / "inner.py").write_text("import einops\ndef batches(): return 1\n")
    found = import_edition(clone, tmp_path / "other")
    assert "can't observe a function that needs einops" in reasons(found)


IGNORE = "You may ignore the following parameters: ipo, reference_free and label_smoothing."
LIST = "You may ignore these:\n- ipo\n- reference_free\n- label_smoothing\n\nReturn losses and rewards."
WHOLE = "Implement it with label_smoothing, ipo and reference_free. Beta is positive."
SHORT = """loss = F.logsigmoid(beta * (policy_chosen_logps - reference_chosen_logps
                                - policy_rejected_logps + reference_rejected_logps))
    return -loss, beta * (policy_chosen_logps - reference_chosen_logps), beta * (
        policy_rejected_logps - reference_rejected_logps)"""


@pytest.mark.torch
@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("instruction", "passes"), [(IGNORE, True), (LIST, True), ("Implement the loss.", True), (WHOLE, False)]
)
def test_a_check_asks_for_no_option_that_the_instruction_waives_or_does_not_name(clone, tmp_path, instruction, passes):
    folder = preferences(clone)
    info = json.loads((folder / "info.json").read_text())
    info["implementations"][0]["instruction"] = instruction
    (folder / "info.json").write_text(json.dumps(info))
    import_edition(clone, tmp_path / "suite")
    signature = TRAINERS.partition("def ")[2].partition("    BODY")[0]
    answer = Submission(system="me", task="dpo/preference_loss", code=f"def {signature}    {SHORT}\n")

    (found,) = grade([answer], tasks=load_suite(tmp_path / "suite"))

    assert found.correct is passes
    verdicts = {case.name: case.verdict for case in found.cases}
    assert {name for name, verdict in verdicts.items() if verdict != "match"} == (
        set() if passes else {"label_smoothing", "ipo", "reference_free"}
    )


@pytest.fixture(scope="module")
def papers():
    return {task.paper.slug: task.paper for task in core.ALL}


@pytest.fixture(scope="module")
def edition(papers, tmp_path_factory):
    """A clone with all the papers, unpacked as the README of the edition says, and its suite."""
    place = tmp_path_factory.mktemp("edition")
    write_edition(place / "clone" / "benchmark" / "datasets", papers)
    return import_edition(place / "clone", place / "suite"), place / "suite"


def test_every_task_of_the_edition_but_a_submodule_is_made_and_ten_can_be_graded(edition):
    found, _ = edition
    assert len(found.tasks) == 27
    assert sorted(item.check for item in found.tasks if item.check) == [
        "adalora/svd_linear",
        "bertscore/greedy_cos_idf",
        "dpo/preference_loss",
        "empathy_gaps/get_delta",
        "ergo/focal_loss",
        "gdpzero/find_best_action",
        "simclr/info_nce_loss",
        "simpo/simpo_loss",
        "spin/spin_loss",
        "tdpo/tdpo_loss",
    ]
    said = {item.where: item.reason for item in found.left_out}
    assert said.keys() == {"21-nsa", "1 of the tasks of core"}
    assert "a submodule, whose files are in another repository" in said["21-nsa"]
    assert said["1 of the tasks of core"] == "not imported: nsa/nsa; no readable folder for the papers nsa"
    without = {item.task for item in found.tasks if not item.check}
    assert {item.where for item in found.remarks} == without
    assert all("works only with the repository of that task" in item.reason for item in found.remarks)


def test_the_paper_is_found_in_the_research_code_and_does_not_stay_there(edition):
    _, suite = edition
    for task in load_suite(suite):
        assert f"A page about {task.paper.slug}.\n\nAnother page." in task.files.summary
        assert "paper.json" not in task.files.repository


def test_unit_tests_and_their_outputs_stay_behind_wherever_they_are(edition):
    found, suite = edition
    written = {path.relative_to(suite).as_posix(): path.read_bytes() for path in suite.rglob("*") if path.is_file()}
    tests = {path for path in written if "unit_test" in path}
    goals = {"unit_test/unit_test_1.py", "unit_test/helper.py"}
    assert tests == {f"{slug}/repo/{path}" for slug in ("dola", "repe", "cad") for path in goals}
    assert not any(path.endswith((".pkl", ".log", ".json")) for path in written)
    assert not any(b"secret" in data or POINTER.encode() in data for data in written.values())
    assert "pkl" not in reasons(found)


def test_categories_are_those_of_the_paper_or_of_the_suite_core(edition):
    found, _ = edition
    by_paper = {item.task.partition("/")[0]: item.category for item in found.tasks}
    assert by_paper["step_length"] == "prompting"
    assert by_paper["simpo"] == by_paper["spin"] == "training_objectives"
    assert by_paper["syn_chain"] == "information_extraction"
    assert by_paper["hit"] == "interpretability"


@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("Prompt Engineering & Instruction Tuning", "prompting"),
        ("Training Objectives & Optimization Techniques", "training_objectives"),
        ("Decoding and Search Algorithms", "decoding"),
        ("evaluation metric", "evaluation_metrics"),
        ("Feature Learning", "feature_learning"),
        ("Neural Architecture Design", "neural_architectures"),
        ("Data", "data_augmentation"),
        ("loss function", ""),
        ("", ""),
        ("Extraction of features", ""),
    ],
)
def test_a_category_by_its_words(edition, text, category):
    suite = load_suite(edition[1])[0].suite
    assert suite is not None
    if category:
        assert importing._category(text, suite, None) == category
    else:
        with pytest.raises(TaskError, match="unknown category"):
            importing._category(text, suite, None)


@pytest.mark.parametrize("place", ["benchmark/datasets", "benchmark", "datasets", ""])
@pytest.mark.parametrize("given", ["clone", "inner"])
def test_a_clone_in_every_layout(tmp_path, place, given):
    folder = benchmark(tmp_path / "made", "1-Fine", [], CODE, GOOD)
    one = implementation("fine", goal_file="datasets/1-Fine/code/mod.py")
    info = json.loads((folder / "info.json").read_text()) | {"implementations": [one]}
    (folder / "info.json").write_text(json.dumps(info))
    (tmp_path / "clone" / place / "__MACOSX" / "1-Fine").mkdir(parents=True)
    shutil.move(folder, tmp_path / "clone" / place / "1-Fine")
    source = tmp_path / "clone" if given == "clone" else tmp_path / "clone" / place

    found = import_edition(source, tmp_path / "suite")

    assert [item.task for item in found.tasks] == ["fine/fine"]
    assert "MACOSX" not in reasons(found)


def test_tests_outside_of_the_research_code_and_their_modules(tmp_path):
    one = implementation("fine", goal_file="unit_test/unit_test_1.py", unit_test_file="unit_test/unit_test_1.py")
    two = implementation("fine", goal_file="code/mod.py", golden_file="golden_files/fine_golden.py")
    folder = benchmark(tmp_path / "clone", "1-Fine", [one, two], CODE, GOOD)
    files = {
        "unit_test/unit_test_1.py": "from unit_test import near\nimport pickle, far\ndef fine(x):\n    pass\n",
        "unit_test/near.py": "from .deeper.own import start\n",
        "unit_test/deeper/own.py": "start = 1\n",
        "unit_test/other.py": "secret = 1\n",
        "unit_test/fine_golden.py": "secret = 1\n",
        "unit_test/output.pkl": "secret",
        "code/data/kept.pkl": "secret",
        "code/data/pointer.txt": POINTER,
        "code/deep/Unit-Tests3/test.py": "secret = 1\n",
        "code/unit_tests.py": "secret = 1\n",
        "code/unit.py": "kept = 1\n",
        "code/data/paper.json": "{}",
    }
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)

    found = import_edition(tmp_path / "clone", tmp_path / "suite")

    assert [item.target for item in found.tasks] == ["unit_test/unit_test_1.py::fine", "mod.py::fine"]
    assert {*load_suite(tmp_path / "suite")[0].files.repository} == {
        *("mod.py", "broken.py", "unit.py", "data/paper.json"),
        *("unit_test/unit_test_1.py", "unit_test/near.py", "unit_test/deeper/own.py"),
    }
    said = reasons(found)
    assert "1-Fine: data/kept.pkl: a pickle with inputs and outputs of unit tests" in said
    assert "1-Fine: data/pointer.txt: a Git LFS pointer; the clone lacks the file" in said


def test_an_empty_folder_is_a_submodule(clone, tmp_path):
    (clone / "benchmark" / "4-Linked").mkdir()
    found = import_edition(clone, tmp_path / "suite")
    assert "4-Linked: the folder is empty; it may be a submodule" in reasons(found)


@pytest.mark.torch
@pytest.mark.sandbox
def test_goldens_pass_and_masks_fail_in_every_check_of_the_edition(edition, tmp_path):
    _, suite = edition
    graded = lmrbench("grade", "--golden", "--mask", "--suite", suite, "--out", "run", "--json", cwd=tmp_path)
    assert graded.returncode == 0, graded.stderr
    grades = json.loads(graded.stdout)["grades"]
    assert len(grades) == 20
    for item in grades:
        assert item["correct"] is (item["system"] == "golden"), item
        assert len(item["cases"]) >= 5


@pytest.mark.torch
@pytest.mark.sandbox
def test_right_answers_in_other_words_pass_and_wrong_ones_fail(edition):
    _, suite = edition
    tasks = {task.paper.slug: task for task in load_suite(suite) if task.files.check}
    answers = {}
    for slug, (right, old, new) in ANSWERS.items():
        assert old in right
        for name, code in (("right", right), ("wrong", right.replace(old, new))):
            answers[slug, name] = Submission(system=name, task=tasks[slug].id, code=code)
    grades = grade(list(answers.values()), tasks=[*tasks.values()])
    assert {(item.task.partition("/")[0], item.system): item.correct for item in grades} == {
        (slug, name): name == "right" for slug, name in answers
    }


def test_an_attribute_that_no_check_sets_is_a_reason(tmp_path, papers):
    folder = write_edition(tmp_path / "clone" / "benchmark", {**papers})
    golden = next(folder.glob("*-spin/golden_files/*.py"))
    golden.write_text(golden.read_text().replace("gap * self.beta", "gap * self.config.scale * self.beta"))

    found = import_edition(tmp_path / "clone", tmp_path / "suite")

    said = {item.where: item.reason for item in found.remarks}
    assert "the check of spin/spin_loss does not set self.config.scale, which the function" in said["spin/spin_loss"]


def test_a_check_is_for_the_class_and_the_constructor_that_it_knows(tmp_path, papers):
    folder = write_edition(tmp_path / "clone" / "benchmark", papers)
    for golden in (*folder.glob("*-ergo/golden_files/*.py"), *folder.glob("*-ergo/code/src/*.py")):
        golden.write_text(golden.read_text().replace("size_average", "averaged"))
    info = next(folder.glob("*-simclr/info.json"))
    info.write_text(info.read_text().replace('"SimCLR"', '"OtherCLR"'))
    for golden in (*folder.glob("*-simclr/golden_files/*.py"), *folder.glob("*-simclr/code/src/*.py")):
        golden.write_text(golden.read_text().replace("class SimCLR", "class OtherCLR"))

    found = import_edition(tmp_path / "clone", tmp_path / "suite")

    said = {item.where: item.reason for item in found.remarks}
    assert "calls focal_loss with parameters that it does not have: size_average" in said["ergo/forward"]
    assert "observes SimCLR.info_nce_loss, not OtherCLR.info_nce_loss" in said["simclr/info_nce_loss"]


def test_what_an_audit_adds_to_a_check_takes_no_name_of_the_adapter():
    shared = {"cases"}
    ours = bound(ast.parse(adapting._ENDING.format(target=(), asked=()))) - shared
    for text in (mutation._RECORDED, fuzzing._WIDENED):
        assert not ours & bound(ast.parse(text.format(place="place", numbers=[], most=1)))
    assert not ours & bound(ast.parse(auditing._IN_DOUBLE_PRECISION))


def test_a_function_is_loaded_with_what_it_needs_alone(tmp_path, monkeypatch):
    text = (
        "from __future__ import annotations\nimport nowhere, math as m\nfrom typing import Any, List\n"
        "SCALE = 2\nOTHER = nowhere.x\nif SCALE > 1:\n    def helper(x): return m.floor(x) * SCALE\n"
        "def wanted(x: Any, other: nowhere.T=3) -> nowhere.T:\n    def inner(y): return helper(y)\n"
        "    return [inner(z) for z in x]\n"
    )
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "theirs.py").write_text(text)
    monkeypatch.chdir(tmp_path)

    assert loaded("deep/theirs.py", "wanted", ())([1.5, 2.5]) == [2, 4]
    kept = [ast.unparse(part) for part in statements_for(ast.parse(text), "wanted", ())]
    assert "import math as m" in kept
    assert not any("nowhere" in line for line in kept)


def test_a_method_is_loaded_with_what_it_reaches_alone(tmp_path, monkeypatch):
    (tmp_path / "theirs.py").write_text(
        "import nowhere\nfrom collections import UserDict as Base\n"
        "class Root(nowhere.Root):\n    rate = 2\n    def _more(self, x): return x + self.config.shift\n"
        "    def unused(self): return nowhere.x\n"
        "@nowhere.register\nclass Kind(Root, Base, metaclass=nowhere.Meta):\n"
        "    def __init__(self, x: nowhere.T): self.factor = nowhere.load(x)\n"
        "    def method(self, x: nowhere.T):\n        self.last = self._more(x) * self.rate * self.factor\n"
        "        return self.last, super().__len__()\n"
    )
    monkeypatch.chdir(tmp_path)
    kind = loaded("theirs.py", "Kind.method", ())
    made = instance(kind, factor=10, config=SimpleNamespace(shift=1), data={1: 2})
    assert made.method(2) == (60, 1)
    statements = statements_for(ast.parse((tmp_path / "theirs.py").read_text()), "Kind.method", ())
    assert reads_of_self(statements, "Kind") == ["factor", "config.shift"]


@pytest.mark.parametrize(
    "paper",
    [
        {"title": "T", "abstract": "We soften.", "sections": [{"title": "1 Method", "content": "Softly."}]},
        {"Abstract": ["We soften."], "1 Method": "Softly.", "References": "[1]"},
        {"abstract": {"text": "We soften."}, "sections": {"1 Method": {"paragraphs": ["Softly."]}}},
        [{"heading": "Abstract", "text": "We soften."}, {"heading": "1 Method", "text": "Softly."}],
        {
            "pdf_parse": {
                "abstract": [{"text": "We soften.", "section": "Abstract"}],
                "body_text": [{"text": "Softly.", "section": "1 Method"}],
            }
        },
    ],
    ids=["sections", "headings", "nested", "list", "paragraphs"],
)
def test_the_text_of_a_paper_in_its_usual_forms(paper):
    lines = [line.lstrip("# ") for line in paper_markdown(paper, "T").splitlines() if line]
    assert lines == ["T", "Abstract", "We soften.", "1 Method", "Softly."]


@pytest.mark.parametrize("paper", [None, 3, [], {}, {"title": "T"}, [[[[[[[[["deep"]]]]]]]]]])
def test_what_holds_no_text_is_the_title_alone_or_what_there_is(paper):
    assert paper_markdown(paper, "T") in ("# T\n", "# T\n\ndeep\n")
