"""The planners: pure functions that know no I/O, clock, configuration or log."""
