"""A page that follows a run: served on this machine alone."""

import html
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from infold.report.page import page
from infold.report.subject import subject_of

_ADDRESS = "127.0.0.1"
_LAST_PORT = 65535
_WAITING = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="2">'
    "<title>infold watch</title><p>{}</p>"
)


class Watcher:
    """The page of a run file, made again when the file has changed."""

    def __init__(self, path: Path, method: str | None = None) -> None:
        """
        Args:
            path: the run file, which need not be there yet.
            method: name of the method whose model is shown, in place of the run's own.
        """
        self._path = path
        self._method = method
        self._lock = threading.Lock()
        self._made: tuple[str, str] | None = None

    def version(self) -> str:
        """Return what changes when the file does; "none" where there is no file."""
        try:
            state = self._path.stat()
        except OSError:
            return "none"
        return f"{state.st_mtime_ns}-{state.st_size}"

    def page(self) -> str:
        """Return the page of the run as it is now, or one that waits for it."""
        with self._lock:
            version = self.version()
            if version == "none":
                return _WAITING.format(html.escape(f"Waiting for {self._path} ..."))
            if self._made is None or self._made[0] != version:
                try:
                    made = page(subject_of(self._path, method=self._method), follow=version)
                except (ValueError, OSError) as error:
                    return _WAITING.format(html.escape(str(error)))
                self._made = version, made
            return self._made[1]


def server(watcher: Watcher, port: int) -> ThreadingHTTPServer:
    """Return a server of the page on 127.0.0.1; a free port is found where `port` is 0."""
    if not 0 <= port <= _LAST_PORT:
        raise ValueError(f"port = {port}: expected a number from 0 to {_LAST_PORT}")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            # Another site may have its name lead to this address: it does not get the page.
            name = (self.headers.get("Host") or "").rpartition(":")[0]
            if name not in (_ADDRESS, "localhost"):
                self.send_error(403)
            elif self.path == "/":
                self._answer("text/html", watcher.page())
            elif self.path == "/version":
                self._answer("text/plain", watcher.version())
            else:
                self.send_error(404)

        def _answer(self, kind: str, text: str) -> None:
            body = text.encode()
            self.send_response(200)
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "no-store")
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing: the page asks every two seconds."""

    try:
        return ThreadingHTTPServer((_ADDRESS, port), Handler)
    except OSError as error:
        reason = f"{error.strerror or error}; --port 0 finds a free one"
        raise OSError(f"port {port}: {reason}") from error
