"""Position settings of published models, read from their config.json and written as its keys."""
