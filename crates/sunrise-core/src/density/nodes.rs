//! Sorted values on lattices: each value shares its weight between the two nodes around it.

use super::lattice::split;
use crate::fault::Fault;
use crate::parallel::run;

/// Distinct values in rising order, with the number of rows and the weight of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    #[allow(missing_docs)]
    pub x: Vec<f64>,
    #[allow(missing_docs)]
    pub rows: Vec<i64>,
    #[allow(missing_docs)]
    pub weight: Vec<f64>,
}

impl Values {
    /// Adds rows and weight of a node, unless it has none.
    #[inline(always)]
    fn push(&mut self, x: f64, (rows, weight): (i64, f64)) {
        if rows > 0 {
            self.x.push(x);
            self.rows.push(rows);
            self.weight.push(weight);
        }
    }
}

/// The nodes of values in rising order; a value is a row of both nodes that have a share of it.
fn on_lattice(x: &[f64], rows: &[i64], weight: &[f64], step: f64) -> Values {
    let mut nodes = Values::default();
    // The two nodes around the last value: values rise, so those before are complete.
    let (mut at, mut own) = ([f64::NEG_INFINITY; 2], [(0, 0.0); 2]);
    for ((&x, &rows), &weight) in x.iter().zip(rows).zip(weight) {
        let [(below, rest), (above, share)] = split(x, step, |node| node);
        if below != at[0] {
            nodes.push(at[0], own[0]);
            if below == at[1] {
                own = [own[1], (0, 0.0)];
            } else {
                nodes.push(at[1], own[1]);
                own = [(0, 0.0); 2];
            }
            at = [below, above];
        }
        for ((n, sum), share) in own.iter_mut().zip([rest, share]) {
            *n += if share > 0.0 { rows } else { 0 };
            *sum += weight * share;
        }
    }
    nodes.push(at[0], own[0]);
    nodes.push(at[1], own[1]);
    nodes
}

/// Puts runs of values on lattices: run k is between offsets k and k + 1, with a node at every multiple of step k.
///
/// A run with step 0 stays. Values must rise within a run.
pub fn on_lattices(
    x: &[f64],
    rows: &[i64],
    weight: &[f64],
    offsets: &[i64],
    steps: &[f64],
    threads: usize,
) -> Result<Vec<Values>, Fault> {
    let n = x.len();
    let rising = offsets.windows(2).all(|pair| pair[0] <= pair[1]);
    let inside = offsets.iter().all(|&k| usize::try_from(k).is_ok_and(|k| k <= n));
    let fits = rows.len() == n && weight.len() == n && offsets.len() == steps.len() + 1;
    if !(fits && rising && inside && steps.iter().all(|&step| step >= 0.0)) {
        return Err(Fault::shape("the values do not fit their runs"));
    }
    Ok(run(threads, (0..steps.len()).collect(), |k| {
        let own = offsets[k] as usize..offsets[k + 1] as usize;
        let (x, rows, weight) = (&x[own.clone()], &rows[own.clone()], &weight[own]);
        if steps[k] > 0.0 {
            on_lattice(x, rows, weight, steps[k])
        } else {
            Values { x: x.to_vec(), rows: rows.to_vec(), weight: weight.to_vec() }
        }
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn values_share_their_weight_between_the_nodes_around_them() {
        // 0.25 is a node, 0.5 - 2^-9 nearly one; no value is next to 1.75.
        let (x, rows) = ([-0.375, 0.25, 0.3125, 0.498046875, 1.5], [1, 2, 1, 4, 1]);
        let weight = [1.0, 2.0, 1.0, 4.0, 0.5];
        let found = on_lattices(&x, &rows, &weight, &[0, 5, 5], &[0.25, 0.5], 2).unwrap();
        assert_eq!(found[0].x, [-0.5, -0.25, 0.25, 0.5, 1.5]);
        assert_eq!(found[0].rows, [1, 1, 3, 5, 1]);
        assert_eq!(found[0].weight, [0.5, 0.5, 2.75, 4.25, 0.5]);
        assert_eq!(found[1], Values::default());
        let same = on_lattices(&x, &rows, &weight, &[0, 5], &[0.0], 1).unwrap();
        assert_eq!(same[0], Values { x: x.to_vec(), rows: rows.to_vec(), weight: weight.to_vec() });
        assert!(on_lattices(&x, &rows, &weight, &[0, 6], &[0.25], 1).is_err());
    }
}
