"""The cloud as OpenStack services report it."""
