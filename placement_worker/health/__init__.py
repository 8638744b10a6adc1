"""The health of the worker: whether its processes are alive, and ready for requests."""
