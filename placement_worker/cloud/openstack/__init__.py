"""OpenStack's services behind the interfaces of `cloud.ports`.

Only `worker` imports this package. Read `project_cloud` first: each lookup goes from there through
`sessions` and `retry_policy` to `http`.
"""
