"""The decision log: records of decisions, and their replay."""
