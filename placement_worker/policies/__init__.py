"""The policies, one module each, and what they are made of."""
