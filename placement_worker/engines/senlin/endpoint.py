"""The entry point in `senlin.endpoints`: Senlin imports it when it initialises its environment, in
every service.
"""

from placement_worker.engines.senlin import patches

patches.install()
