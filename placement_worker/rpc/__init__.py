"""The worker's messages: what it answers, how it is reached, and how to call it."""
