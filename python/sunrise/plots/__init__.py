"""Plots of fitted models. They need matplotlib, which is imported only when a plot is drawn."""

from sunrise.plots.densities import DensityDisplay

__all__ = ["DensityDisplay"]
