//! Lattices: a cell shares its weight between the two multiples of a step around it.
//!
//! The same rules as in `statistics/grids.py`: shares are multiples of 1/64, and a node beyond a bound is replaced by
//! its mirror image.

use super::kernels::Folds;
use crate::normalise::exp_of_negative;

/// Shares of a node are multiples of 1 / `PARTS`.
pub(super) const PARTS: f64 = 64.0;

/// The points that a cell has added to the kernels of its class, and the share of the cell in each of them.
pub(super) type Shares = [(f64, f64); 2];

/// The two nodes of a cell on the lattice of a step; a step of 0 means that the cell is a point itself.
#[inline(always)]
pub(super) fn shares(x: f64, step: f64, folds: &Folds) -> Shares {
    if step == 0.0 {
        return [(x, 1.0), (x, 0.0)];
    }
    split(x, step, |node| reflected(node, folds))
}

/// The multiples of a step around a cell, each replaced by `node` of it, and the shares of the cell in them.
#[inline(always)]
pub(super) fn split(x: f64, step: f64, node: impl Fn(f64) -> f64) -> Shares {
    let place = x / step;
    let below = place.floor();
    let upper = share_of_upper(place - below);
    [(node(below * step), 1.0 - upper), (node((below + 1.0) * step), upper)]
}

/// Replaces positions of cells, in steps, by the kernels of the cells at the cells themselves, in heights of a kernel.
///
/// `step` is in bandwidths. A kernel is the weighted sum of those about the two nodes of its cell.
#[inline(always)]
pub(super) fn kernels_on_lattice(cells: &mut [f64], step: f64) {
    if step <= FINE {
        cells.iter_mut().for_each(
            #[inline(always)]
            |cell| *cell = kernel(*cell, step, exp_of_small),
        );
    } else {
        cells.iter_mut().for_each(
            #[inline(always)]
            |cell| *cell = kernel(*cell, step, exp_of_negative),
        );
    }
}

#[inline(always)]
fn kernel(place: f64, step: f64, exp: impl Fn(f64) -> f64) -> f64 {
    let part = place - place.floor();
    let (below, above) = (part * step, (1.0 - part) * step);
    let (below, above) = (exp(-0.5 * below * below), exp(-0.5 * above * above));
    below + share_of_upper(part) * (above - below)
}

/// Largest step, in bandwidths, of usual lattices.
const FINE: f64 = 0.125;

/// exp(t) for t from -FINE^2 / 2 to 0; the next term of the series would be 3e-16.
#[inline(always)]
fn exp_of_small(t: f64) -> f64 {
    1.0 + t * (1.0 + t * (0.5 + t * (1.0 / 6.0 + t * (1.0 / 24.0 + t * (1.0 / 120.0)))))
}

/// The share of the node above a cell, `part` of a step above the node below.
#[inline(always)]
fn share_of_upper(part: f64) -> f64 {
    (part * PARTS).round_ties_even() / PARTS
}

/// A position between the bounds whose kernel, with its reflections, is the same.
#[inline(always)]
pub(super) fn reflected(x: f64, folds: &Folds) -> f64 {
    let (lower, upper) = (folds.lower, folds.upper);
    match (lower.is_finite(), upper.is_finite()) {
        (true, true) => {
            let distance = (x - lower).rem_euclid(2.0 * (upper - lower));
            lower + distance.min(2.0 * (upper - lower) - distance)
        }
        (true, false) => lower + (x - lower).abs(),
        (false, true) => upper - (upper - x).abs(),
        (false, false) => x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(lower: f64, upper: f64) -> Folds {
        Folds { log: false, lower, upper, images: vec![(1.0, 0.0)] }
    }

    #[test]
    fn a_cell_is_split_between_the_nodes_around_it() {
        let everywhere = bounds(f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!(shares(0.3125, 0.25, &everywhere), [(0.25, 0.75), (0.5, 0.25)]);
        assert_eq!(shares(-0.0625, 0.25, &everywhere), [(-0.25, 0.25), (0.0, 0.75)]);
        assert_eq!(shares(3.7, 0.0, &everywhere), [(3.7, 1.0), (3.7, 0.0)]);
    }

    #[test]
    fn the_kernel_at_the_cell_is_that_of_both_nodes() {
        for (x, step, width) in [(0.3, 0.25, 2.0), (-7.03, 0.5, 1.0), (4.0, 4.0, 5.0), (3.9, 0.125, 1.0)] {
            let nodes = shares(x, step, &bounds(f64::NEG_INFINITY, f64::INFINITY));
            let truth: f64 = nodes.iter().map(|(v, w)| w * (-0.5 * ((x - v) / width).powi(2)).exp()).sum();
            let mut found = [x / step];
            kernels_on_lattice(&mut found, step / width);
            assert!((found[0] - truth).abs() < 1e-14);
        }
    }

    #[test]
    fn a_node_beyond_a_bound_is_reflected() {
        assert_eq!(shares(0.125, 0.25, &bounds(0.1, f64::INFINITY))[0].0, 0.2);
        assert_eq!(shares(0.9375, 0.25, &bounds(0.0, 0.9375))[1].0, 0.875);
    }
}
