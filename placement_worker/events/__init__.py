"""The events of a worker, with which packages report without knowing who listens."""
