"""Load balancers and pools on top of Octavia's API.

This package finds, creates and removes objects by their tags, and knows neither policies nor what a
binding stores. It may import `cloud`, `events` and `errors`. Read `updater` first: every change
passes through it.
"""
