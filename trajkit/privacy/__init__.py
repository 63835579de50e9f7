"""What a release promises, and the arithmetic behind it."""
