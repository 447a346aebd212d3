//! Positive numbers far outside the range of floats.

use crate::normalise::exp_of_negative;

/// A positive number, size * exp(level).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaledFloat {
    #[allow(missing_docs)]
    pub size: f64,
    #[allow(missing_docs)]
    pub level: f64,
}

impl ScaledFloat {
    /// Zero.
    pub const ZERO: ScaledFloat = ScaledFloat { size: 0.0, level: f64::NEG_INFINITY };

    /// The sum of two numbers.
    #[inline(always)]
    pub fn plus(self, other: ScaledFloat) -> ScaledFloat {
        if self.size <= 0.0 || other.size <= 0.0 {
            return if self.size > 0.0 { self } else { other };
        }
        let (high, low) = if self.level >= other.level { (self, other) } else { (other, self) };
        ScaledFloat {
            size: high.size + low.size * exp_of_negative(low.level - high.level),
            level: high.level,
        }
    }

    /// The number times a factor.
    #[inline(always)]
    pub fn times(self, factor: f64) -> ScaledFloat {
        ScaledFloat { size: self.size * factor, ..self }
    }

    /// The logarithm.
    #[inline(always)]
    pub fn ln(self) -> f64 {
        self.level + self.size.ln()
    }
}
