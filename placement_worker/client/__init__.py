"""The RPC client for engines, over the stock client of oslo.messaging.

Engines import it, so it imports `contract`, `errors`, `formats` and `late_ack` only. Read
`rpc_client` first.
"""
