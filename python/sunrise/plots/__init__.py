"""Plots of fitted models. They need matplotlib, which is imported only when a plot is drawn."""

from sunrise.plots.densities import DensityDisplay
from sunrise.plots.waterfall import WaterfallDisplay

__all__ = ["DensityDisplay", "WaterfallDisplay"]
