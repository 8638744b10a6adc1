"""Clouds that time, record or replay the calls of another cloud."""
