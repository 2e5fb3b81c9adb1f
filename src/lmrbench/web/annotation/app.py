"""The web pages of an annotation: forms for annotators, and pages with progress and disputes for the lead.

An annotation is a project in which several people label items, which are answers under opaque names. The lead is the
person who organizes it. All annotators first label the calibration items, whose categories are known. Users
authenticate with the token in their personal link; the token is then stored in a cookie. Pages for annotators never
show systems, samples, grades or votes. No part of a URL is used as a path.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from lmrbench.errors import LmrbenchError
from lmrbench.judging.labels import ADJUDICATED
from lmrbench.judging.sheets import Filled, filled_in
from lmrbench.runs.records import ERROR_CLASSES
from lmrbench.tasks.model import Task
from lmrbench.tasks.workspace import RULES
from lmrbench.web.annotation.queues import MAX_NAME, Item
from lmrbench.web.annotation.results import Dispute, agreements, disputes, labels_of, progress, write_results
from lmrbench.web.annotation.store import LEAD, Assignment, FormContent, Store
from lmrbench.web.answers import AnswerComparison, compare_with_repository, submitted_files
from lmrbench.web.matrix import parsed_number
from lmrbench.web.prose import prose
from lmrbench.web.serving import HEADERS, error_handler, page, sequential, static

# The maximum length of a reason in characters, and of a request body in bytes. The body can hold the longest reason
# even if every character is URL-encoded.
MAX_REASON, MAX_BODY = 4000, 64 << 10
_MAX_FIELDS = 16
# The maximum number of lines shown of each comparison; more would slow down the browser.
_MOST_LINES = 5000
# Categories and error classes are in the order of their keyboard shortcuts: 1 to 3 and a to e.
CATEGORIES = {
    "LI": "the logic is incorrect",
    "LC": "the logic is correct, the implementation is not",
    "CC": "completely correct",
}
CLASSES = list(zip("abcde", ERROR_CLASSES.items(), strict=True))

Form = Mapping[str, str]


class Annotation:
    """The endpoints of an annotation, with the data that they show and store."""

    def __init__(self, folder: Path, store: Store, items: Mapping[str, Item], tasks: Mapping[str, Task]) -> None:
        """Create the endpoints of an annotation, and rewrite its result files.

        Args:
            folder: The folder of the annotation.
            store: The database of the annotation.
            items: The items by opaque name.
            tasks: The tasks of the items by id.
        """
        self.folder = folder
        self.store = store
        self.items = items
        self.tasks = tasks
        self.cookie = f"annotate-{store.name()}"
        self._taken = lru_cache(maxsize=64)(self._read)
        self._prose = lru_cache(maxsize=64)(prose)
        # After a crash, the files may lack the last changes to the database.
        write_results(folder, store, items)

    def enter(self, request: Request) -> Response:
        """Log in a person who opened a personal link: store the link's token in a cookie, and open the first page."""
        token = request.path_params["token"]
        if self.store.person(token) is None:
            raise HTTPException(403, "This link is not valid. Ask the person who sent it to you for the complete link.")
        # The page itself sends the browser on to the first page. If the link is on another site, the browser would
        # follow an HTTP redirect without sending the cookie, because the cookie is only for requests from this site.
        response = page("enter")
        secure = request.url.scheme == "https"
        response.set_cookie(self.cookie, token, max_age=90 * 86400, httponly=True, samesite="strict", secure=secure)
        return response

    async def home(self, request: Request) -> Response:
        """Show an annotator the next item, and the lead the progress of all annotators."""
        name, shared = self._person(request)
        if name == LEAD:
            labels = tuple(labels_of(self.store, self.items))
            # The first call imports a library, which takes seconds.
            pairs = await run_in_threadpool(agreements, labels)
            rows, open_ = progress(self.store, self.items), disputes(self.store, self.items)
            return page("progress", **shared, rows=rows, pairs=pairs, disputes=open_, folder=self.folder)
        found = self.store.next_item(name, time.time())
        return page("finished", **shared) if found is None else self._label_page(shared, found)

    def save(self, request: Request, form: Form) -> Response:
        """Store the label in a form, or show the form again with error messages."""
        name, shared = self._annotator(request)
        found = self._assigned(name, form.get("item", ""))
        filled, problems = _filled(form)
        if filled is None:
            return self._label_page(shared, found, _draft(form), problems, 422)
        version = parsed_number(form.get("version", ""), -1)
        if not self.store.save(name, found.item, version, filled, time.time()):
            raise HTTPException(
                409, "Not saved: you have labelled or skipped this item, or undone that, in another window."
            )
        self._changed()
        return _redirect(f"/calibration?item={found.item}" if found.calibration else "/")

    def skip(self, request: Request, form: Form) -> Response:
        """Move an item to the end of the queue."""
        name, _ = self._annotator(request)
        found = self._assigned(name, form.get("item", ""))
        version = parsed_number(form.get("version", ""), -1)
        self.store.skip(name, found.item, version, _draft(form), time.time())
        return _redirect("/")

    def undo(self, request: Request, form: Form) -> Response:
        """Take back the last label or skip."""
        name, _ = self._annotator(request)
        self.store.undo(name, parsed_number(form.get("step", ""), -1))
        self._changed()
        return _redirect("/")

    def calibration(self, request: Request) -> Response:
        """Show the known category of a calibration item to an annotator who has labelled it."""
        name, shared = self._annotator(request)
        found = self._assigned(name, request.query_params.get("item", ""))
        known = self.items[found.item].known
        if known is None or not found.done:
            raise HTTPException(404, "The known category is shown after you label the item.")
        return page("calibration", **shared, **self._shown(self.items[found.item]), content=found.content, known=known)

    def dispute(self, request: Request) -> Response:
        """Show a disputed item with its anonymous labels and a form for the decision."""
        return self._dispute_page(self._lead(request), self._disputed(request.query_params.get("item", "")))

    def decide(self, request: Request, form: Form) -> Response:
        """Store the decision on a disputed item."""
        shared, found = self._lead(request), self._disputed(form.get("item", ""))
        decider = form.get("decider", "").strip()
        filled, problems = _filled(form)
        if not decider.isprintable() or not 0 < len(decider) <= MAX_NAME or decider == ADJUDICATED:
            problems.append(f'name: expected 1 to {MAX_NAME} printable characters; the name "adjudicated" is reserved')
        elif decider in {each.annotator for each in found.labels}:
            problems.append(f"name: {decider} has labelled this item; another person must decide")
        elif filled and not self.store.decide(found.item.name, form.get("version", ""), decider, filled):
            problems.append("Not saved: a label changed in the meantime. Please read the labels again.")
        if problems or filled is None:
            return self._dispute_page(shared, found, _draft(form), decider[:MAX_NAME], problems)
        self._changed()
        return _redirect("/")

    def _disputed(self, name: str) -> Dispute:
        found = next((each for each in disputes(self.store, self.items) if each.item.name == name), None)
        if found is None:
            raise HTTPException(404, "There is no such item, or its labels no longer disagree.")
        return found

    def _dispute_page(
        self,
        shared: Mapping[str, Any],
        found: Dispute,
        draft: FormContent | None = None,
        decider: str = "",
        problems: Sequence[str] = (),
    ) -> Response:
        # The page shows letters instead of the names of annotators. The labels are sorted by a hash of item and
        # annotator, so the letters do not reveal names.
        labels = sorted(
            found.labels, key=lambda each: hashlib.sha256(f"{each.item} {each.annotator}".encode()).digest()
        )
        return page(
            "dispute",
            422 if problems else 200,
            **shared,
            **self._shown(found.item),
            dispute=found,
            labels=labels,
            content=draft or (found.decision.content if found.decision else FormContent()),
            decider=decider or (found.decision.decider if found.decision else ""),
            problems=problems,
        )

    def _label_page(
        self,
        shared: Mapping[str, Any],
        found: Assignment,
        draft: FormContent | None = None,
        problems: Sequence[str] = (),
        status: int = 200,
    ) -> Response:
        of_kind = [each for each in self.store.assignments(found.annotator) if each.calibration == found.calibration]
        return page(
            "label",
            status,
            **shared,
            **self._shown(self.items[found.item]),
            assignment=found,
            content=draft or found.content,
            done=sum(each.done for each in of_kind),
            of=len(of_kind),
            problems=problems,
        )

    def _shown(self, item: Item) -> dict[str, Any]:
        """Return the template variables that describe an item."""
        task, taken = self.tasks[item.submission.task], self._taken(item.name)
        return {
            "item": item.name,
            "task": task,
            "instruction": self._prose(task.instruction),
            "rules": self._prose(RULES),
            "summary": self._prose(task.files.summary),
            "taken": taken,
            "beyond": _beyond(taken),
            "submitted": submitted_files(item.submission) if taken.refusal else [],
            "categories": CATEGORIES,
            "classes": CLASSES,
            "most_lines": _MOST_LINES,
            "max_reason": MAX_REASON,
            "max_name": MAX_NAME,
        }

    def _read(self, name: str) -> AnswerComparison:
        submission = self.items[name].submission
        return compare_with_repository(self.tasks[submission.task], submission, show_reference=True)

    def _changed(self) -> None:
        write_results(self.folder, self.store, self.items)

    def _person(self, request: Request) -> tuple[str, dict[str, Any]]:
        """Return the name of the person who sent a request, and the template variables that all pages need."""
        token = request.cookies.get(self.cookie, "")
        name = self.store.person(token)
        if name is None:
            raise HTTPException(403, "Please open your personal link first.")
        step = self.store.last_step(name)
        return name, {"person": name, "csrf": self._proof(token), "step": step}

    def _annotator(self, request: Request) -> tuple[str, dict[str, Any]]:
        name, shared = self._person(request)
        if name == LEAD:
            raise HTTPException(403, "Only annotators can label items. Please open an annotator's personal link.")
        return name, shared

    def _lead(self, request: Request) -> dict[str, Any]:
        name, shared = self._person(request)
        if name != LEAD:
            raise HTTPException(403, "This page is for the lead of the annotation.")
        return shared

    def _assigned(self, name: str, item: str) -> Assignment:
        found = self.store.assignments(name, item)
        if not found:
            raise HTTPException(404, "Your queue has no such item.")
        return found[0]

    def _proof(self, token: str) -> str:
        """Return the CSRF token of a person, derived from their login token."""
        return hmac.new(self.store.secret(), token.encode("utf-8", "replace"), "sha256").hexdigest()

    def posted(self, endpoint: Callable[[Request, Form], Response]) -> Callable[[Request], Awaitable[Response]]:
        """Wrap the handler of a form as an endpoint, which rejects forms that are too large or lack a valid CSRF token.

        Args:
            endpoint: The function that handles the form.

        Returns:
            The endpoint. It reads the form and passes it to the handler.
        """

        async def respond(request: Request) -> Response:
            body = b""
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BODY:
                    raise HTTPException(413, f"The form is larger than {MAX_BODY} bytes.")
            try:
                form = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MAX_FIELDS))
            except ValueError as error:
                raise HTTPException(400, "The form can't be read.") from error
            token = request.cookies.get(self.cookie, "")
            if not hmac.compare_digest(form.get("csrf", "").encode(), self._proof(token).encode()):
                raise HTTPException(403, "This form belongs to another person. Please load the page again.")
            return endpoint(request, form)

        return respond


def _reason(form: Form) -> str:
    return form.get("reason", "").replace("\r\n", "\n").strip()


def _seconds(form: Form) -> float | None:
    text = form.get("seconds", "")
    return float(text) if text.isdecimal() and len(text) < 10 else None


def _draft(form: Form) -> FormContent:
    """Return the content of a form, which may be incomplete or invalid."""
    category, error_class = (form.get(name, "")[:MAX_NAME] for name in ("category", "error_class"))
    return FormContent(category, error_class, _reason(form)[:MAX_REASON], _seconds(form))


def _filled(form: Form) -> tuple[Filled | None, list[str]]:
    """Return the label in a form and an empty list, or None and the problems with the form."""
    reason = _reason(form)
    if len(reason) > MAX_REASON:
        return None, [f"reason: {len(reason)} characters; at most {MAX_REASON} are allowed"]
    category = form.get("category", "")
    # A correct answer has no error class.
    error_class = "" if category == "CC" else form.get("error_class", "")
    cells = {"category": category, "error_class": error_class, "reason": reason, "seconds": ""}
    filled, wrong = filled_in(cells)
    if filled is None:
        return None, [f"{column.replace('_', ' ')}: {message}" for column, message in wrong]
    return filled._replace(seconds=_seconds(form)), []


def _beyond(taken: AnswerComparison) -> set[str]:
    """Return the paths of the files that have differences outside of the targets (the functions to implement)."""
    within = {
        file: sum(
            line.kind != "same" for target, lines in taken.targets if target.startswith(f"{file}::") for line in lines
        )
        for file, _ in taken.files
    }
    return {file for file, lines in taken.files if sum(line.kind != "same" for line in lines) > within[file]}


def _redirect(path: str) -> Response:
    return RedirectResponse(path, 303, HEADERS)


def application(annotation: Annotation, hosts: Sequence[str]) -> Starlette:
    """Make the web application of an annotation.

    Args:
        annotation: The endpoints to serve.
        hosts: The host names that requests may use.

    Returns:
        The application.
    """
    read = {
        "/enter/{token}": sequential(annotation.enter),
        "/": annotation.home,
        "/calibration": sequential(annotation.calibration),
        "/dispute": sequential(annotation.dispute),
        "/static/{name}": sequential(static),
    }
    written = {
        "/save": annotation.save,
        "/skip": annotation.skip,
        "/undo": annotation.undo,
        "/decide": annotation.decide,
    }
    return Starlette(
        routes=[
            *(Route(path, endpoint) for path, endpoint in read.items()),
            *(Route(path, annotation.posted(endpoint), methods=["POST"]) for path, endpoint in written.items()),
        ],
        exception_handlers={HTTPException: error_handler("annotation"), LmrbenchError: error_handler("annotation")},
        # Prevents DNS rebinding: requests with a foreign host name that resolves to this machine are refused.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
    )
