"""The decision log: records of decisions, their replay, and what they say about nodes and clusters.

Read `records` first: what a line holds, how it is written and read. `masking` takes the secrets out
of a line, `replay` decides it again, `node_history` and `cluster_history` answer questions of
operators, and `explanations` reads replies, also for `placement-policy plan`. The package imports
handlers, policies and the intercepted cloud; `cmd` and `worker` import it.
"""
