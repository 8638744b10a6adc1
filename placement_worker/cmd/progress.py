"""The elapsed time of a command, shown on a terminal."""

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Self, TextIO

DELAY_S = 2.0
"""The time after which a command shows that it runs."""
INTERVAL_S = 1.0
_CLEAR = '\r\x1b[K'


class Progress:
    """A line with the elapsed time on a stream, shown after a delay and cleared at the end."""

    def __init__(
        self,
        stream: TextIO,
        name: str,
        delay_s: float = DELAY_S,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._stream, self._name = stream, name
        self._delay_s, self._interval_s = delay_s, interval_s
        self._began = time.monotonic()
        self._ended = threading.Event()
        self._lock = threading.Lock()
        self._is_shown = False
        self._thread = threading.Thread(target=self._run, name='progress', daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._thread.join()
        self._clear()

    @contextlib.contextmanager
    def hidden(self) -> Iterator[None]:
        """Clear the line while other output is printed."""
        with self._lock:
            self._clear()
            yield

    def _run(self) -> None:
        pause_s = self._delay_s
        while not self._ended.wait(pause_s):
            pause_s = self._interval_s
            with self._lock:
                elapsed_s = time.monotonic() - self._began
                self._print(f'{_CLEAR}{self._name}: running for {elapsed_s:.0f} s')
                self._is_shown = True

    def _clear(self) -> None:
        if self._is_shown:
            self._print(_CLEAR)
            self._is_shown = False

    def _print(self, text: str) -> None:
        print(text, end='', file=self._stream, flush=True)
