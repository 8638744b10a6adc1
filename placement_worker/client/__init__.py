"""The RPC client for engines."""
