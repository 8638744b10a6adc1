"""Decides where the nodes of a cluster go, which of them die, and how the load balancer follows."""
