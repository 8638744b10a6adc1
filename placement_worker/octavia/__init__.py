"""Load balancers and pools on top of the API of Octavia."""
