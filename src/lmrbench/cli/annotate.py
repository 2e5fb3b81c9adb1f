"""`lmrbench annotate`: people label answers in a browser."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmrbench.cli.labels import answers_to_label
from lmrbench.cli.options import RunsArgument, SuiteOption, TasksOption
from lmrbench.cli.terminal import say, warn
from lmrbench.text import counted

if TYPE_CHECKING:
    from lmrbench.tasks.submission import Answer, Submission
    from lmrbench.web.annotation.queues import KnownVerdict


def annotate(
    runs: RunsArgument,
    annotator: Annotated[
        list[str], typer.Option("--annotator", metavar="NAME", help="Who labels; repeat it for each.")
    ],
    overlap: Annotated[int, typer.Option(min=1, help="How many annotators label each answer.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="Of who labels what, and in which order.")] = 0,
    task: TasksOption = None,
    calibration: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Answers with a known verdict, as JSON lines, which everyone labels first."),
    ] = None,
    to: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="Where labels and all that is done so far are kept.")
    ] = Path("annotation"),
    host: Annotated[
        str,
        typer.Option(
            help="Where the server listens. It speaks HTTP without TLS: elsewhere than on loopback, whoever sees the "
            "traffic can read the links and labels, so put it behind a proxy that has TLS."
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Which port; 0 for any that is free.")] = 7576,
    suite: SuiteOption = None,
) -> None:
    """Have people label answers in a browser: blinded, each with a queue of their own.

    Each annotator has a personal link, and so has who leads: there progress, agreement so far and disagreements are
    seen and settled. Every label is on the disk before its answer. The same command resumes; DIR/labels.jsonl is always
    up to date, for `lmrbench labels`, `agreement`, `report` and `view --labels`. Ctrl-C ends the server.
    """
    from lmrbench.files import locked
    from lmrbench.tasks.digests import suite_digest
    from lmrbench.web.annotation.app import Annotation, application
    from lmrbench.web.annotation.queues import check_annotators, draw_queues, items_of, read_known
    from lmrbench.web.annotation.store import LEAD, open_store
    from lmrbench.web.serving import listening, serve

    check_annotators(annotator, overlap)
    tasks, answers, chosen = answers_to_label(runs, suite, task)
    known = read_known(calibration, answers, tasks) if calibration else {}
    items = items_of({answer: answers[answer] for answer in chosen}, known, seed)
    shown = {item.answer.task for item in items.values()}
    asked = {
        "annotators": sorted(annotator),
        "overlap": overlap,
        "seed": seed,
        "runs": _digest(answers),
        "tasks": sorted({answer.task for answer in chosen}),
        "content of these tasks": f"SHA-256 {suite_digest(tasks[name] for name in shown)[:16]}",
        "calibration items": _digest_of_known(known),
    }
    queues = draw_queues(items, annotator, overlap, seed)
    calibrations = {name for name, item in items.items() if item.known}
    with locked(to), closing(open_store(to, asked, queues, calibrations)) as store, listening(host, port) as server:
        annotation = Annotation(to, store, items, tasks)
        if server.names == ["*"]:
            warn("this server has no TLS: whoever sees its traffic can read the links below, and label with them")
        counts = f"{counted(len(items) - len(calibrations), 'answer')}, {len(calibrations)} calibration items"
        say(f"{server.address}: {counts}, in {to}")
        say("Give each annotator their own link, and nobody another's. Ctrl-C ends it; the same command resumes.")
        for name, token in store.tokens().items():
            say(f"{'who leads' if name == LEAD else name}: {server.address}/enter/{token}")
        serve(application(annotation, server.names), server)


def _digest(answers: Mapping[Answer, Submission]) -> str:
    """What tells some answers from others, for people and for programs."""
    found = sorted([*answer, json.dumps(item.code, sort_keys=True)] for answer, item in answers.items())
    return f"{counted(len(found), 'answer')}, SHA-256 {hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]}"


def _digest_of_known(known: Mapping[Answer, tuple[KnownVerdict, Submission]]) -> str:
    texts = [f"{answer}: {item.model_dump_json()}" for answer, (item, _) in known.items()]
    return f"{len(texts)}, SHA-256 {hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:16]}" if texts else "none"
