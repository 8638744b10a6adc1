"""The policy types, and the plugin interface that they share with policies of other packages.

`base` defines the interface; read it first. `registry` finds the types and creates a policy from a
spec. The placement policies are built on `resolved_places` and `shared_placement`, the deletion and
load-balancing policies on `victim_selection`. Policies import planners, the ports of the cloud and
the contract, but no handler, no transport and no configuration.
"""
