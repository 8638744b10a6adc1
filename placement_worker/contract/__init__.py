"""The messages that engines and workers exchange: their types, names, encoding and limits.

Engines import it with the client, so it imports only `errors`, `formats`, msgspec, the standard
library and typing_extensions. Read `model` first, then `rpc`; `codec` decodes, and explains errors.
"""
