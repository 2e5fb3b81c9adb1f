"""Helpers of the tests of solving: scripts that know the answers, and the command line with a local server."""

import json
import os
import threading

from inspect_ai.model import ModelOutput, ModelUsage, get_model
from tests import running, toy
from tests.solving.server import Reply

from lmrbench.models.reachability import SMALL_REQUEST

MODEL = "openai-api/local/model"
# The papers of the fixture `papers`, each with one task, and that whose targets are in two files.
SLUGS = ("toy", "other", *(f"paper{number}" for number in range(11)), "both")
IN_TWO_FILES = "both"
USAGE = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)


def goldens(slug):
    """Return the goal files of a paper's reference by name."""
    repository = toy.FOLDER / "toy" / "repo"
    names = ("blending.py", "weighting.py") if slug == IN_TWO_FILES else ("blending.py",)
    return {name: (repository / name).read_text().replace("Blender", toy.class_of(slug)) for name in names}


def golden(slug):
    """Return the goal files of a paper's reference, concatenated."""
    return "\n\n".join(goldens(slug).values())


def target_of(slug):
    """Return the masked method of a paper, as an instruction names it."""
    return f"blending.py::{toy.class_of(slug)}.blend"


def asked_for(request):
    """Return the slug of the paper that a request is about."""
    return next(slug for slug in SLUGS if f"`{target_of(slug)}`" in request.text)


def chosen(papers, *slugs):
    """Return the options that choose papers of a suite."""
    return ("--suite", papers, *(word for slug in slugs for word in ("--task", slug)))


def fenced(code):
    return f"Here it is:\n\n```python\n{code}\n```\n"


def replies_of(request):
    """Return the number of replies in a conversation so far."""
    return sum(message.get("role") == "assistant" for message in request.messages)


def mock(texts):
    """Return a model that answers with these texts in turn, and with OK to the small request."""
    left = iter(texts)

    def output(messages, *_):
        small = messages[0].text == SMALL_REQUEST
        said = ModelOutput.from_content("mockllm/model", "OK" if small else next(left))
        said.usage = USAGE
        return said

    return get_model("mockllm/model", custom_outputs=output)


def lmrbench(base, *arguments, timeout=1200):
    """Run lmrbench with a local server as the provider."""
    return running.lmrbench(*arguments, env=environment(base), timeout=timeout)


def environment(base):
    return {**os.environ, "LOCAL_API_KEY": "key", "LOCAL_BASE_URL": base, "NO_PROXY": "127.0.0.1"}


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


class Gate:
    """Lets a number of requests pass, and blocks others until it is opened further or abandons them."""

    def __init__(self):
        self.changed = threading.Condition()
        self.left = 0
        self.generation = 0

    def open(self, count):
        with self.changed:
            self.left += count
            self.changed.notify_all()

    def give_up(self):
        """Abandon the waiting requests, whose process is dead."""
        with self.changed:
            self.left = 0
            self.generation += 1
            self.changed.notify_all()

    def passed(self):
        """Wait for the gate; return False if the request was abandoned."""
        with self.changed:
            generation = self.generation
            self.changed.wait_for(lambda: self.left > 0 or self.generation != generation)
            if self.generation != generation:
                return False
            self.left -= 1
            return True


GIVEN_UP = Reply(status=500)
