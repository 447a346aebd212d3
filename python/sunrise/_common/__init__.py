"""Small things that every folder needs: array type aliases, class labels, warnings and the number of threads."""
