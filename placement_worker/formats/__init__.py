"""Text formats: documents, escaping and plurals; imports nothing else of this project."""
