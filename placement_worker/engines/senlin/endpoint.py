"""The entry point in `senlin.endpoints`.

Every service of Senlin imports it when it initializes its environment.
"""

from placement_worker.engines.senlin import patches

patches.install()
