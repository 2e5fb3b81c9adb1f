"""The viewer: runs, their answers, tasks and the suite, as pages that only this machine's browser gets.

Nothing in an address becomes a path: runs are named by their numbers, answers and tasks are looked up in what was read,
and static files in what came with lmrbench. What strangers wrote is read and compared in threads, so that pages of
others do not wait for it.
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
from lmrbench.web.code import coloured
from lmrbench.web.matrix import cells_of, number_in, paged, total
from lmrbench.web.prose import prose
from lmrbench.web.serving import HEADERS, in_turn, page, refused, static
from lmrbench.web.taken import beside_before, beside_each_other, handed_in
from lmrbench.web.transcripts import TranscriptServers

# How many systems stand side by side on a page of a run, and how many tasks below each other.
SYSTEMS, TASKS = 8, 50
# Of answers that one is compared with.
_MOST_OTHERS = 200
STATUSES = ("passed", "failed", "unanswered")


class Viewer:
    """What the pages show: runs, by number, and the tasks that they are of.

    show_reference: whether pages of answers show the reference, which who labels or solves must not see.
    """

    def __init__(self, runs: Sequence[RunIndex], tasks: Mapping[str, Task], show_reference: bool) -> None:
        self.runs = runs
        self.tasks = tasks
        self.show_reference = show_reference
        self.transcripts = TranscriptServers()

    def run_of(self, request: Request) -> tuple[int, RunIndex]:
        """The run that an address names, after another look at its folder. Raises HTTPException where there is none."""
        number = int(request.path_params["run"])
        if not 0 <= number < len(self.runs):
            raise HTTPException(404, "There is no run of that number.")
        self.runs[number].look()
        return number, self.runs[number]

    def answer_of(self, request: Request, run: RunIndex, key: str = "") -> Answer:
        """The answer that an address names. Raises HTTPException where the run has none of it."""
        query = request.query_params
        answer = Answer(
            query.get(f"{key}system", ""), query.get("task", ""), number_in(query.get(f"{key}sample", "0"), -1)
        )
        if answer not in run.entries and answer not in run.usages:
            raise HTTPException(404, "There is no such answer in this run.")
        return answer

    def overview(self, request: Request) -> Response:
        """All runs."""
        rows = []
        for number, run in enumerate(self.runs):
            run.look()
            rows.append(
                {
                    "number": number,
                    "run": run,
                    "systems": sorted({item.system for item in run.entries}),
                    "tasks": len({item.task for item in run.entries}),
                    "passed": sum(entry.head.passed for entry in run.entries.values()),
                }
            )
        return page("overview", rows=rows)

    def run(self, request: Request) -> Response:
        """A run: tasks by systems."""
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
        """How much is in a run, for a page that follows it."""
        _, run = self.run_of(request)
        return JSONResponse({"entries": len(run.entries), "usages": len(run.usages)}, headers=HEADERS)

    async def answer(self, request: Request) -> Response:
        """One answer: its code beside the masked function, failed cases, votes, labels, what it cost."""
        number, run = self.run_of(request)
        answer = self.answer_of(request, run)
        grade, task, submission = run.grade(answer), self.tasks.get(answer.task), run.submission(answer)
        taken = await run_sync(beside_before, task, submission, self.show_reference)
        as_it_came = [] if submission is None or taken.targets else await run_sync(handed_in, submission)
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
            handed_in=as_it_came,
        )

    def transcript(self, request: Request) -> Response:
        """Leads to what was said between the system and its model, in Inspect's own viewer."""
        _, run = self.run_of(request)
        address = self.transcripts.address(run.folder, self.answer_of(request, run))
        return RedirectResponse(address, headers=HEADERS)

    async def compare(self, request: Request) -> Response:
        """Two answers to one task side by side."""
        number, run = self.run_of(request)
        answers = [self.answer_of(request, run, key) for key in ("left_", "right_")]
        task = self.tasks.get(answers[0].task)
        left, right = (run.submission(answer) for answer in answers)
        pieces = await run_sync(beside_each_other, task, left, right)
        return page(
            "compare",
            number=number,
            run=run,
            answers=answers,
            entries=[run.entries.get(item) for item in answers],
            pieces=pieces,
        )

    def task(self, request: Request) -> Response:
        """A task: summary, instruction, masked code, certificate."""
        task = self.tasks.get(request.query_params.get("task", ""))
        if task is None:
            raise HTTPException(404, "There is no such task in this suite.")
        masked = target_texts(task, unsolved_files(task))
        return page(
            "task",
            task=task,
            summary=prose(task.files.summary),
            instruction=prose(instruction(task, "full")),
            masked=[(str(target), line, coloured(text)) for target, (line, text) in masked.items()],
            certificate=read_certificate(task) if task.files.check else None,
            coloured=coloured,
        )

    def suite(self, request: Request) -> Response:
        """All tasks that are here."""
        return page("suite", tasks=list(self.tasks.values()))


def application(viewer: Viewer, hosts: Sequence[str]) -> Starlette:
    """The viewer as an application. hosts: the names that a browser may call this server by."""
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
            *(Route(path, in_turn(endpoint)) for path, endpoint in routes.items()),
            Route("/run/{run:int}/answer", viewer.answer),
            Route("/run/{run:int}/compare", viewer.compare),
        ],
        exception_handlers={HTTPException: refused("base"), LmrbenchError: refused("base")},
        # Another site's name that points here must not read these pages.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
    )
