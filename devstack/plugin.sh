#!/usr/bin/env bash
# Installs, configures and runs placement-worker in DevStack, with Senlin or without.
#
# DevStack sources this file once a phase, in the shell of all other plugins: what is set here stays set there.

_XTRACE_PLACEMENT_WORKER=$(set +o | grep xtrace)
set +o xtrace

# Without the extra "senlin", which would bring a Senlin of PyPI and its old libraries: DevStack has its own.
function install_placement_worker {
    setup_develop "$PLACEMENT_WORKER_DIR"
}

# A trust can be used by its trustee alone, and that of Senlin's trusts is Senlin's own service user.
function _placement_worker_service_user {
    if is_service_enabled sl-eng; then
        echo senlin
    else
        echo placement-worker
    fi
}

function create_placement_worker_accounts {
    if is_service_enabled key && ! is_service_enabled sl-eng; then
        create_service_user placement-worker
    fi
}

# On another machine, the stack of that machine creates the virtual host of RabbitMQ.
function create_placement_worker_vhost {
    if [[ -z "$(get_transport_url "$PLACEMENT_WORKER_VHOST")" ]]; then
        die $LINENO "placement-worker needs RabbitMQ: enable_service rabbit, or set RABBIT_HOST and RABBIT_PASSWORD"
    fi
    if is_service_enabled rabbit; then
        rpc_backend_add_vhost "$PLACEMENT_WORKER_VHOST"
        # RabbitMQ 4.3 would keep the requests of a host that vanished for a minute. Older releases refuse the policy, and
        # need none.
        sudo rabbitmqctl set_policy -p "$PLACEMENT_WORKER_VHOST" --apply-to quorum_queues placement-worker \
            '^placement-worker' '{"consumer-disconnected-timeout": 10000}' || true
    fi
}

function configure_placement_worker {
    local conf=$PLACEMENT_WORKER_CONF

    sudo install -d -o "$STACK_USER" -m 0750 "$PLACEMENT_WORKER_CONF_DIR"
    # The file holds passwords; nothing of an earlier stack stays in it.
    install -m 0600 /dev/null "$conf"

    iniset "$conf" DEFAULT debug "$ENABLE_DEBUG_LOG_LEVEL"
    setup_logging "$conf"
    iniset_rpc_backend placement-worker "$conf" DEFAULT "$PLACEMENT_WORKER_VHOST"
    iniset "$conf" cloud backend "$PLACEMENT_WORKER_CLOUD_BACKEND"
    if [[ "$PLACEMENT_WORKER_CLOUD_BACKEND" == inventory ]]; then
        iniset "$conf" cloud inventory_file "$PLACEMENT_WORKER_INVENTORY_FILE"
    fi
    _configure_placement_worker_auth "$conf"
}

function _configure_placement_worker_auth {
    local conf=$1

    configure_keystoneauth "$conf" "$(_placement_worker_service_user)" service_auth
    # What it writes is deprecated, and keystoneauth refuses a group that has both, if only by a default.
    inidelete "$conf" service_auth interface
    iniset "$conf" service_auth valid_interfaces public
    iniset "$conf" service_auth region_name "$REGION_NAME"
}

# Also if Senlin's plugin comes later in local.conf: since its first phase it says where its file is, but the folder may
# not be there yet.
function configure_senlin_for_placement_worker {
    sudo install -d -o "$STACK_USER" "$(dirname "$SENLIN_CONF")"
    iniset "$SENLIN_CONF" placement_worker transport_url "$(get_transport_url "$PLACEMENT_WORKER_VHOST")"
}

function start_placement_worker {
    run_process placement-worker \
        "$(get_python_exec_prefix)/placement-worker --config-file $PLACEMENT_WORKER_CONF"
}

function wait_for_placement_worker {
    local ping
    ping="$(get_python_exec_prefix)/placement-policy ping --config-file $PLACEMENT_WORKER_CONF --timeout 5"

    echo "Waiting for placement-worker to answer..."
    if ! timeout "$SERVICE_TIMEOUT" sh -c "until $ping; do sleep 1; done"; then
        die $LINENO "placement-worker did not answer: journalctl --unit devstack@placement-worker.service says why"
    fi
}

function stop_placement_worker {
    stop_process placement-worker
}

# 1 is a warning: something is not as it is in production.
function check_placement_worker {
    local status=0
    "$(get_python_exec_prefix)/placement-worker-status" --config-file "$PLACEMENT_WORKER_CONF" upgrade check ||
        status=$?
    if (( status > 1 )); then
        die $LINENO "placement-worker is not set up as it should be: see the table above"
    fi
}

function cleanup_placement_worker {
    sudo rm -rf "$PLACEMENT_WORKER_CONF_DIR"
    if is_service_enabled rabbit; then
        # The broker may be gone by now.
        sudo rabbitmqctl delete_vhost "$PLACEMENT_WORKER_VHOST" || true
    fi
}

if is_service_enabled placement-worker; then
    case "$1 $2" in
        "stack install")
            echo_summary "Installing placement-worker"
            install_placement_worker
            ;;
        "stack post-config")
            echo_summary "Configuring placement-worker"
            create_placement_worker_accounts
            create_placement_worker_vhost
            configure_placement_worker
            if is_service_enabled sl-eng; then
                configure_senlin_for_placement_worker
            fi
            ;;
        "stack extra")
            echo_summary "Starting placement-worker"
            start_placement_worker
            wait_for_placement_worker
            ;;
        "stack test-config")
            check_placement_worker
            ;;
        "unstack ")
            stop_placement_worker
            ;;
        "clean ")
            cleanup_placement_worker
            ;;
    esac
fi

$_XTRACE_PLACEMENT_WORKER
