//! Sums in a fixed number of partial sums: fast in vectors, and with the same bits on every processor.

use pulp::Simd;
use std::ops::Range;

/// Partial sums of a long sum: enough to fill the widest vectors.
pub const LANES: usize = 8;

/// The total of some partial sums, 4 or a power of two above, added in a fixed order.
#[inline(always)]
pub fn folded<const L: usize>(mut sums: [f64; L]) -> f64 {
    let mut n = L;
    while n > 4 {
        n /= 2;
        for k in 0..n {
            sums[k] += sums[k + n];
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// The sum of `term` over the positions of equally long slices, in `L` partial sums.
///
/// The terms that do not fill all partial sums are added last.
#[inline(always)]
pub fn sum_of<const L: usize, const N: usize>(parts: [&[f64]; N], term: impl Fn([f64; N]) -> f64) -> f64 {
    let length = parts[0].len();
    let whole = length - length % L;
    let mut sums = [0.0; L];
    for at in (0..whole).step_by(L) {
        let part: [&[f64]; N] = parts.map(|part| &part[at..at + L]);
        for (k, sum) in sums.iter_mut().enumerate() {
            *sum += term(part.map(|part| part[k]));
        }
    }
    let mut rest = 0.0;
    for at in whole..length {
        rest += term(parts.map(|part| part[at]));
    }
    folded(sums) + rest
}

/// Partial sums of every row in [`row_sums`]: the rows together keep the vector units busy.
const FEW: usize = 8;

/// The sums of `term` over the cells of rows and the weights of their columns, one for each row.
///
/// A row has `M` numbers for each column, and a column `N` weights. Every row has eight partial sums, in as many vectors
/// as the processor needs, so that a row has the same bits in any company and on every processor. A term of zeros must
/// be 0: they fill the last vector.
#[inline(always)]
pub fn row_sums<S: Simd, const R: usize, const M: usize, const N: usize>(
    simd: S,
    rows: [[&[f64]; M]; R],
    weights: [&[f64]; N],
    term: impl Fn([S::f64s; M], [S::f64s; N]) -> S::f64s,
) -> [f64; R] {
    let vectors = FEW / S::F64_LANES;
    let whole = rows[0][0].len() / FEW * vectors;
    // Slices of one length need no check of bounds inside the loop.
    let cells = rows.map(|row| row.map(|part| &S::as_simd_f64s(part).0[..whole]));
    let parts = weights.map(|part| &S::as_simd_f64s(part).0[..whole]);
    let mut sums = [[simd.splat_f64s(0.0); FEW]; R];
    for at in (0..whole).step_by(vectors) {
        for k in 0..vectors {
            let part = parts.map(|part| part[at + k]);
            for (row, sums) in cells.iter().zip(&mut sums) {
                sums[k] = simd.add_f64s(sums[k], term(row.map(|part| part[at + k]), part));
            }
        }
    }
    let rest = rows[0][0].len() % FEW;
    if rest > 0 {
        for (k, from) in (0..rest).step_by(S::F64_LANES).enumerate() {
            let to = (from + S::F64_LANES).min(rest);
            let part = partial(simd, weights, rest, from..to);
            for (row, sums) in rows.iter().zip(&mut sums) {
                sums[k] = simd.add_f64s(sums[k], term(partial(simd, *row, rest, from..to), part));
            }
        }
    }
    sums.map(|sums| {
        let mut lanes = [0.0; FEW];
        for (to, sum) in S::as_mut_simd_f64s(&mut lanes).0.iter_mut().zip(sums) {
            *to = sum;
        }
        folded(lanes)
    })
}

/// Some of the last `rest` numbers of slices as vectors that end in zeros.
///
/// A loop, since `map` is not always compiled into its caller with wide vectors.
#[inline(always)]
fn partial<S: Simd, const N: usize>(
    simd: S,
    parts: [&[f64]; N],
    rest: usize,
    at: Range<usize>,
) -> [S::f64s; N] {
    let mut vectors = [simd.splat_f64s(0.0); N];
    for (vector, part) in vectors.iter_mut().zip(parts) {
        *vector = simd.partial_load_f64s(&part[part.len() - rest..][at.clone()]);
    }
    vectors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_any_length_are_those_of_the_terms() {
        for n in 0..40 {
            let x: Vec<f64> = (0..n).map(f64::from).collect();
            let squares: f64 = x.iter().map(|x| x * x).sum();
            assert_eq!(sum_of::<4, 2>([&x, &x], |[a, b]| a * b), squares);
            assert_eq!(sum_of::<LANES, 1>([&x], |[a]| a * a), squares);
        }
    }
}
