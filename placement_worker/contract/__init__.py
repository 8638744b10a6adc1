"""The messages that engines and workers exchange: their types, names, encoding and limits.

Engines import it with the client, so besides `errors` and `formats` it imports msgspec and the
standard library only. Read `model` first, then `rpc`; `codec` decodes, and explains errors.
"""
