"""Folders for services that read a file of a fixed name in a folder."""

import os
from pathlib import Path


def provide(config: Path, name: str, variable: str) -> None:
    """Link a configuration into a folder of its own, which an environment variable names."""
    folder = config.with_suffix('')
    folder.mkdir()
    (folder / name).symlink_to(config)
    os.environ[variable] = str(folder)
