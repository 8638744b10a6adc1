"""The load-balancing policy: the nodes of a cluster are the members of a pool of Octavia.

Read `policy` first: it leads to the life of an attachment (`attachment`), to members that join or
leave (`member_change`), and to the choice of nodes that leave (`node_removal`). The package may
import planners, the ports of the cloud, `octavia` and the shared modules of `policies`.
"""
