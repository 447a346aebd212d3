//! How often each number occurs in one row.

/// Counts how often each number occurs in a row; reused for the next row.
pub enum Tally {
    /// Indexed by the number: fast, with a table as long as the largest number.
    Direct(Direct),
    /// Hashed: the cost depends on the length of the row only.
    Hashed(Hashed),
}

impl Tally {
    /// A tally for numbers below `most` (larger ones are allowed), where all rows together have about `all` of them.
    pub fn new(most: usize, all: usize) -> Self {
        if most <= all {
            Tally::Direct(Direct { places: vec![0; most], counts: Vec::new(), n: 0 })
        } else {
            Tally::Hashed(Hashed { slots: vec![(0, 0); 64], row: 1, counts: Vec::new() })
        }
    }

    /// Adds one to the count of each number.
    #[inline(always)]
    pub fn add(&mut self, numbers: &[u32]) {
        match self {
            Tally::Direct(tally) => numbers.iter().for_each(|&number| tally.add(number)),
            Tally::Hashed(tally) => numbers.iter().for_each(|&number| tally.add(number)),
        }
    }

    /// Appends the numbers of the row with their counts, and begins the next row.
    pub fn take(&mut self, into: &mut Vec<(u32, u32)>) {
        match self {
            Tally::Direct(tally) => tally.take(into),
            Tally::Hashed(tally) => tally.take(into),
        }
    }
}

/// A tally indexed by the numbers.
pub struct Direct {
    /// For each number its index into the counts; stale unless the count at that index belongs to the number.
    places: Vec<u32>,
    /// The counts, and space after them.
    counts: Vec<(u32, u32)>,
    n: usize,
}

impl Direct {
    #[inline(always)]
    fn add(&mut self, number: u32) {
        if self.n == self.counts.len() {
            self.counts.resize(2 * self.n + 64, (0, 0));
        }
        if number as usize >= self.places.len() {
            self.places.resize(2 * number as usize + 1024, 0);
        }
        // Whether a number is new cannot be predicted, so there is no branch on it.
        let (place, n) = (self.places[number as usize], self.n as u32);
        let place = place.min(n);
        let (owner, count) = self.counts[place as usize];
        let new = (place == n) | (owner != number);
        let mask = u32::from(new).wrapping_neg();
        let place = (place & !mask) | (n & mask);
        self.counts[place as usize] = (number, (count & !mask).saturating_add(1));
        self.places[number as usize] = place;
        self.n += usize::from(new);
    }

    fn take(&mut self, into: &mut Vec<(u32, u32)>) {
        into.extend_from_slice(&self.counts[..self.n]);
        self.n = 0;
    }
}

/// A tally in a hash table.
pub struct Hashed {
    /// For each slot the row it was written in, and an index into the counts.
    slots: Vec<(u32, u32)>,
    row: u32,
    counts: Vec<(u32, u32)>,
}

impl Hashed {
    #[inline(always)]
    fn add(&mut self, number: u32) {
        let at = self.look(number);
        if self.slots[at].0 == self.row {
            let count = &mut self.counts[self.slots[at].1 as usize].1;
            *count = count.saturating_add(1);
            return;
        }
        self.slots[at] = (self.row, self.counts.len() as u32);
        self.counts.push((number, 1));
        if 2 * self.counts.len() > self.slots.len() {
            self.grow();
        }
    }

    /// The slot of a number, or an empty one for it.
    #[inline(always)]
    fn look(&self, number: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = (u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize & mask;
        loop {
            let (row, place) = self.slots[at];
            if row != self.row || self.counts[place as usize].0 == number {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.slots = vec![(0, 0); 4 * self.slots.len()];
        self.row = 1;
        for place in 0..self.counts.len() {
            let at = self.look(self.counts[place].0);
            self.slots[at] = (self.row, place as u32);
        }
    }

    fn take(&mut self, into: &mut Vec<(u32, u32)>) {
        into.append(&mut self.counts);
        self.row = self.row.wrapping_add(1);
        if self.row == 0 {
            self.slots.fill((0, 0));
            self.row = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn numbers_are_counted(rows in prop::collection::vec(prop::collection::vec(0_u32..400, 0..900), 0..5)) {
            for mut tally in [Tally::new(0, 0), Tally::new(400, 400), Tally::new(400, 0)] {
                for row in &rows {
                    let mut expected: BTreeMap<u32, u32> = BTreeMap::new();
                    row.iter().for_each(|&number| *expected.entry(number).or_default() += 1);
                    tally.add(row);
                    let mut found = Vec::new();
                    tally.take(&mut found);
                    found.sort_unstable();
                    prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn rows_may_be_numbered_all_the_way_round() {
        let mut tally = Hashed { slots: vec![(0, 0); 64], row: u32::MAX, counts: Vec::new() };
        for _ in 0..3 {
            let mut found = Vec::new();
            tally.add(7);
            tally.add(7);
            tally.take(&mut found);
            assert_eq!(found, [(7, 2)]);
        }
    }
}
