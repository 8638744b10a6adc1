"""The programs: placement-worker, placement-policy and placement-worker-status."""
