//! Sums in a fixed number of partial sums: fast in vectors, and with the same bits on every processor.

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
