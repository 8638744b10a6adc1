"""The watchdog, with the thresholds and the liveness file that the configuration names."""

from collections.abc import MutableMapping

from oslo_config import cfg

from placement_worker.health.heartbeats import HeartbeatTable
from placement_worker.health.liveness_file import LivenessFile
from placement_worker.health.systemd import Systemd
from placement_worker.health.thresholds import Thresholds
from placement_worker.health.watchdog import Watchdog


def create(
    conf: cfg.ConfigOpts, heartbeats: HeartbeatTable, environment: MutableMapping[str, str]
) -> Watchdog:
    """Return the watchdog of the processes, before it is started.

    :param environment: has the address of systemd, which is removed from it.
    """
    worker = conf.worker
    thresholds = Thresholds(
        poll_age_s=worker.liveness_poll_age_s,
        request_age_s=worker.liveness_request_age_s,
        reconnect_age_s=worker.liveness_reconnect_age_s,
        disconnected_s=worker.readiness_disconnected_s,
    )
    systemd = Systemd.from_environment(environment)
    return Watchdog(heartbeats, thresholds, systemd, LivenessFile(worker.liveness_file))
