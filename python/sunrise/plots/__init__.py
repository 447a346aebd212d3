"""Plots of fitted models, as Display classes. They need matplotlib, which is imported only when a plot is drawn."""

from sunrise.plots.confusion import ConfusionMatrixDisplay
from sunrise.plots.densities import DensityDisplay
from sunrise.plots.drift import DriftDisplay
from sunrise.plots.interaction import InteractionDisplay
from sunrise.plots.nomogram import NomogramDisplay
from sunrise.plots.parameters import ParameterImagesDisplay
from sunrise.plots.reliability import ReliabilityDisplay
from sunrise.plots.waterfall import WaterfallDisplay
from sunrise.plots.word_evidence import WordEvidenceDisplay
from sunrise.plots.words import InformativeWordsDisplay

__all__ = [
    "ConfusionMatrixDisplay",
    "DensityDisplay",
    "DriftDisplay",
    "InformativeWordsDisplay",
    "InteractionDisplay",
    "NomogramDisplay",
    "ParameterImagesDisplay",
    "ReliabilityDisplay",
    "WaterfallDisplay",
    "WordEvidenceDisplay",
]
