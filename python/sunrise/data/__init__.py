"""Data: reading tables and labels into what the engines take."""
