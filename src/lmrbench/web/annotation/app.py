"""The pages on which people label answers, and that on which who leads sees how far they are and settles disputes.

Nobody is anybody without the token of their link, which a cookie holds from then on. What an annotator's browser gets
names items, never systems, samples, grades or votes. Nothing in an address becomes a path.
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
from lmrbench.web.annotation.store import LEAD, Assignment, Said, Store
from lmrbench.web.matrix import number_in
from lmrbench.web.prose import prose
from lmrbench.web.serving import HEADERS, in_turn, page, refused, static
from lmrbench.web.taken import Taken, beside_before, handed_in

# Of a reason, in characters, and of the body of a request, in bytes: room for a reason that is all escapes.
MAX_REASON, MAX_BODY = 4000, 64 << 10
_MAX_FIELDS = 16
# Of a file side by side; more would hold up a browser.
_MOST_LINES = 5000
# In the order of their keys, 1 to 3, a to e.
CATEGORIES = {
    "LI": "the logic is incorrect",
    "LC": "the logic is correct, the implementation is not",
    "CC": "completely correct",
}
CLASSES = list(zip("abcde", ERROR_CLASSES.items(), strict=True))

Form = Mapping[str, str]


class Annotation:
    """What the pages show, and where what is said on them is kept."""

    def __init__(self, folder: Path, store: Store, items: Mapping[str, Item], tasks: Mapping[str, Task]) -> None:
        self.folder = folder
        self.store = store
        self.items = items
        self.tasks = tasks
        self.cookie = f"annotate-{store.name()}"
        self._taken = lru_cache(maxsize=64)(self._read)
        self._prose = lru_cache(maxsize=64)(prose)
        # After a kill they may lack what was committed last.
        write_results(folder, store, items)

    def enter(self, request: Request) -> Response:
        """A personal link: its token becomes a cookie, and the address that shows it is left at once."""
        token = request.path_params["token"]
        if self.store.person(token) is None:
            raise HTTPException(403, "This link is nobody's. Ask whoever sent it to you for the whole link.")
        # No redirect by status: after a link on another site, a browser would not send a strict cookie along with it.
        response = page("enter")
        secure = request.url.scheme == "https"
        response.set_cookie(self.cookie, token, max_age=90 * 86400, httponly=True, samesite="strict", secure=secure)
        return response

    async def home(self, request: Request) -> Response:
        """What somebody does next: an item to label, or, for who leads, how far everybody is."""
        name, shared = self._person(request)
        if name == LEAD:
            labels = tuple(labels_of(self.store, self.items))
            # The first time, this imports a library that takes seconds.
            pairs = await run_in_threadpool(agreements, labels)
            rows, open_ = progress(self.store, self.items), disputes(self.store, self.items)
            return page("progress", **shared, rows=rows, pairs=pairs, disputes=open_, folder=self.folder)
        found = self.store.next_item(name, time.time())
        return page("finished", **shared) if found is None else self._label_page(shared, found)

    def save(self, request: Request, form: Form) -> Response:
        """Label an item."""
        name, shared = self._annotator(request)
        found = self._assigned(name, form.get("item", ""))
        filled, problems = _filled(form)
        if filled is None:
            return self._label_page(shared, found, _draft(form), problems, 422)
        version = number_in(form.get("version", ""), -1)
        if not self.store.save(name, found.item, version, filled, time.time()):
            raise HTTPException(409, "Not saved: this item was labelled, skipped or taken back in another window.")
        self._changed()
        return _see(f"/calibration?item={found.item}" if found.calibration else "/")

    def skip(self, request: Request, form: Form) -> Response:
        """Put an item to the end of the queue."""
        name, _ = self._annotator(request)
        found = self._assigned(name, form.get("item", ""))
        version = number_in(form.get("version", ""), -1)
        self.store.skip(name, found.item, version, _draft(form), time.time())
        return _see("/")

    def undo(self, request: Request, form: Form) -> Response:
        """Take back the last label or skip."""
        name, _ = self._annotator(request)
        self.store.undo(name, number_in(form.get("step", ""), -1))
        self._changed()
        return _see("/")

    def calibration(self, request: Request) -> Response:
        """What is known of a calibration item, to an annotator who has labelled it."""
        name, shared = self._annotator(request)
        found = self._assigned(name, request.query_params.get("item", ""))
        known = self.items[found.item].known
        if known is None or not found.done:
            raise HTTPException(404, "There is nothing here before the item is labelled.")
        return page("calibration", **shared, **self._shown(self.items[found.item]), said=found.said, known=known)

    def dispute(self, request: Request) -> Response:
        """A disputed item: what was said, and not by whom; and the form of a decision."""
        return self._dispute_page(self._lead(request), self._disputed(request.query_params.get("item", "")))

    def decide(self, request: Request, form: Form) -> Response:
        """Decide on a disputed item."""
        shared, found = self._lead(request), self._disputed(form.get("item", ""))
        decider = form.get("decider", "").strip()
        filled, problems = _filled(form)
        if not decider.isprintable() or not 0 < len(decider) <= MAX_NAME or decider == ADJUDICATED:
            problems.append(f"name: who decides must have a name of at most {MAX_NAME} characters")
        elif decider in {each.annotator for each in found.labels}:
            problems.append(f"name: {decider} has labelled this item, so somebody else must decide on it")
        elif filled and not self.store.decide(found.item.name, form.get("version", ""), decider, filled):
            problems.append("Nothing was saved: a label changed meanwhile. Look at this item again.")
        if problems or filled is None:
            return self._dispute_page(shared, found, _draft(form), decider[:MAX_NAME], problems)
        self._changed()
        return _see("/")

    def _disputed(self, name: str) -> Dispute:
        found = next((each for each in disputes(self.store, self.items) if each.item.name == name), None)
        if found is None:
            raise HTTPException(404, "There is no such item, or nobody disagrees on it any more.")
        return found

    def _dispute_page(
        self,
        shared: Mapping[str, Any],
        found: Dispute,
        draft: Said | None = None,
        decider: str = "",
        problems: Sequence[str] = (),
    ) -> Response:
        # Who is A differs from item to item, and says nothing of who is who.
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
            said=draft or (found.decision.said if found.decision else Said()),
            decider=decider or (found.decision.decider if found.decision else ""),
            problems=problems,
        )

    def _label_page(
        self,
        shared: Mapping[str, Any],
        found: Assignment,
        draft: Said | None = None,
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
            said=draft or found.said,
            done=sum(each.done for each in of_kind),
            of=len(of_kind),
            problems=problems,
        )

    def _shown(self, item: Item) -> dict[str, Any]:
        """What an annotator reads of an item."""
        task, taken = self.tasks[item.submission.task], self._taken(item.name)
        return {
            "item": item.name,
            "task": task,
            "instruction": self._prose(task.instruction),
            "rules": self._prose(RULES),
            "summary": self._prose(task.files.summary),
            "taken": taken,
            "beyond": _beyond(taken),
            "handed_in": handed_in(item.submission) if taken.refusal else [],
            "categories": CATEGORIES,
            "classes": CLASSES,
            "most_lines": _MOST_LINES,
            "max_reason": MAX_REASON,
            "max_name": MAX_NAME,
        }

    def _read(self, name: str) -> Taken:
        submission = self.items[name].submission
        return beside_before(self.tasks[submission.task], submission, show_reference=True)

    def _changed(self) -> None:
        write_results(self.folder, self.store, self.items)

    def _person(self, request: Request) -> tuple[str, dict[str, Any]]:
        """Who asks, and what every page for them needs."""
        token = request.cookies.get(self.cookie, "")
        name = self.store.person(token)
        if name is None:
            raise HTTPException(403, "Open the personal link that you were given; this page is for those who have one.")
        step = self.store.last_step(name)
        return name, {"person": name, "csrf": self._proof(token), "step": step}

    def _annotator(self, request: Request) -> tuple[str, dict[str, Any]]:
        name, shared = self._person(request)
        if name == LEAD:
            raise HTTPException(403, "Only annotators label items, each by their own link.")
        return name, shared

    def _lead(self, request: Request) -> dict[str, Any]:
        name, shared = self._person(request)
        if name != LEAD:
            raise HTTPException(403, "This page is for whoever leads the annotation.")
        return shared

    def _assigned(self, name: str, item: str) -> Assignment:
        found = self.store.assignments(name, item)
        if not found:
            raise HTTPException(404, "There is no such item in your queue.")
        return found[0]

    def _proof(self, token: str) -> str:
        """What shows that a form came from a page for whoever has this token."""
        return hmac.new(self.store.secret(), token.encode("utf-8", "replace"), "sha256").hexdigest()

    def posted(self, endpoint: Callable[[Request, Form], Response]) -> Callable[[Request], Awaitable[Response]]:
        """Reads a form, no further than is allowed, and refuses one that did not come from our own page."""

        async def respond(request: Request) -> Response:
            body = b""
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BODY:
                    raise HTTPException(413, "This is more than a form of ours holds.")
            try:
                form = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MAX_FIELDS))
            except ValueError as error:
                raise HTTPException(400, "This is no form of ours.") from error
            token = request.cookies.get(self.cookie, "")
            if not hmac.compare_digest(form.get("csrf", "").encode(), self._proof(token).encode()):
                raise HTTPException(403, "This form is of a page for somebody else, or of none. Load the page again.")
            return endpoint(request, form)

        return respond


def _reason(form: Form) -> str:
    return form.get("reason", "").replace("\r\n", "\n").strip()


def _seconds(form: Form) -> float | None:
    text = form.get("seconds", "")
    return float(text) if text.isdecimal() and len(text) < 10 else None


def _draft(form: Form) -> Said:
    """What stands in a form, whether or not it is a label."""
    category, error_class = (form.get(name, "")[:MAX_NAME] for name in ("category", "error_class"))
    return Said(category, error_class, _reason(form)[:MAX_REASON], _seconds(form))


def _filled(form: Form) -> tuple[Filled | None, list[str]]:
    """What a form says, if that is a label, and what is wrong with it."""
    reason = _reason(form)
    if len(reason) > MAX_REASON:
        return None, [f"reason: has {len(reason)} characters; there is room for {MAX_REASON}"]
    category = form.get("category", "")
    # Nothing is wrong with what is completely correct.
    error_class = "" if category == "CC" else form.get("error_class", "")
    cells = {"category": category, "error_class": error_class, "reason": reason, "seconds": ""}
    filled, wrong = filled_in(cells)
    if filled is None:
        return None, [f"{column.replace('_', ' ')}: {message}" for column, message in wrong]
    return filled._replace(seconds=_seconds(form)), []


def _beyond(taken: Taken) -> set[str]:
    """The files in which more differs than in the functions that are compared above."""
    within = {
        file: sum(
            line.kind != "same" for target, lines in taken.targets if target.startswith(f"{file}::") for line in lines
        )
        for file, _ in taken.files
    }
    return {file for file, lines in taken.files if sum(line.kind != "same" for line in lines) > within[file]}


def _see(place: str) -> Response:
    return RedirectResponse(place, 303, HEADERS)


def application(annotation: Annotation, hosts: Sequence[str]) -> Starlette:
    """The pages as an application. hosts: the names that a browser may call this server by."""
    read = {
        "/enter/{token}": in_turn(annotation.enter),
        "/": annotation.home,
        "/calibration": in_turn(annotation.calibration),
        "/dispute": in_turn(annotation.dispute),
        "/static/{name}": in_turn(static),
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
        exception_handlers={HTTPException: refused("annotation"), LmrbenchError: refused("annotation")},
        # Another site's name that points here must not read these pages.
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts))],
    )
