"""The viewer: web pages that show runs, answers, tasks and the suite.

No part of a URL is used as a path. Runs are addressed by number; answers and tasks are looked up in loaded data, and
static files in a fixed table. Untrusted code is parsed and compared in threads, so an answer that takes long to
parse does not delay other pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from anyio.to_thread import run_sync
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from lmrbench.authoring.audit.certificate import read_certificate
from lmrbench.errors import LmrbenchError
from lmrbench.runs.index import RunIndex
from lmrbench.tasks.model import Task
from lmrbench.tasks.submission import Answer
from lmrbench.tasks.workspace import instruction, target_texts, unsolved_files
from lmrbench.web.answers import compare_answers, compare_with_repository, submitted_files
from lmrbench.web.code import highlighted
from lmrbench.web.matrix import cells_of, paged, parsed_number, total
from lmrbench.web.prose import prose
from lmrbench.web.serving import HEADERS, error_handler, page, sequential, static
from lmrbench.web.transcripts import TranscriptServers

# The number of systems (columns) and tasks (rows) per page of a run.
SYSTEMS, TASKS = 8, 50
# The maximum number of other answers that the page of an answer links to.
_MOST_OTHERS = 200
STATUSES = ("robust", "correct", "wrong", "unanswered")


class Viewer:
    """The endpoints of the viewer and the data that they show."""

    def __init__(self, runs: Sequence[RunIndex], tasks: Mapping[str, Task], show_reference: bool) -> None:
        """Create a viewer.

        Args:
            runs: The runs; their positions are their numbers in URLs.
            tasks: The tasks of the suite by id.
            show_reference: Whether pages of answers show the reference, which must be hidden from annotators and
                solvers.
        """
        self.runs = runs
        self.tasks = tasks
        self.show_reference = show_reference
        self.transcripts = TranscriptServers()

    def run_of(self, request: Request) -> tuple[int, RunIndex]:
        """Find the run whose number is in a URL, and refresh its index.

        Args:
            request: A request whose path contains the number of the run.

        Returns:
            The number and the run.

        Raises:
            HTTPException: There is no such run.
        """
        number = int(request.path_params["run"])
        if not 0 <= number < len(self.runs):
            raise HTTPException(404, "There is no run with this number.")
        self.runs[number].refresh()
        return number, self.runs[number]

    def answer_of(self, request: Request, run: RunIndex, key: str = "") -> Answer:
        """Find the answer whose system, task and sample are in a URL.

        Args:
            request: A request whose query contains `system`, `task` and `sample`.
            run: The run of the answer.
            key: A prefix of the parameters `system` and `sample` in the query, such as "left_".

        Returns:
            The answer.

        Raises:
            HTTPException: The run has neither a grade nor a usage record for the answer.
        """
        query = request.query_params
        sample = parsed_number(query.get(f"{key}sample", "0"), -1)
        answer = Answer(query.get(f"{key}system", ""), query.get("task", ""), sample)
        if answer not in run.entries and answer not in run.usages:
            raise HTTPException(404, "This run has no such answer.")
        return answer

    def overview(self, request: Request) -> Response:
        """Show all runs."""
        rows = []
        for number, run in enumerate(self.runs):
            run.refresh()
            rows.append(
                {
                    "number": number,
                    "run": run,
                    "systems": sorted({item.system for item in run.entries}),
                    "tasks": len({item.task for item in run.entries}),
                    "correct": sum(entry.head.correct for entry in run.entries.values()),
                    "robust": sum(entry.head.robust for entry in run.entries.values()),
                }
            )
        return page("overview", rows=rows)

    def run(self, request: Request) -> Response:
        """Show the results of a run as a table with a row per task and a column per system."""
        number, run = self.run_of(request)
        query = request.query_params
        cells = cells_of(run)
        categories = {entry.head.task: entry.head.category for entry in run.entries.values()}
        tiers = {name: self.tasks[name].tier for name in {task for _, task in cells} & self.tasks.keys()}
        chosen = {name: query.get(name, "") for name in ("category", "tier", "status", "find")}
        every_system = sorted({system for system, _ in cells})
        every_task = sorted({task for _, task in cells})
        tasks = [
            task
            for task in every_task
            if chosen["category"] in ("", categories.get(task, ""))
            and chosen["tier"] in ("", tiers.get(task, ""))
            and chosen["find"].casefold() in task.casefold()
            and (
                not chosen["status"]
                or any(
                    cells[system, task].status == chosen["status"] for system in every_system if (system, task) in cells
                )
            )
        ]
        systems = paged(every_system, query.get("systems", ""), SYSTEMS)
        shown = paged(tasks, query.get("tasks", ""), TASKS)
        totals = {
            system: total(cells[system, task] for task in tasks if (system, task) in cells) for system in systems.items
        }
        return page(
            "run",
            number=number,
            run=run,
            cells=cells,
            systems=systems,
            tasks=shown,
            totals=totals,
            categories=sorted(set(categories.values())),
            tiers=sorted(set(tiers.values())),
            statuses=STATUSES,
            chosen=chosen,
        )

    def state(self, request: Request) -> Response:
        """Return how many grades and usage records a run has. The run's page reloads when these numbers change."""
        _, run = self.run_of(request)
        return JSONResponse({"entries": len(run.entries), "usages": len(run.usages)}, headers=HEADERS)

    async def answer(self, request: Request) -> Response:
        """Show one answer: its code, failed cases, votes, labels and cost."""
        number, run = self.run_of(request)
        answer = self.answer_of(request, run)
        grade, task, submission = run.grade(answer), self.tasks.get(answer.task), run.submission(answer)
        taken = await run_sync(compare_with_repository, task, submission, self.show_reference)
        submitted = [] if submission is None or taken.targets else await run_sync(submitted_files, submission)
        others = sorted(item for item in run.entries if item.task == answer.task and item != answer)
        return page(
            "answer",
            number=number,
            run=run,
            answer=answer,
            grade=grade,
            failed=[case for case in grade.cases if case.verdict != "match"] if grade else [],
            task=task,
            submission=submission,
            taken=taken,
            usage=run.usages.get(answer),
            judgements=run.judgements(answer),
            labels=run.labels(answer),
            others=others[:_MOST_OTHERS],
            show_reference=self.show_reference,
            submitted=submitted,
        )

    def transcript(self, request: Request) -> Response:
        """Redirect to the transcript of an answer in Inspect's viewer."""
        _, run = self.run_of(request)
        address = self.transcripts.address(run.folder, self.answer_of(request, run))
        return RedirectResponse(address, headers=HEADERS)

    async def compare(self, request: Request) -> Response:
        """Show two answers to one task side by side."""
        number, run = self.run_of(request)
        answers = [self.answer_of(request, run, key) for key in ("left_", "right_")]
        task = self.tasks.get(answers[0].task)
        left, right = (run.submission(answer) for answer in answers)
        pieces = await run_sync(compare_answers, task, left, right)
        return page(
            "compare",
            number=number,
            run=run,
            answers=answers,
            entries=[run.entries.get(item) for item in answers],
            pieces=pieces,
        )

    def task(self, request: Request) -> Response:
        """Show a task: instruction, masked code, certificate, and summary of the paper."""
        task = self.tasks.get(request.query_params.get("task", ""))
        if task is None:
            raise HTTPException(404, "This suite has no such task.")
        masked = target_texts(task, unsolved_files(task))
        return page(
            "task",
            task=task,
            summary=prose(task.files.summary),
            instruction=prose(instruction(task, "full")),
            masked=[(str(target), line, highlighted(text)) for target, (line, text) in masked.items()],
            certificate=read_certificate(task) if task.files.check else None,
            highlighted=highlighted,
        )

    def suite(self, request: Request) -> Response:
        """Show all tasks of the suite."""
        return page("suite", tasks=list(self.tasks.values()))


def application(viewer: Viewer, hosts: Sequence[str]) -> Starlette:
    """Make the web application of a viewer.

    Args:
        viewer: The endpoints to serve.
        hosts: The host names that requests may use.

    Returns:
        The application.
    """
    routes: Mapping[str, Callable[[Request], Response]] = {
        "/": viewer.overview,
        "/run/{run:int}": viewer.run,
        "/run/{run:int}/state": viewer.state,
        "/run/{run:int}/transcript": viewer.transcript,
        "/task": viewer.task,
        "/suite": viewer.suite,
        "/static/{name}": static,
    }
    return Starlette(
        routes=[
            *(Route(path, sequential(endpoint)) for path, endpoint in routes.items()),
            Route("/run/{run:int}/answer", viewer.answer),
            Route("/run/{run:int}/compare", viewer.compare),
        ],
        exception_handlers={HTTPException: error_handler("base"), LmrbenchError: error_handler("base")},
        # Prevents DNS rebinding: requests with a foreign host name that resolves to this machine are refused.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
    )
