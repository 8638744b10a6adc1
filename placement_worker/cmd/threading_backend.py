"""Threads for oslo.messaging: without this it takes eventlet."""

import logging
import warnings

from oslo_service import backend


def choose() -> None:
    """Choose threads; before the first import of oslo.messaging, which looks at the choice then."""
    logging.getLogger(backend.__name__).setLevel(logging.WARNING)
    with warnings.catch_warnings():
        # futurist imports eventlet where it is installed, and does not use it.
        warnings.filterwarnings('ignore', message='\\s*Eventlet is deprecated')
        backend.init_backend(backend.BackendType.THREADING)
