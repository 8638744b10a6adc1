"""Load balancers and pools on top of Octavia's API."""
