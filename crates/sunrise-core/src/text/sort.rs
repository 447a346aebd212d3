//! Sorts the cells of one row by column.

/// Rows below this length are sorted by comparison.
const SMALL: usize = 64;
/// Most bits of one pass: the counters of its buckets stay in the first-level cache.
const MOST_BITS: u32 = 9;

/// Sorts cells by column: the column, of `bits` bits, is in the upper half of the number, the count in the lower.
///
/// No column occurs twice. Long rows are sorted by radix, some bits of the column at a time, lowest first.
pub fn sort(cells: &mut Vec<u64>, spare: &mut Vec<u64>, bits: u32) {
    if cells.len() < SMALL {
        cells.sort_unstable();
        return;
    }
    let passes = bits.div_ceil(MOST_BITS).max(1);
    let width = bits.div_ceil(passes);
    spare.clear();
    spare.resize(cells.len(), 0);
    for pass in 0..passes {
        let bucket = |cell: u64| (cell >> (32 + pass * width)) as usize & ((1 << width) - 1);
        let mut next = [0_u32; 1 << MOST_BITS];
        cells.iter().for_each(|&cell| next[bucket(cell)] += 1);
        let mut sum = 0;
        for next in &mut next[..1 << width] {
            (*next, sum) = (sum, sum + *next);
        }
        for &cell in cells.iter() {
            let next = &mut next[bucket(cell)];
            spare[*next as usize] = cell;
            *next += 1;
        }
        std::mem::swap(cells, spare);
    }
}

/// Number of bits of the numbers below `most`.
pub fn bits(most: usize) -> u32 {
    usize::BITS - most.saturating_sub(1).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn cells_are_sorted_by_column(columns in prop::collection::btree_set(0_u64..1 << 31, 0..300), cut in 0_u32..31) {
            let most = 1_usize << (31 - cut);
            let cells = columns.iter().map(|column| column % most as u64);
            let distinct: std::collections::BTreeSet<u64> = cells.collect();
            let expected: Vec<u64> = distinct.iter().map(|column| column << 32 | (column % 7)).collect();
            let mut cells = expected.clone();
            cells.sort_unstable_by_key(|cell| cell.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            sort(&mut cells, &mut Vec::new(), bits(most));
            prop_assert_eq!(cells, expected);
        }
    }

    #[test]
    fn bits_are_enough_and_no_more() {
        assert_eq!([0, 1, 2, 3, 4, 5, 1 << 31].map(bits), [0, 0, 1, 2, 2, 3, 31]);
    }
}
