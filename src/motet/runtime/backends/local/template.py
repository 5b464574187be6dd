"""The template process: imports everything once, then every executor is a fork of it.

It has one thread, so that a fork is safe. It ends, and with it all executors, when the process that
started it does; an executor ends with the template.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import selectors
import signal
import socket
import sys
from io import TextIOWrapper

from motet.runtime.backends.local.executor_process import run_executor
from motet.runtime.backends.local.template_messages import (
    MAX_MESSAGE_BYTES,
    ExecutorStart,
    TemplateAnswer,
    TemplateRequest,
)
from motet.runtime.executor.process_control import die_with_parent, kill, set_process_name


class Template:
    """Forks executors on request."""

    def __init__(self, control: socket.socket, parent: int) -> None:
        """`parent`: a pidfd of the process that holds the other end of `control`."""
        self._control = control
        self._parent = parent
        self._executors: dict[int, int] = {}
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ)
        self._selector.register(self._parent, selectors.EVENT_READ)

    def serve(self) -> None:
        """Fork and reap until the parent has ended or closed its end; then kill all executors."""
        try:
            while self._handle({key.fd for key, _ in self._selector.select()}):
                pass
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            for descriptor in list(self._executors):
                kill(descriptor)
                self._reap(descriptor)

    def _handle(self, ready: set[int]) -> bool:
        """Whether to go on."""
        if self._parent in ready:
            return False
        for descriptor in ready & self._executors.keys():
            self._reap(descriptor)
        return self._control.fileno() not in ready or self._serve_request()

    def _reap(self, descriptor: int) -> None:
        os.waitpid(self._executors.pop(descriptor), 0)
        self._selector.unregister(descriptor)
        os.close(descriptor)

    def _serve_request(self) -> bool:
        """Execute the next message; False at the end of messages."""
        try:
            message, descriptors, _, _ = socket.recv_fds(self._control, MAX_MESSAGE_BYTES, 1)
        except ConnectionError:
            return False
        if not message:
            return False
        request: TemplateRequest = pickle.loads(message)
        if request[0] == "preload":
            _preload(request[1])
        elif descriptors:
            self._fork(descriptors[0], request[1])
        else:
            self._answer((0, "too many open files"))
        return True

    def _fork(self, descriptor: int, start: ExecutorStart) -> None:
        """Start an executor with its end of a connection."""
        template = os.getpid()
        try:
            process = os.fork()
        except OSError as error:
            os.close(descriptor)
            self._answer((0, str(error.strerror)))
            return
        if not process:
            self._become_executor(template, descriptor, start)
        os.close(descriptor)
        try:
            pidfd = os.pidfd_open(process)
        except OSError as error:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            self._answer((0, str(error.strerror)))
            return
        self._executors[pidfd] = process
        self._selector.register(pidfd, selectors.EVENT_READ)
        self._answer((process, ""), pidfd)

    def _answer(self, answer: TemplateAnswer, *descriptors: int) -> None:
        with contextlib.suppress(OSError):  # The other end is closed: `serve` notices it, too.
            socket.send_fds(self._control, [pickle.dumps(answer)], descriptors)

    def _become_executor(self, template: int, descriptor: int, start: ExecutorStart) -> None:
        try:
            die_with_parent(template)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            set_process_name("motet-executor")
            self._selector.close()
            self._control.close()
            for other in (self._parent, *self._executors):
                os.close(other)
            gc.freeze()  # A collection does not write to the pages shared with the template.
            gc.enable()
            run_executor(descriptor, start)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(1)


def _preload(application: str) -> None:
    """Compile an application's kernels, so that every fork has them."""
    module, _, name = application.partition(":")
    with contextlib.suppress(Exception):  # Executors compile again and report the error.
        getattr(importlib.import_module(module), name)().warm_up()


def run_template(control: int, parent: int) -> None:
    """`control`: the descriptor of a socket; `parent`: a pidfd of the process at its other end.

    The caller has set the handlers of SIGINT, which the controller alone handles, and SIGTERM.
    """
    set_process_name("motet-template")
    for stream in (sys.stdout, sys.stderr):
        assert isinstance(stream, TextIOWrapper)
        stream.reconfigure(line_buffering=True, errors="backslashreplace")
    with contextlib.suppress(SystemExit):
        Template(socket.socket(fileno=control), parent).serve()
    sys.stdout.flush()
    os._exit(0)  # The interpreter would first free what was imported.
