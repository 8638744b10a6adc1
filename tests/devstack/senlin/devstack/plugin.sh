#!/usr/bin/env bash
# Senlin's plugin, as far as it meets ours: it removes its folder when it installs, and says where its file is only
# when its first phase runs.
_XTRACE_SENLIN=$(set +o | grep xtrace)
set +o xtrace

SENLIN_CONF_DIR=$ETC/senlin
SENLIN_CONF=$SENLIN_CONF_DIR/senlin.conf

case "$1 $2" in
    "stack install" | "clean ")
        rm -rf "$SENLIN_CONF_DIR"
        ;;
    "stack post-config")
        sudo install -d "$SENLIN_CONF_DIR"
        iniset "$SENLIN_CONF" DEFAULT debug "$ENABLE_DEBUG_LOG_LEVEL"
        iniset_rpc_backend senlin "$SENLIN_CONF"
        create_service_user senlin
        ;;
esac

$_XTRACE_SENLIN
