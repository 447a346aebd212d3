"""Forms: how a fitted block of columns scores its cells. Families produce forms, engines evaluate them."""
