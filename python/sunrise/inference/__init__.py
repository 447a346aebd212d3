"""Results of a fitted model other than predictions: leave-one-out scores, calibration, intervals, EM for rows
without a label, explanations, posteriors, samples, decisions, the linear form."""
