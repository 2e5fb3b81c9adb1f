"""How probable a model finds a text: a tiny model against a computation by hand, a server, and the command."""

import json
import math
from http.server import BaseHTTPRequestHandler

import pytest
from tests.http_server import serving
from typer.testing import CliRunner

from lmrbench.cli import app
from lmrbench.errors import ServiceError, UsageError
from lmrbench.report.familiarity import Familiarity, correlations
from lmrbench.report.token_probabilities import of_local_model, of_server

TEXT = "the cat saw the dog and the dog saw the cat and ran"


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory):
    # Imported here, because it takes seconds.
    torch = pytest.importorskip("torch", reason="NOT TESTED: torch is not installed")
    pytest.importorskip("transformers", reason="NOT TESTED: transformers is not installed")
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("model")
    words = ["?", *dict.fromkeys(TEXT.split())]
    tokenizer = Tokenizer(models.WordLevel({word: place for place, word in enumerate(words)}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?").save_pretrained(folder)
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=len(words), n_positions=64, n_embd=16, n_layer=2, n_head=2, initializer_range=0.8)
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder, words


def by_hand(folder, words, text, window):
    """Token by token, each with as much before it as its window holds."""
    import torch
    from transformers import GPT2LMHeadModel

    model = GPT2LMHeadModel.from_pretrained(folder).eval()
    tokens = [words.index(word) for word in text.split()]
    found, fresh = [], window
    for place in range(1, len(tokens)):
        if place >= fresh:
            start, fresh = fresh - window // 2, fresh - window // 2 + window
        elif place == 1:
            start = 0
        with torch.no_grad():
            logits = model(torch.tensor([tokens[start:place]])).logits[0, -1]
        found.append(logits.softmax(dim=-1)[tokens[place]].item())
    return found


@pytest.mark.parametrize(("window", "batch"), [(64, 1), (4, 1), (4, 3), (5, 2), (2, 8), (10_000, 4)])
def test_a_local_model_as_by_hand(tiny_model, window, batch):
    folder, words = tiny_model
    expected = by_hand(folder, words, TEXT, min(window, 64))
    found = of_local_model(str(folder), window, batch, "cpu")(TEXT)
    assert found == pytest.approx(expected, rel=1e-4)
    assert len(set(found)) > 5


def test_texts_that_are_too_short_have_none(tiny_model):
    probabilities = of_local_model(str(tiny_model[0]), 8, 2, "cpu")
    assert probabilities("") == probabilities("the") == []


@pytest.mark.slow
def test_a_model_that_is_not_there_is_one_line(tmp_path):
    pytest.importorskip("transformers", reason="NOT TESTED: transformers is not installed")
    with pytest.raises(UsageError, match="nowhere: the model cannot be loaded"):
        of_local_model(str(tmp_path / "nowhere"), 8, 1, "cpu")


class Completions(BaseHTTPRequestHandler):
    """Finds a word of n letters n / 20 probable; the word that it adds itself must not count."""

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt, offset, tokens, scores, offsets = request["prompt"], 0, [], [], []
        for word in (prompt + " continued").split(" "):
            tokens.append(word)
            scores.append(None if not offset else math.log((len(word) or 1) / 200))
            offsets.append(offset)
            offset += len(word) + 1
        logprobs = {"tokens": tokens, "token_logprobs": scores, "text_offset": offsets, "top_logprobs": None}
        choice = {"index": 0, "text": prompt, "finish_reason": "length"}
        choice["logprobs"] = logprobs if request.get("echo") and request["model"] == "good" else None
        answer = {"id": "1", "object": "text_completion", "created": 0, "model": request["model"], "choices": [choice]}
        data = json.dumps(answer).encode()
        self.send_response(200 if request["model"] != "broken" else 400)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with serving(Completions) as address:
        yield f"{address}/v1"


def test_a_server_is_asked_for_the_prompt_alone(server):
    assert of_server(server, "good")("a bbb cccc") == pytest.approx([3 / 200, 4 / 200])
    for model, words in (("mute", "returns no log-probabilities"), ("broken", "400")):
        with pytest.raises(ServiceError, match=words):
            of_server(server, model)("a bbb")


def test_the_command_shows_files_and_their_copies(server):
    result = CliRunner().invoke(
        app, ["analyse", "familiarity", "good", "--server", server, "--task", "step_length", "--json"]
    )
    assert result.exit_code == 0, result.output
    files = json.loads(result.stdout)["files"]
    assert [item["file"] for item in files] == ["run_inference.py", "steps.py"]
    assert all(0 < item["as_written"] < 1 and item["as_written"] != item["renamed"] for item in files)
    result = CliRunner().invoke(app, ["analyse", "familiarity", "mute", "--server", server, "--task", "dpo"])
    assert result.exit_code != 0


def test_a_local_model_beside_a_run(tiny_model, grade, tmp_path):
    tasks = ["dpo/preference_loss", "nsa/nsa", "simclr/info_nce_loss"]
    grades = [grade("one", task, task.startswith("nsa")) for task in tasks]
    (tmp_path / "grades.jsonl").write_text("".join(item.model_dump_json() + "\n" for item in grades))
    chosen = [word for task in tasks for word in ("--task", task)]
    result = CliRunner().invoke(
        app, ["analyse", "familiarity", str(tiny_model[0]), str(tmp_path), *chosen, "--window", "64"]
    )
    assert result.exit_code == 0, result.output
    assert (
        "one: correlation of success with familiarity (probability as written minus renamed) over 3 tasks: "
        "Spearman's rho" in result.output
    )
    missing = ["analyse", "familiarity", str(tiny_model[0]), "--device", "cuda:7", "--task", "dpo"]
    assert "the model cannot be loaded" in str(CliRunner().invoke(app, missing).exception)


def test_success_against_familiarity(grade):
    levels = {"a": 0.1, "b": 0.3, "c": 0.2, "d": 0.5}
    found = [
        Familiarity(task=f"{name}/f", file="x.py", tokens=9, as_written=0.5 + level, renamed=0.5)
        for name, level in levels.items()
    ]
    passes = {"a": [0, 0], "b": [1, 0], "c": [0, 1], "d": [1, 1]}
    grades = [
        grade("one", f"{name}/f", bool(passed), sample=sample)
        for name, of_samples in passes.items()
        for sample, passed in enumerate(of_samples)
    ]
    grades += [grade("all", f"{name}/f", True) for name in levels] + [grade("few", "a/f", True)]
    one, everything, few = correlations(found, grades)
    # Ranks 1, 3, 2, 4 against 1, 2.5, 2.5, 4.
    assert one.rho == pytest.approx(4.5 / math.sqrt(5 * 4.5))
    assert (everything.rho, few.rho) == (None, None)
    assert everything.problem == "all tasks have the same share of correct answers"
    assert few.problem == "fewer than three tasks"
