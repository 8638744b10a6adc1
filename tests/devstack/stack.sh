#!/usr/bin/env bash
# What DevStack's stack.sh, unstack.sh and clean.sh do with plugins: stack.sh stack|unstack|clean [phase ...]
set -o errexit
set -o xtrace

# shellcheck source=tests/devstack/functions.sh
source "$(dirname "${BASH_SOURCE[0]}")/functions.sh"
run=$1
shift
phases=${*:-pre-install install post-config extra test-config}
declare -A GITDIR
for plugin in ${DEVSTACK_PLUGINS//,/ }; do
    GITDIR["$plugin"]=$DEST/$plugin
done

# run_plugins file [mode [phase]]
function run_plugins {
    local plugin options file=$1
    shift
    for plugin in ${DEVSTACK_PLUGINS//,/ }; do
        options=$(set +o)
        # shellcheck disable=SC1090
        source "${GITDIR["$plugin"]}/devstack/$file" "$@"
        if [[ "$(set +o)" != "$options" ]]; then
            die $LINENO "plugin $plugin changed options of the shell"
        fi
    done
}

# Names that the shell sets by itself are in neither list.
function names {
    compgen -v | grep -vE '^(_|BASH_.*|COMP_.*|FUNCNAME|LINENO|PIPESTATUS|RANDOM|SECONDS|SRANDOM|EPOCH.*)$'
    compgen -A function
}

before=
plugin=
phase=
before=$(names)
run_plugins settings
if [[ "$run" == stack ]]; then
    for phase in $phases; do
        run_plugins plugin.sh stack "$phase"
    done
else
    run_plugins plugin.sh "$run"
fi
names | grep -vxF "$before" > "$DEST/names" || true
