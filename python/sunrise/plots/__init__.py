"""Plots of fitted models. They need matplotlib, which is imported when something is drawn."""

from sunrise.plots.densities import DensityDisplay

__all__ = ["DensityDisplay"]
