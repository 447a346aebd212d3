//! Columns by a fixed hash of the words, without a vocabulary.

/// Words by a hash of their bytes: 64-bit FNV-1a, its halves joined by exclusive or, and the lowest bits of that.
///
/// The hash is the same on every machine and must never change: fitted models depend on it.
#[derive(Clone, Copy)]
pub struct Hashed {
    mask: u32,
}

impl Hashed {
    /// Columns of this many bits, 31 at the most.
    pub fn new(bits: u32) -> Self {
        Hashed { mask: (1 << bits.min(31)) - 1 }
    }

    /// Number of columns.
    pub fn columns(self) -> usize {
        self.mask as usize + 1
    }

    /// The column of a word.
    #[inline(always)]
    pub fn column(self, word: &[u8]) -> u32 {
        let mut hash = 0xCBF2_9CE4_8422_2325_u64;
        for &byte in word {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
        (hash ^ (hash >> 32)) as u32 & self.mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_the_published_hash() {
        // FNV-1a of "" and "foobar" as its authors give them: cbf29ce484222325 and 85944171f73967e8.
        assert_eq!(Hashed::new(31).column(b""), (0xCBF2_9CE4 ^ 0x8422_2325) & 0x7FFF_FFFF);
        assert_eq!(Hashed::new(20).column(b"foobar"), (0x8594_4171 ^ 0xF739_67E8) & 0xF_FFFF);
    }
}
