"""Draw explanation.png, the picture of the README: why the model expects heart disease in one patient."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import sunrise as sr
from sunrise.datasets import load_heart_disease

heart = load_heart_disease("pandas").frame
model = sr.NaiveBayes().fit(heart, "disease")
row = heart.iloc[[8]]
why = model.explain(row)
points = why.contributions[0, 1] - why.contributions[0, 0]
start = (why.prior + why.offset[0])[1] - (why.prior + why.offset[0])[0]
order = np.argsort(-np.abs(points))[:9]
rest = points.sum() - points[order].sum()
cells = [f"{cell:g}" if isinstance(cell, float) else cell for cell in why.values[0]]
labels = ["before any column", *(f"{why.columns[j]} = {cells[j]}" for j in order), "4 other columns"]
steps = np.array([start, *points[order], rest])
ends = steps.cumsum()

fig, ax = plt.subplots(figsize=(8, 3.9), layout="constrained")
places = np.arange(len(steps))
colours = np.where(steps > 0, "#c8553d", "#2a6f97")
ax.barh(places, steps, left=ends - steps, color=colours, height=0.62)
ax.vlines(ends[:-1], places[:-1] - 0.31, places[1:] + 0.31, color="0.6", linewidth=0.8)
for place, step, end in zip(places, steps, ends, strict=True):
    ax.text(max(end, end - step) + 0.04, place, f"{step:+.2f}", va="center", fontsize=8)
ax.axvline(0, color="0.3", linewidth=0.8)
ax.set_yticks(places, labels, fontsize=9)
ax.invert_yaxis()
ax.set_xlim(min(0, ends.min(), start) - 0.15, (ends.max() if ends.max() > 0 else 0) + 0.45)
ax.set_xlabel("log-odds of heart disease: each column adds its points")
p = model.predict_proba(row)[0, 1]
ax.set_title(
    f"P(disease = yes) = {p:.0%} for a patient of {row['age'].iloc[0]} years", fontsize=11, loc="left"
)
ax.spines[["top", "right"]].set_visible(False)
fig.savefig(Path(__file__).with_suffix(".png"), dpi=130)
