//! Labels to codes 0, 1, 2, ... in the labels' order.

use std::collections::HashMap;

/// The distinct labels in order, and the code of every row.
pub fn integers(y: impl Iterator<Item = i64> + Clone) -> (Vec<i64>, Vec<i32>) {
    let (low, high, n) =
        y.clone().fold((i64::MAX, i64::MIN, 0_usize), |(l, h, n), v| (l.min(v), h.max(v), n + 1));
    if n == 0 {
        return (Vec::new(), Vec::new());
    }
    let span = high.wrapping_sub(low) as u64;
    if span < (4 * n as u64).max(1024) {
        let mut code = vec![-1_i32; span as usize + 1];
        for v in y.clone() {
            code[(v - low) as usize] = 0;
        }
        let mut classes = Vec::new();
        for (k, code) in code.iter_mut().enumerate().filter(|(_, code)| **code == 0) {
            *code = classes.len() as i32;
            classes.push(low + k as i64);
        }
        let codes = y.map(|v| code[(v - low) as usize]).collect();
        return (classes, codes);
    }
    let mut seen: HashMap<i64, i32> = y.clone().map(|v| (v, 0)).collect();
    let mut classes: Vec<i64> = seen.keys().copied().collect();
    classes.sort_unstable();
    for (code, label) in classes.iter().enumerate() {
        seen.insert(*label, code as i32);
    }
    let codes = y.map(|v| seen.get(&v).copied().unwrap_or(-1)).collect();
    (classes, codes)
}

/// The rows where a new label first stands, and the code of every row in order of first appearance.
///
/// Labels are `width` bytes each: fixed-width strings, compared byte by byte.
pub fn strings(bytes: &[u8], width: usize) -> (Vec<usize>, Vec<i32>) {
    let mut seen: HashMap<&[u8], i32> = HashMap::new();
    let mut first = Vec::new();
    let codes = bytes
        .chunks_exact(width.max(1))
        .enumerate()
        .map(|(row, label)| {
            *seen.entry(label).or_insert_with(|| {
                first.push(row);
                first.len() as i32 - 1
            })
        })
        .collect();
    (first, codes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn codes_lead_back_to_the_labels(y in prop::collection::vec(prop::sample::select(
            vec![i64::MIN, -7, 0, 1, 2, 1_000_000, i64::MAX]), 0..50)) {
            let (classes, codes) = integers(y.iter().copied());
            prop_assert!(classes.windows(2).all(|p| p[0] < p[1]));
            let back: Vec<i64> = codes.iter().map(|&c| classes[c as usize]).collect();
            prop_assert_eq!(back, y);
        }
    }

    #[test]
    fn strings_are_coded_as_they_come() {
        assert_eq!(strings(b"bbaabb", 2), (vec![0, 1], vec![0, 1, 0]));
    }
}
