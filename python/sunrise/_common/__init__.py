"""Definitions that every folder uses: array type aliases, class labels, warnings and the number of threads."""
