"""Handle the requests of engines, independent of their transport and of the configuration.

`service` has the methods; read it first, then `decision_state` and `chain`. This package may
import policies, planners and the ports of the cloud, no messaging and no configuration: a worker, a
command and a test build it from their own parts (`in_process` for the latter two).
"""
