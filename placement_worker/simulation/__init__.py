"""Play scenarios through the real chain on the embedded cloud, and show what becomes of the
cluster.
"""
