"""The processes of the worker, and the factories of the objects that they use."""
