#!/usr/bin/env bash
# Stand-ins for those functions of DevStack that its plugins call, with the same arguments, effects and traps.
#
# Real are: sed on ini files, pip, RabbitMQ, and the processes of the units. Keystone is a list of what was asked of it.

# shellcheck disable=SC2153  # what it does not assign is in the environment

function die {
    shift
    echo "[ERROR] $*" >&2
    exit 1
}

function echo_summary {
    echo "== $*" >&2
}

function define_plugin {
    :
}

function plugin_requires {
    :
}

function is_plugin_enabled {
    [[ ",$DEVSTACK_PLUGINS," == *",$1,"* ]]
}

# Any of them, as in DevStack.
function is_service_enabled {
    local service
    for service in "$@"; do
        if [[ ",$ENABLED_SERVICES," == *",$service,"* ]]; then
            return 0
        fi
    done
    return 1
}

function enable_service {
    local service
    for service in "$@"; do
        if [[ ",$DISABLED_SERVICES," != *",$service,"* ]] && ! is_service_enabled "$service"; then
            ENABLED_SERVICES+=",$service"
        fi
    done
}

# iniset [-sudo] file section option value: a new section goes to the end, a new option under its section's head, and
# of a value that was not quoted only the first word arrives.
function iniset {
    local sudo=""
    if [[ "$1" == -sudo ]]; then
        sudo=sudo
        shift
    fi
    local file=$1 section=$2 option=$3 value=$4

    if [[ -z "$section" || -z "$option" ]]; then
        return 0
    fi
    if ! grep -q "^\[$section\]" "$file" 2>/dev/null; then
        printf '\n[%s]\n' "$section" | $sudo tee -a "$file" >/dev/null
    fi
    if grep -q "^${option}[ \t]*=" <(_ini_section "$file" "$section"); then
        inidelete "$file" "$section" "$option"
    fi
    $sudo sed -i "/^\[$section\]/a $option = $value" "$file"
}

function inidelete {
    sed -i "/^\[$2\]/,/^\[.*\]/ { /^${3}[ \t]*=/d }" "$1"
}

function _ini_section {
    sed -n "/^\[$2\]/,/^\[.*\]/p" "$1"
}

function setup_logging {
    iniset "$1" DEFAULT logging_exception_prefix "ERROR %(name)s %(instance)s"
    iniset "$1" DEFAULT logging_default_format_string "%(color)s%(levelname)s %(name)s [-%(color)s] %(message)s"
}

# Unlike the real one it takes the broker's port from RABBIT_PORT.
function get_transport_url {
    if is_service_enabled rabbit || [[ -n "$RABBIT_HOST" && -n "$RABBIT_PASSWORD" ]]; then
        echo "rabbit://$RABBIT_USERID:$RABBIT_PASSWORD@$RABBIT_HOST:$RABBIT_PORT/$1"
    fi
}

function iniset_rpc_backend {
    if is_service_enabled rabbit || [[ -n "$RABBIT_HOST" && -n "$RABBIT_PASSWORD" ]]; then
        iniset "$2" "${3:-DEFAULT}" transport_url "$(get_transport_url "$4")"
    fi
}

function rpc_backend_add_vhost {
    if ! is_service_enabled rabbit; then
        return 1
    fi
    if ! sudo rabbitmqctl list_vhosts | grep -qx "$1"; then
        sudo rabbitmqctl add_vhost "$1"
        sudo rabbitmqctl set_permissions -p "$1" "$RABBIT_USERID" ".*" ".*" ".*"
    fi
}

function create_service_user {
    echo "user $1 ${2:-}" >> "$KEYSTONE"
}

function configure_keystoneauth {
    local conf=$1 user=$2 section=${3:-keystone_authtoken}

    iniset "$conf" "$section" auth_type password
    iniset "$conf" "$section" interface public
    iniset "$conf" "$section" auth_url "$KEYSTONE_SERVICE_URI"
    iniset "$conf" "$section" username "$user"
    iniset "$conf" "$section" password "$SERVICE_PASSWORD"
    iniset "$conf" "$section" user_domain_name Default
    iniset "$conf" "$section" project_name service
    iniset "$conf" "$section" project_domain_name Default
}

# GLOBAL_VENV is the default of DevStack.
function get_python_exec_prefix {
    echo "$DEVSTACK_VENV/bin"
}

# setup_develop folder [extras]: the name for the constraints is read from setup.cfg. Extras are noted.
function setup_develop {
    local name
    name=$(awk '/^name.*=/ {print $3}' "$1/setup.cfg")
    echo "$name ${2:-}" >> "$DEST/installed"
    "$PYTHON" -m pip --quiet --disable-pip-version-check --python "$DEVSTACK_VENV" install \
        -c "$DEST/requirements/upper-constraints.txt" -e "$1"
    chown -R "$STACK_USER" "$1"/*.egg-info
}

# run_process service command [group] [user]
function run_process {
    local unit="devstack@$1.service"
    if ! is_service_enabled "$1"; then
        return 0
    fi
    if [[ "$2" != /* ]]; then
        die $LINENO "The command \"$2\" does not start with an absolute path."
    fi
    iniset -sudo "$SYSTEMD_DIR/$unit" Unit Description "Devstack $unit"
    iniset -sudo "$SYSTEMD_DIR/$unit" Service User "${4:-$STACK_USER}"
    iniset -sudo "$SYSTEMD_DIR/$unit" Service ExecStart "$2"
    iniset -sudo "$SYSTEMD_DIR/$unit" Service KillMode process
    iniset -sudo "$SYSTEMD_DIR/$unit" Service TimeoutStopSec 300
    sudo systemctl daemon-reload
    sudo systemctl enable "$unit"
    sudo systemctl start "$unit"
}

function stop_process {
    if is_service_enabled "$1" && sudo systemctl is-enabled "devstack@$1.service"; then
        sudo systemctl stop "devstack@$1.service"
        sudo systemctl disable "devstack@$1.service"
    fi
}
