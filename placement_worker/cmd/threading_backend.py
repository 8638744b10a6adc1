"""The threading backend of oslo.service; its default for oslo.messaging is eventlet."""

import logging
import os
import warnings

from oslo_service import backend


def choose() -> None:
    """Choose threads; oslo.messaging reads the choice at its first import."""
    # Libraries import eventlet if it is installed; its DNS resolver costs a third of a start.
    os.environ.setdefault('EVENTLET_NO_GREENDNS', 'yes')
    logging.getLogger(backend.__name__).setLevel(logging.WARNING)
    with warnings.catch_warnings():
        # futurist imports eventlet if it is installed, and does not use it.
        warnings.filterwarnings('ignore', message='\\s*Eventlet is deprecated')
        backend.init_backend(backend.BackendType.THREADING)
