"""Events of a worker, and the protocol of the listeners that receive them."""
