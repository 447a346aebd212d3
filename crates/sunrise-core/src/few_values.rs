//! Columns of numbers with few distinct values, as codes.

/// The distinct values in rising order, and the position of every number among them, -1 for NaN; `None` if there are
/// more than `most`.
///
/// The search ends with the first value too many, so a column of measurements costs little.
pub fn few_values(numbers: &[f64], most: usize) -> Option<(Vec<f64>, Vec<i32>)> {
    let size = (4 * most.clamp(1, 1 << 20)).next_power_of_two();
    let mut table = vec![-1_i32; size];
    let (mut values, mut codes): (Vec<f64>, Vec<i32>) = (Vec::new(), Vec::with_capacity(numbers.len()));
    for &x in numbers {
        if x.is_nan() {
            codes.push(-1);
            continue;
        }
        // Both zeros are one value.
        let x = x + 0.0;
        let mut at = (x.to_bits().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize & (size - 1);
        let code = loop {
            let code = table[at];
            if code < 0 {
                if values.len() >= most {
                    return None;
                }
                table[at] = values.len() as i32;
                values.push(x);
                break table[at];
            }
            if values[code as usize] == x {
                break code;
            }
            at = (at + 1) & (size - 1);
        };
        codes.push(code);
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut rank = vec![0_i32; values.len()];
    for (k, &from) in order.iter().enumerate() {
        rank[from] = k as i32;
    }
    for code in codes.iter_mut().filter(|code| **code >= 0) {
        *code = rank[*code as usize];
    }
    Some((order.iter().map(|&k| values[k]).collect(), codes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_in_order_and_zeros_are_one() {
        let numbers = [3.5, -0.0, f64::NAN, 0.0, -7.0, f64::INFINITY, 3.5];
        let (values, codes) = few_values(&numbers, 4).unwrap_or_default();
        assert_eq!(values, [-7.0, 0.0, 3.5, f64::INFINITY]);
        assert_eq!(codes, [2, 1, -1, 1, 0, 3, 2]);
        assert!(few_values(&numbers, 3).is_none());
        assert_eq!(few_values(&[], 0), Some((vec![], vec![])));
    }
}
