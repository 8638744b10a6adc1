"""Integrations that run inside a cluster engine: they send its requests to the workers.

Only `cmd.export` imports them. They import `client`, `contract`, `errors` and their engine;
`client_setup` has what they share. Read `senlin.checks` first, or `heat.group`.
"""
