"""A worker that decides placement and deletion of cluster nodes and updates load balancers."""
