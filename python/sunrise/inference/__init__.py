"""What can be inferred with a fitted model besides a label: leave-one-out scores, calibration, intervals, EM for rows
without a label, explanations, posteriors, samples, decisions, the linear form."""
