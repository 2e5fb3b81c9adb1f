"""HTTP servers on this machine, each in a thread of the test."""

import functools
import threading
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer


class Server(ThreadingHTTPServer):
    """A server with a longer queue: with the default of five, a busy machine drops concurrent connections."""

    request_queue_size = 64
    daemon_threads = True


class Files(SimpleHTTPRequestHandler):
    """Serves the files of a folder and logs nothing."""

    def log_message(self, *arguments):
        pass


@contextmanager
def serving(handler):
    """Serve with a request handler; yield the address."""
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def serving_files(folder, handler=Files):
    """Serve the files of a folder; yield the address."""
    return serving(functools.partial(handler, directory=str(folder)))
