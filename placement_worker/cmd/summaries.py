"""The summary of each command.

They stand apart from the commands because importing all commands takes longer than printing the
overview of `placement-policy --help`.
"""

from collections.abc import Mapping

SUMMARIES: Mapping[str, str] = {
    'attach': 'Attach policies to clusters; load balancing creates a load balancer and members.',
    'check': 'Decide policy checks, and show the decision of each policy.',
    'clusters': 'List the clusters of decision logs with their nodes by zone.',
    'completion': 'Print the script that completes commands in bash, fish or zsh.',
    'cordon add': 'Close a zone or a region for new nodes until a time.',
    'cordon list': 'List the cordons, including those that have ended.',
    'cordon remove': 'Open cordoned places again, or remove cordons that have ended.',
    'detach': 'Detach policies from clusters; load balancing deletes what attaching created.',
    'parked drop': 'Delete a parked request permanently.',
    'parked list': 'List the parked requests, oldest first.',
    'parked retry': 'Send a parked request to the workers again.',
    'parked show': 'Show a parked request with its secrets masked.',
    'ping': 'Check whether a running worker replies: any worker, or the worker on a host.',
    'plan': 'Show the changes that policy checks would make, without making them.',
    'rebalance': 'Plan the steps that lead the nodes of a cluster to their best counts.',
    'replay': 'Repeat the decisions of a decision log, and show every difference.',
    'schema': 'Print the JSON Schema of a message, or list the messages.',
    'simulate': 'Play a scenario on the embedded cloud, with tables, pictures and a report.',
    'type list': 'List the policy types.',
    'type show': 'Show a policy type with the schema of its properties.',
    'validate': 'Validate policy specs, and print them with their defaults.',
    'why': 'Show what decision logs say about a node, an action or a cluster, and the reasons.',
}
