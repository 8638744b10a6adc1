"""Events that the parts of the worker report, and the protocol of their listeners."""
