"""Octavia: its tables and API, with the controller's flows in threads of the same process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import databases
import octavia_noop
import oslo_messaging
from octavia.api import app
from octavia.common import config as octavia_config
from octavia.common import constants, rpc
from octavia.controller.queue.v2 import endpoints
from octavia.db import api, base_models, models
from oslo_config import cfg

NAMES = (
    (models.ProvisioningStatus, constants.SUPPORTED_PROVISIONING_STATUSES),
    (models.OperatingStatus, constants.SUPPORTED_OPERATING_STATUSES),
    (models.HealthMonitorType, constants.SUPPORTED_HEALTH_MONITOR_TYPES),
    (models.Algorithm, constants.SUPPORTED_LB_ALGORITHMS),
    (models.Protocol, constants.SUPPORTED_PROTOCOLS),
    (models.SessionPersistenceType, constants.SUPPORTED_SP_TYPES),
    (models.AmphoraRoles, constants.SUPPORTED_AMPHORA_ROLES),
    (models.LBTopology, constants.SUPPORTED_LB_TOPOLOGIES),
    (models.VRRPAuthMethod, constants.SUPPORTED_VRRP_AUTH),
    (models.L7RuleType, constants.SUPPORTED_L7RULE_TYPES),
    (models.L7RuleCompareType, constants.SUPPORTED_L7RULE_COMPARE_TYPES),
    (models.L7PolicyAction, constants.SUPPORTED_L7POLICY_ACTIONS),
    (models.ClientAuthenticationMode, constants.SUPPORTED_CLIENT_AUTH_MODES),
)


def prepare(config: Path, _url: str) -> None:
    """Create the tables from the models, and fill those of names, as Octavia's own tests do.

    The migrations of Octavia do not support sqlite.
    """
    octavia_config.init(['--config-file', str(config)])
    octavia_noop.accept_sqlite()
    engine = api.get_engine()
    databases.create(base_models.BASE.metadata, engine)
    session = api.get_session()
    with session.begin():
        session.add_all(model(name=name) for model, names in NAMES for name in names)


def application(config: Path) -> Callable[..., Any]:
    octavia_noop.patch(config.parent.parent / 'octavia-noop-network.db')
    made = app.setup_app(argv=['octavia', '--config-file', str(config)])
    target = oslo_messaging.Target(
        topic=constants.TOPIC_AMPHORA_V2, server=cfg.CONF.host, fanout=False
    )
    rpc.get_server(target, [endpoints.Endpoints()]).start()
    return made
