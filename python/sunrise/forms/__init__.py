"""Forms: the functions that score the cells of a fitted block. Families produce forms, engines evaluate them."""
