"""Views of a cloud: ports, and adapters that implement them."""
