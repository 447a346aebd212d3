"""Benchmarks of Sunrise against scikit-learn, in alternating runs of one process. Run them with `make bench`."""
