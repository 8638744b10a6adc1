"""The load-balancing policy."""
