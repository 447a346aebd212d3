//! Positions of numbers among sorted points.

/// Finds numbers among sorted points: equal buckets of the line lead to a few neighbours each.
#[derive(Debug)]
pub(super) struct Finder {
    low: f64,
    per_unit: f64,
    /// The first point of each bucket, and the end of the last one.
    first: Vec<u32>,
}

impl Finder {
    pub(super) fn new(points: &[f64]) -> Finder {
        let n = points.len() / 4 + 1;
        let (low, high) = (points.first().copied().unwrap_or(0.0), points.last().copied().unwrap_or(0.0));
        let per_unit = n as f64 / (high - low);
        let per_unit = if per_unit.is_finite() { per_unit } else { 0.0 };
        let mut finder = Finder { low, per_unit, first: vec![0; n + 1] };
        for &v in points {
            let bucket = finder.bucket(v);
            finder.first[bucket + 1] += 1;
        }
        for k in 0..n {
            finder.first[k + 1] += finder.first[k];
        }
        finder
    }

    #[inline(always)]
    fn bucket(&self, x: f64) -> usize {
        (((x - self.low) * self.per_unit) as usize).min(self.first.len() - 2)
    }

    #[inline(always)]
    pub(super) fn position(&self, points: &[f64], x: f64) -> Option<usize> {
        let bucket = self.bucket(x);
        let (from, to) = (self.first[bucket] as usize, self.first[bucket + 1] as usize);
        let at = from + points[from..to].partition_point(|&v| v < x);
        (points.get(at) == Some(&x)).then_some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_point_is_found_and_nothing_else() {
        for points in [vec![], vec![3.0], vec![-1e300, 0.0, 1.0, 1.5, 1e300], vec![0.0, 1e-300, 5.0, 5.5]] {
            let finder = Finder::new(&points);
            for (k, v) in points.iter().enumerate() {
                assert_eq!(finder.position(&points, *v), Some(k));
            }
            for x in [-2.0, 0.5, 4.0, f64::INFINITY, f64::NEG_INFINITY] {
                assert_eq!(finder.position(&points, x), None);
            }
        }
    }
}
