"""Mathematics without data frames: special functions, conjugate posteriors, evidence, bandwidths, bin edges, maximum
likelihood of the Dirichlet-multinomial distribution."""
