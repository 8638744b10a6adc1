"""python -m placement_worker: the same as placement-policy."""

import sys

from placement_worker.cmd.cli import main

sys.exit(main())
