"""The actions that Senlin has (senlin/common/consts.py of release 16), by their own names."""

CLUSTER_CREATE = 'CLUSTER_CREATE'
CLUSTER_DELETE = 'CLUSTER_DELETE'
CLUSTER_SCALE_OUT = 'CLUSTER_SCALE_OUT'
CLUSTER_SCALE_IN = 'CLUSTER_SCALE_IN'
CLUSTER_RESIZE = 'CLUSTER_RESIZE'
CLUSTER_ADD_NODES = 'CLUSTER_ADD_NODES'
CLUSTER_DEL_NODES = 'CLUSTER_DEL_NODES'
CLUSTER_REPLACE_NODES = 'CLUSTER_REPLACE_NODES'
NODE_CREATE = 'NODE_CREATE'
NODE_DELETE = 'NODE_DELETE'
NODE_RECOVER = 'NODE_RECOVER'

# Actions whose policies need the node of the action.
OF_A_NODE = frozenset({NODE_CREATE, NODE_DELETE, NODE_RECOVER})

# Actions that may delete nodes; `inputs.candidates` names them.
REMOVING = frozenset({
    CLUSTER_SCALE_IN, CLUSTER_RESIZE, CLUSTER_DEL_NODES, CLUSTER_REPLACE_NODES, NODE_DELETE,
})  # fmt: skip

# The `cause` of an action of a node that is part of an action of its cluster. The policies have
# decided on the action of the cluster.
DERIVED = 'Derived Action'
