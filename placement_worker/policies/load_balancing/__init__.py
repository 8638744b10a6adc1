"""The load balancing policy."""
