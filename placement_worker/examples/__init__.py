"""Requests and a cloud to try things out with."""
