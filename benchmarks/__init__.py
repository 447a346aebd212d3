"""Sunrise beside scikit-learn, interleaved in one process. Run with `make bench`."""
