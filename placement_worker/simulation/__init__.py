"""Simulations: play scenarios through the real chain on the embedded cloud, and show the result."""
