"""Options that a test reads from the files that it names."""

from typing import Any

from oslo_config import cfg

from placement_worker.config import options


class Options(cfg.ConfigOpts):
    """Options without the files of this machine.

    oslo.config searches the home folder and /etc for default files. It reads a folder
    `placement-worker.conf.d` there even if `--config-file` is given.
    """

    def __call__(self, args: Any = None, **more: Any) -> None:
        super().__call__(args, **{'default_config_files': [], 'default_config_dirs': [], **more})


def default_options() -> Options:
    conf = Options()
    options.register(conf)
    conf([])
    return conf
