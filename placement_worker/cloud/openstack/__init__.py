"""Adapters for the OpenStack services Keystone, Nova, Neutron and Octavia."""
