"""The clouds that policies read and change: their interfaces, and what all of them share.

Policies and the code around them import `ports`, `snapshot`, `spec_rules` and `time_budget`. It may
import `contract`, `errors`, `events` and `formats`; only `openstack` imports the libraries of
OpenStack. Read `ports` first, then `snapshot`.
"""
