//! Fewer points for crowded parts of the line: Gauss quadrature of the points themselves.
//!
//! The points of a cell of [`CELL`] bandwidths become [`NODES`] points with the same first 2 [`NODES`] moments and positive
//! weights. With b half the cell and He Hermite's polynomials, a kernel at distance z changes by at most
//! 4 (b / 2)^12 |He_12(z)| / 12! of itself: 2e-11 at [`NEAR`] bandwidths, less nearby.

/// Width of a cell, in bandwidths.
const CELL: f64 = 0.25;
/// Points of a rule.
const NODES: usize = 6;
/// Distance from the points, in bandwidths, up to which a rule stands for its points.
pub(super) const NEAR: f64 = 10.0;

/// Largest point, in bandwidths: beyond, the rounding of a node would count.
const FARTHEST: f64 = 1e5;

/// Points and weights in rising order; cells with more than twice as many points as a rule are merged.
///
/// `None` if no cell is that crowded.
pub(super) fn merged(points: &[f64], weight: &[f64], width: f64) -> Option<(Vec<f64>, Vec<f64>)> {
    let size = CELL * width;
    if points.first()?.abs().max(points.last()?.abs()) > FARTHEST * width {
        return None;
    }
    let (mut nodes, mut weights) = (Vec::new(), Vec::new());
    let (mut t, mut crowded, mut from) = (Vec::new(), false, 0);
    while from < points.len() {
        let middle = points[from] + 0.5 * size;
        // Steps of doubling length find the end of the cell in time that grows with the logarithm of its points.
        let mut step = 1;
        while from + step < points.len() && points[from + step] <= points[from] + size {
            step *= 2;
        }
        let last = points.len().min(from + step);
        let to = from + points[from..last].partition_point(|&v| v <= points[from] + size);
        let (inside, own) = (&points[from..to], &weight[from..to]);
        from = to;
        if inside.len() <= 2 * NODES {
            nodes.extend_from_slice(inside);
            weights.extend_from_slice(own);
            continue;
        }
        crowded = true;
        t.clear();
        t.extend(inside.iter().map(|v| (v - middle) / (0.5 * size)));
        for (node, share) in rule(&t, own) {
            nodes.push((middle + node * 0.5 * size).clamp(inside[0], inside[inside.len() - 1]));
            weights.push(share);
        }
    }
    crowded.then_some((nodes, weights))
}

/// The Gauss rule of weighted points between -1 and 1: nodes in rising order with their weights.
fn rule(t: &[f64], weight: &[f64]) -> Vec<(f64, f64)> {
    let total: f64 = weight.iter().sum();
    let (mut diagonal, mut beside) = (Vec::with_capacity(NODES), Vec::with_capacity(NODES));
    // Stieltjes' procedure: the recurrence of the polynomials that are orthogonal on the points.
    let (mut last, mut own) = (vec![0.0; t.len()], vec![1.0; t.len()]);
    let (mut norm, mut ratio) = (total, 0.0);
    while diagonal.len() < NODES {
        let first: f64 = (0..t.len()).map(|i| weight[i] * t[i] * own[i] * own[i]).sum();
        let centre = first / norm;
        diagonal.push(centre);
        let mut next = 0.0;
        for i in 0..t.len() {
            let value = (t[i] - centre) * own[i] - ratio * last[i];
            last[i] = own[i];
            own[i] = value;
            next += weight[i] * value * value;
        }
        // Points that coincide but for rounding need fewer nodes.
        if next <= 1e-24 * total {
            break;
        }
        ratio = next / norm;
        norm = next;
        beside.push(ratio.sqrt());
    }
    beside.truncate(diagonal.len() - 1);
    let mut first = vec![0.0; diagonal.len()];
    first[0] = 1.0;
    diagonalise(&mut diagonal, &mut beside, &mut first);
    let mut nodes: Vec<(f64, f64)> =
        diagonal.into_iter().zip(&first).map(|(node, q)| (node, total * q * q)).collect();
    nodes.sort_by(|a, b| a.0.total_cmp(&b.0));
    nodes.retain(|(_, weight)| *weight > 0.0);
    nodes
}

/// Eigenvalues of a symmetric tridiagonal matrix, in place, and the first components of its eigenvectors.
///
/// Implicit QR steps with Wilkinson's shift (Golub and Van Loan, Matrix Computations, section 8.3).
fn diagonalise(d: &mut [f64], e: &mut [f64], first: &mut [f64]) {
    let mut end = d.len() - 1;
    // A matrix of this size needs two or three steps for each eigenvalue; the limit guards against endless loops.
    for _ in 0..40 * d.len() {
        while end > 0 && e[end - 1].abs() <= f64::EPSILON * (d[end - 1].abs() + d[end].abs()) {
            end -= 1;
        }
        if end == 0 {
            return;
        }
        let mut start = end - 1;
        while start > 0 && e[start - 1].abs() > f64::EPSILON * (d[start - 1].abs() + d[start].abs()) {
            start -= 1;
        }
        let half = 0.5 * (d[end - 1] - d[end]);
        let off = e[end - 1];
        let shift = d[end] - off * off / (half + half.hypot(off).copysign(half));
        let (mut x, mut z) = (d[start] - shift, e[start]);
        for k in start..end {
            let r = x.hypot(z);
            let (c, s) = if r > 0.0 { (x / r, z / r) } else { (1.0, 0.0) };
            if k > start {
                e[k - 1] = r;
            }
            let (low, high, off) = (d[k], d[k + 1], e[k]);
            d[k] = c * c * low + 2.0 * c * s * off + s * s * high;
            d[k + 1] = s * s * low - 2.0 * c * s * off + c * c * high;
            e[k] = c * s * (high - low) + (c * c - s * s) * off;
            let (a, b) = (first[k], first[k + 1]);
            first[k] = c * a + s * b;
            first[k + 1] = c * b - s * a;
            if k + 1 < end {
                x = e[k];
                z = s * e[k + 1];
                e[k + 1] *= c;
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_has_the_moments_of_its_points() {
        let points: Vec<f64> = (0..5000).map(|k| 0.03 * f64::from(k).sqrt()).collect();
        let weight: Vec<f64> = (0..5000).map(|k| 1.0 + f64::from(k % 7)).collect();
        let (nodes, weights) = merged(&points, &weight, 1.0).unwrap();
        assert!(nodes.len() < 80 && nodes.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(weights.iter().all(|&w| w > 0.0));
        let sum = |x: &[f64], w: &[f64], at: f64| -> f64 {
            x.iter().zip(w).map(|(v, w)| w * (-0.5 * (at - v) * (at - v)).exp()).sum()
        };
        for at in [-9.0, -3.0, 0.0, 1.1, 2.0, 6.5, 11.0] {
            let (few, all) = (sum(&nodes, &weights, at), sum(&points, &weight, at));
            assert!((few / all - 1.0).abs() < 3e-11, "{at}: {few} {all}");
        }
    }

    #[test]
    fn points_that_nearly_coincide_get_fewer_nodes() {
        let points: Vec<f64> =
            (0..40).map(|k| if k < 20 { 1.0 } else { 1.0 + 1e-15 * f64::from(k) }).collect();
        let (nodes, weights) = merged(&points, &[0.5; 40], 1.0).unwrap();
        assert!(nodes.len() <= NODES && (weights.iter().sum::<f64>() - 20.0).abs() < 1e-12);
        assert!(nodes.iter().all(|v| (v - 1.0).abs() < 1e-13));
    }

    #[test]
    fn sparse_points_stay() {
        let points: Vec<f64> = (0..500).map(f64::from).collect();
        assert!(merged(&points, &[1.0; 500], 2.0).is_none());
    }
}
