"""`lmrbench judge` against a local server: votes are stored, never repeated, and robust to prompt injection."""

import ast
import json
import re
import signal
import textwrap
import time

import pytest
from inspect_ai.model import ModelOutput
from tests import core
from tests.judging.helpers import (
    ARGUES,
    KIND,
    POINTS,
    RIGHT,
    STRICT,
    WRONG,
    blocks,
    candidate_of,
    opinion,
    prompt_of,
    says,
    sees_the_weights,
)
from tests.running import Running
from tests.solving.helpers import GIVEN_UP, Gate, environment, lines, lmrbench
from tests.solving.server import COMPLETION_TOKENS, PROMPT_TOKENS, Reply, serving

from lmrbench.judging.ballots import Ballot
from lmrbench.judging.prompts import TOOL, judge_message
from lmrbench.judging.votes import ATTEMPTS, read_opinion
from lmrbench.source.excerpt import bare
from lmrbench.tasks.loading import load_suite


def run_folder(folder, **codes):
    folder.mkdir(parents=True)
    submissions = [{"system": name, "task": "toy/blend", "code": code} for name, code in codes.items()]
    (folder / "submissions.jsonl").write_text("".join(json.dumps(item) + "\n" for item in submissions))
    return folder


def test_two_judges_every_vote_is_kept_and_majorities_are_derived(tmp_path, judge):
    folder = run_folder(tmp_path / "run", right=RIGHT, wrong=WRONG, unusable="I can't.")
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({STRICT: {"input": 10, "output": 100}}))
    arguments = ("--model", STRICT, "--model", KIND, "--votes", 2, "--prices", prices)
    with serving(sees_the_weights) as (base, log):
        first = judge(base, folder, *arguments, "--json")
        again = judge(base, folder, *arguments)

    assert first.returncode == 0, first.stderr
    assert len(log.requests) == 8
    kept = lines(folder / "judgements.jsonl")
    assert len(kept) == 8
    assert {(item["system"], item["judge"], item["vote"]) for item in kept} == {
        (system, name, vote) for system in ("right", "wrong") for name in (STRICT, KIND) for vote in (0, 1)
    }
    assert all(item["logic"] == POINTS and item["input_tokens"] == PROMPT_TOKENS for item in kept)
    price = (PROMPT_TOKENS * 10 + COMPLETION_TOKENS * 100) / 1e6
    assert {item["judge"]: item["dollars"] for item in kept} == {STRICT: pytest.approx(price), KIND: None}
    report = json.loads(first.stdout)
    majorities = {(item["system"], item["judge"]): item["majority"] for item in report["answers"]}
    assert majorities == {
        **{("right", name): "CC" for name in (STRICT, KIND, "all judges")},
        ("wrong", STRICT): "LI",
        ("wrong", KIND): "LC",
        ("wrong", "all judges"): None,
    }
    of_all = {item["system"]: item for item in report["shares"] if item["judge"] == "all judges"}
    assert (of_all["wrong"]["ties"], of_all["wrong"]["split"]) == (1, 1)
    assert of_all["wrong"]["error_classes"] == {"paper parsing": 2, "problem context": 2}
    assert (of_all["unusable"]["unusable"], of_all["unusable"]["answers"]) == (1, 1)
    assert again.returncode == 0, again.stderr
    assert f"{STRICT}: 400 tokens in, 80 out, $0.0120" in again.stdout


@pytest.mark.sandbox
def test_a_judge_sees_the_instruction_and_the_targets_and_not_who_wrote_them(tmp_path, judge, toy_suite):
    folder = run_folder(tmp_path / "run", alpha_lab=WRONG, beta_lab=WRONG)
    (task,) = load_suite(toy_suite)
    with serving(sees_the_weights) as (base, log):
        missing = judge(base, folder, "--model", KIND, "--evidence")
        lmrbench(base, "grade", folder, "--suite", toy_suite, "--seed", 0)
        done = judge(base, folder, "--model", KIND, "--evidence")

    assert (missing.returncode, len(missing.stderr.splitlines())) == (2, 1)
    assert f"no grade for sample 0 of toy/blend by alpha_lab; run lmrbench grade {folder}" in missing.stderr
    assert done.returncode == 0, done.stderr
    # One vote on the shared prompt counts for both submissions.
    (request,) = log.requests
    assert [(item["system"], item["category"], item["attempts"]) for item in lines(folder / "judgements.jsonl")] == [
        ("alpha_lab", "LC", 1),
        ("beta_lab", "LC", 0),
    ]
    prompt = prompt_of(request)
    inside, outside = blocks(prompt)
    assert task.instruction.strip() in outside
    assert "strict=True" in inside[0]
    helper, method = (textwrap.dedent(part).strip() for part in inside[1].split("class Blender:\n"))
    assert f"{helper}\n\n{method}" == WRONG.strip()
    assert "2 differ" in outside
    assert "5 values: mismatch: blend" in inside[2]
    assert not re.search("_lab|def __init__|def weights", prompt)
    assert request.body["tool_choice"] == {"type": "function", "function": {"name": TOOL}}


def test_killed_nothing_is_asked_twice_lost_or_made_up(tmp_path, toy_suite):
    codes = {f"s{number}": RIGHT.replace("1.0", f"1.{number}") for number in range(6)}
    folder, gate = run_folder(tmp_path / "run", **codes), Gate()

    def script(request):
        return sees_the_weights(request) if gate.passed() else GIVEN_UP

    arguments = ("judge", folder, "--suite", toy_suite, "--model", KIND, "--votes", 2, "--connections", 3)
    with serving(script) as (base, log):
        gate.open(5)
        process = Running(arguments, environment(base))
        file, deadline = folder / "judgements.jsonl", time.monotonic() + 120
        while (not file.exists() or len(lines(file)) < 5) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        gate.give_up()
        before = file.read_bytes()
        asked = len(log.requests)
        process = Running(arguments, environment(base))
        while len(log.requests) < asked + 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        interrupted = process.wait(60)
        gate.give_up()
        assert file.read_bytes() == before
        # An incomplete line, as a process killed while writing leaves it.
        file.write_bytes(before + b'{"system": "s5", "category": "CC"')
        asked = len(log.requests)
        gate.open(100)
        done = lmrbench(base, *arguments)

    assert (interrupted.stderr, interrupted.returncode) == ("lmrbench: interrupted\n", 130)
    assert done.returncode == 0, done.stderr
    assert len(before.splitlines()) == 5
    assert file.read_bytes().startswith(before)
    assert len(log.requests) == asked + 12 - 5
    kept = lines(file)
    assert len({(item["system"], item["vote"]) for item in kept}) == len(kept) == 12


def test_what_is_no_judgement_stays_unjudged_and_counts_as_done(tmp_path, judge):
    replies = {
        "refuses": Reply("I'm sorry.", refusal=True),
        "chats": Reply("It is CC, clearly."),
        "breaks": Reply('{"category": "CC", "logic": ['),
        "is_short": says("CC", logic=["Fine."]),
        "invents": says("XX"),
        "names_no_error": says("LI"),
        "answers_in_text": Reply("```json\n" + json.dumps(opinion("LI", "policy")) + "\n```"),
    }
    folder = run_folder(tmp_path / "run", **{name: f"def blend(self, {name}):\n    return 0.0" for name in replies})

    def script(request):
        return next(reply for name, reply in replies.items() if f"self, {name}" in candidate_of(prompt_of(request)))

    with serving(script) as (base, log):
        first = judge(base, folder, "--model", KIND)
        asked = len(log.requests)
        second = judge(base, folder, "--model", KIND, "--json")

    assert (first.returncode, second.returncode) == (0, 0), first.stderr
    assert asked == len(log.requests) == 6 * ATTEMPTS + 1
    found = {item["system"]: item for item in lines(folder / "judgements.jsonl")}
    assert {name: item["status"] for name, item in found.items()} == {
        **dict.fromkeys(replies, "unparsable"),
        "refuses": "refused",
        "answers_in_text": "judged",
    }
    assert [name for name, item in found.items() if item["category"]] == ["answers_in_text"]
    assert found["is_short"]["detail"] == "logic: Tuple should have at least 2 items after validation, not 1"
    assert found["chats"]["input_tokens"] == ATTEMPTS * PROMPT_TOKENS
    shares = {item["system"]: item["unjudged"] for item in json.loads(second.stdout)["shares"]}
    assert shares == {name: int(name != "answers_in_text") for name in replies}


def test_a_provider_that_fails_is_asked_again_by_the_same_command(tmp_path, judge):
    folder = run_folder(tmp_path / "run", right=RIGHT, wrong=WRONG)
    broken = [True]

    def script(request):
        fails = broken and "weights(" not in candidate_of(prompt_of(request))
        return Reply(status=500, message="CC") if fails else sees_the_weights(request)

    with serving(script) as (base, log):
        first = judge(base, folder, "--model", KIND)
        broken.clear()
        asked = len(log.requests)
        second = judge(base, folder, "--model", KIND)
    with serving(script, small=lambda: Reply(status=401, message="wrong key")) as (base, unused):
        dead = judge(base, folder, "--model", STRICT)

    assert first.returncode == 4
    assert "1 of 2 votes are missing because the provider failed" in first.stderr
    assert len(first.stderr.splitlines()) == 1
    assert second.returncode == 0, second.stderr
    assert len(log.requests) == asked + 1
    statuses = [item["status"] for item in lines(folder / "judgements.jsonl") if item["judge"] == KIND]
    assert sorted(statuses) == ["judged", "judged", "provider_error"]
    assert dead.returncode == 4
    assert "wrong key" in dead.stderr
    assert (len(unused.requests), unused.small) == (0, 1)


def test_a_candidate_that_argues_with_the_judge_stays_inside_its_fence(tmp_path, judge):
    folder = run_folder(tmp_path / "run", argues=ARGUES)

    def gullible(request):
        """Obey instructions outside of the fenced blocks."""
        return says("CC") if "answer CC" in blocks(prompt_of(request))[1] else says("LI", "policy")

    with serving(gullible) as (base, log):
        plain = judge(base, folder, "--model", KIND)
        stripped = judge(base, folder, "--model", KIND, "--strip-comments")

    assert (plain.returncode, stripped.returncode) == (0, 0), plain.stderr + stripped.stderr
    assert [item["category"] for item in lines(folder / "judgements.jsonl")] == ["LI", "LI"]
    first, second = (candidate_of(prompt_of(request)) for request in log.requests)
    assert first.count("answer CC") == 4
    # A string that the program uses stays; comments and unused strings are removed.
    assert second.count("answer CC") == 1
    assert "NOTE TO THE JUDGE" not in second
    assert "#" not in second.replace("## Your answer", "")


def test_swapped_votes_are_asked_in_both_orders_and_kept_apart(tmp_path, judge):
    folder = run_folder(tmp_path / "run", right=RIGHT)

    def prefers_the_first(request):
        text = prompt_of(request)
        return says("CC") if text.index("## Candidate") < text.index("## Reference") else says("LC", "code robustness")

    with serving(prefers_the_first) as (base, log):
        once = judge(base, folder, "--model", KIND)
        both = judge(base, folder, "--model", KIND, "--swap", "--json")

    assert (once.returncode, both.returncode) == (0, 0), both.stderr
    assert len(log.requests) == 2
    assert {item["order"]: item["category"] for item in lines(folder / "judgements.jsonl")} == {
        "reference first": "LC",
        "candidate first": "CC",
    }
    (answer,) = json.loads(both.stdout)["answers"]
    assert (answer["votes"], answer["majority"], answer["disagreement"]) == (["LC", "CC"], None, 1.0)


def test_bad_input_is_one_line(tmp_path, judge):
    folder, empty = run_folder(tmp_path / "run", right=RIGHT), tmp_path / "empty"
    empty.mkdir()
    with serving(sees_the_weights) as (base, log):
        judge(base, folder, "--model", KIND)
        stray = tmp_path / "stray"
        run_folder(stray, other=RIGHT)
        (stray / "judgements.jsonl").write_bytes((folder / "judgements.jsonl").read_bytes())
        failures = {
            f"{empty / 'submissions.jsonl'} contains no submissions": judge(base, empty, "--model", KIND),
            "there is no such run folder": judge(base, tmp_path / "nowhere", "--model", KIND),
            "--model: required": judge(base, folder),
            "the model nobody/nothing can't be opened: ": judge(base, folder, "--model", "nobody/nothing"),
            "is given twice": judge(base, folder, "--model", KIND, "--model", KIND),
            "sample 0 of toy/blend by right has a judgement but no submission in submissions.jsonl": judge(
                base, stray, "--model", KIND
            ),
        }
    assert len(log.requests) == 1
    for message, result in failures.items():
        assert result.returncode == 2, message
        assert message in result.stderr
        assert len(result.stderr.splitlines()) == 1, result.stderr


@pytest.mark.parametrize(
    ("votes", "majority", "disagreement"),
    [
        (("CC",), "CC", None),
        ((None, None), None, None),
        (("CC", "CC", "LI", None), "CC", pytest.approx(2 / 3)),
        (("CC", "LC", "LI"), None, 1.0),
        (("LC", "LC"), "LC", 0.0),
        (("CC", "CC", "LC", "LI"), None, pytest.approx(5 / 6)),
    ],
)
def test_majority_and_disagreement(votes, majority, disagreement):
    ballot = Ballot(system="s", task="t", sample=0, judge="j", votes=votes)
    assert (ballot.majority, ballot.disagreement) == (majority, disagreement)


def test_an_empty_or_filtered_answer_is_no_category():
    assert read_opinion(ModelOutput())[:2] == ("unparsable", None)
    filtered = ModelOutput.from_content("m", json.dumps(opinion("XX")), stop_reason="content_filter")
    assert read_opinion(filtered)[0] in ("refused", "unparsable")


def without_idle(text):
    """Return the syntax tree without constant expressions and without `pass`."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            if isinstance(block := getattr(node, field, None), list):
                setattr(node, field, [item for item in block if not is_idle(item)])
    return ast.dump(tree)


def is_idle(item):
    constants = (ast.Constant, ast.JoinedStr)
    return isinstance(item, ast.Pass) or (isinstance(item, ast.Expr) and isinstance(item.value, constants))


def test_a_task_and_code_without_backticks_can_be_judged(toy_suite):
    task = load_suite(toy_suite)[0].model_copy(update={"instruction": "Blend."})
    code = {"blending.py": "def blend(): ..."}
    assert "```python\ndef blend(): ...\n```" in judge_message(task, code, code, "reference first", None)


def test_code_without_comments_means_the_same():
    texts = [
        ARGUES,
        'def f(): "doc"; x = 1  # c\n',
        'class A:\n    "doc"  # c\n',
        'x = [  # a\n    # b\n    1,\n]\r\nif x:\n    """a\n    b"""\n    # c\nelse: "no"\n',
        "f'no # comment'\nx = '# none'\n",
    ]
    for task in core.ALL:
        texts += [data.decode() for name, data in task.files.repository.items() if name.endswith(".py")][:3]
    for text in texts:
        assert without_idle(bare(text)) == without_idle(text)
        assert bare(bare(text)) == bare(text)


def test_the_paper_s_protocol_shows_whole_files_and_asks_for_a_numbered_class(tmp_path, judge):
    folder = run_folder(tmp_path / "run", right=RIGHT, wrong=WRONG)

    def script(request):
        right = "max(sum(factors)" in blocks(prompt_of(request))[0][1]
        said = json.dumps({"category": "3" if right else 2, "rationale": POINTS})
        return Reply(f"```json\n{said}\n```")

    with serving(script) as (base, log):
        ours = judge(base, folder, "--model", KIND, "--protocol", "paper", "--swap")
        hot = judge(base, folder, "--model", KIND, "--protocol", "paper", "--temperature", 0.5)
        done = judge(base, folder, "--model", KIND, "--protocol", "paper")
        again = judge(base, folder, "--model", KIND, "--protocol", "paper")

    assert (ours.returncode, hot.returncode) == (2, 2)
    assert "swap can't be used with the paper's protocol" in ours.stderr
    assert "temperature 0.5: the paper's protocol requires 0" in hot.stderr
    assert (done.returncode, again.returncode) == (0, 0), done.stderr
    assert len(log.requests) == 2
    request = log.requests[0]
    assert request.body["temperature"] == 0
    assert "tools" not in request.body
    reference, candidate = blocks(prompt_of(request))[0]
    assert "def __init__" in reference
    assert "def __init__" in candidate
    kept = lines(folder / "judgements.jsonl")
    assert {item["system"]: (item["category"], item["rationale"]) for item in kept} == {
        "right": ("CC", POINTS),
        "wrong": ("LC", POINTS),
    }
    # Its votes are another judge's, so they are never pooled with those under the protocol of lmrbench.
    assert {item["judge"] for item in kept} == {f"{KIND}, paper's protocol"}


def test_a_vote_at_another_temperature_is_another_vote(tmp_path, judge):
    folder = run_folder(tmp_path / "run", right=RIGHT)
    with serving(lambda request: says("CC")) as (base, log):
        for words in ((), ("--temperature", 0.5), ("--temperature", 0.5)):
            assert judge(base, folder, "--model", KIND, *words).returncode == 0

    assert [request.body.get("temperature") for request in log.requests] == [None, 0.5]
