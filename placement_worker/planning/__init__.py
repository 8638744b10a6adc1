"""The planners: pure functions without I/O, clock, configuration or log."""
