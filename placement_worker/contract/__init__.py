"""The messages that engines and the worker exchange: types, encoding, limits."""
