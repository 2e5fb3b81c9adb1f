"""A local server that speaks OpenAI's chat-completions and responses protocols, scripted by a function."""

import json
import threading
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests import http_server

from lmrbench.models.reachability import SMALL_REQUEST

PROMPT_TOKENS, COMPLETION_TOKENS = 100, 20


@dataclass
class Request:
    """A request: its path and body, and the number of earlier requests with the same messages."""

    path: str
    body: dict
    number: int

    @property
    def messages(self):
        return self.body.get("messages") or self.body.get("input")

    @property
    def text(self):
        """All messages as one text."""
        return json.dumps(self.messages)


@dataclass
class Reply:
    """A scripted reply.

    Attributes:
        text: the message.
        finish: the finish reason.
        refusal: whether the text is a refusal.
        code: the error's code.
        message: the error's message.
        tool: name and arguments of a tool call.
        status: the HTTP status; other than 200 for an error.
        retry_after: the value of the Retry-After header.
        drop: whether to close the connection half-way.
        seconds: the delay before the reply.
    """

    text: str = ""
    finish: str = "stop"
    refusal: bool = False
    code: str | int = "error"
    message: str = "scripted"
    tool: tuple[str, dict] | None = None
    status: int = 200
    retry_after: float | None = None
    drop: bool = False
    seconds: float = 0.0


@dataclass
class Log:
    """The requests that the server received.

    Attributes:
        small: number of small requests, which check whether the provider responds. No other field includes them.
        requests: all other requests.
        asked: number of requests by prompt.
        answered: number of complete replies by prompt.
    """

    small: int = 0
    requests: list[Request] = field(default_factory=list)
    asked: Counter = field(default_factory=Counter)
    answered: Counter = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def serving(script, small=lambda: Reply("OK")):
    """Serve `script(request) -> Reply`, and `small()` to small requests; yield the base URL and the log."""
    log = Log()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *arguments):
            pass

        def do_GET(self):
            self.send_json(404, {})

        def do_POST(self):
            data = self.rfile.read(int(self.headers["Content-Length"]))
            if not data:
                # The client has closed the connection.
                self.close_connection = True
                return
            body = json.loads(data)
            key = json.dumps(body.get("messages") or body.get("input"))
            if SMALL_REQUEST in key:
                log.small += 1
                reply = small()
            else:
                with log.lock:
                    request = Request(self.path, body, log.asked[key])
                    log.asked[key] += 1
                    log.requests.append(request)
                reply = script(request)
            time.sleep(reply.seconds)
            if reply.drop and body.get("stream"):
                self.begin_stream()
                self.wfile.write(b'data: {"id": "c", "created": 0, "model": "m", "object": "chat.completion.chunk", ')
                return
            if reply.drop:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
                self.close_connection = True
                return
            if reply.status != 200:
                headers = {} if reply.retry_after is None else {"Retry-After": str(reply.retry_after)}
                self.send_json(
                    reply.status, {"error": {"message": reply.message, "type": "error", "code": reply.code}}, headers
                )
                return
            send = self.send_response_object if self.path.endswith("/responses") else self.send_completion
            try:
                send(body, reply)
            except OSError:
                return
            if SMALL_REQUEST not in key:
                with log.lock:
                    log.answered[key] += 1

        def send_completion(self, body, reply):
            message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
            if reply.refusal:
                message |= {"content": None, "refusal": reply.text}
            if reply.tool:
                name, arguments = reply.tool
                function = {"name": name, "arguments": json.dumps(arguments)}
                message["tool_calls"] = [
                    {"id": f"call_{time.monotonic_ns()}", "type": "function", "function": function}
                ]
            reason = "tool_calls" if reply.tool else reply.finish
            head = {"id": "c", "created": 0, "model": body["model"]}
            usage = {
                "prompt_tokens": PROMPT_TOKENS,
                "completion_tokens": COMPLETION_TOKENS,
                "total_tokens": PROMPT_TOKENS + COMPLETION_TOKENS,
            }
            if not body.get("stream"):
                choice = {"index": 0, "message": message, "finish_reason": reason}
                self.send_json(200, {**head, "object": "chat.completion", "choices": [choice], "usage": usage})
                return
            chunks: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
            name = "refusal" if reply.refusal else "content"
            chunks += [{name: reply.text[start : start + 50]} for start in range(0, len(reply.text), 50)]
            if reply.tool:
                chunks.append({"tool_calls": [{"index": 0, **message["tool_calls"][0]}]})
            events: list[dict[str, Any]] = [
                {"choices": [{"index": 0, "delta": chunk, "finish_reason": None}]} for chunk in chunks
            ]
            events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
            events.append({"choices": [], "usage": usage})
            self.stream([("", {**head, "object": "chat.completion.chunk", **event}) for event in events])

        def send_response_object(self, body, reply):
            item = {
                "id": "msg",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": reply.text, "annotations": []}],
            }
            if reply.tool:
                name, arguments = reply.tool
                item = {"id": "fc", "type": "function_call", "call_id": f"call_{time.monotonic_ns()}", "name": name}
                item |= {"arguments": json.dumps(arguments), "status": "completed"}
            response = {
                "id": "resp",
                "object": "response",
                "created_at": 0,
                "status": "completed",
                "model": body["model"],
                "output": [item],
                "parallel_tool_calls": True,
                "tool_choice": "auto",
                "tools": [],
                "usage": {
                    "input_tokens": PROMPT_TOKENS,
                    "input_tokens_details": {"cached_tokens": 0},
                    "output_tokens": COMPLETION_TOKENS,
                    "output_tokens_details": {"reasoning_tokens": 0},
                    "total_tokens": PROMPT_TOKENS + COMPLETION_TOKENS,
                },
            }
            if not body.get("stream"):
                self.send_json(200, response)
                return
            empty = {**response, "status": "in_progress", "output": [], "usage": None}
            events: list[tuple[str, dict[str, Any]]] = [
                ("response.created", {"response": empty}),
                ("response.output_item.added", {"output_index": 0, "item": item}),
                ("response.output_item.done", {"output_index": 0, "item": item}),
                ("response.completed", {"response": response}),
            ]
            self.stream(
                [
                    (name, {"type": name, "sequence_number": number, **event})
                    for number, (name, event) in enumerate(events)
                ]
            )

        def begin_stream(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()
            self.close_connection = True

        def stream(self, events):
            self.begin_stream()
            for name, event in events:
                self.wfile.write(f"{f'event: {name}' + chr(10) if name else ''}data: {json.dumps(event)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")

        def send_json(self, status, value, headers=()):
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            for name, text in dict(headers).items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(data)

    with http_server.serving(Handler) as address:
        yield f"{address}/v1", log
