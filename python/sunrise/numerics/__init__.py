"""Numerical methods on plain arrays: special functions, conjugate posteriors, evidence, bandwidths, bin edges and the
maximum likelihood fit of the Dirichlet-multinomial distribution."""
