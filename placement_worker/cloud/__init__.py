"""Interfaces to a cloud, and the adapters that implement them."""
