"""Choice of the family of a column, by type or by leave-one-out score; mutual information with the class; duplicate
columns."""
