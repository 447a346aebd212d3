//! Weights of the forms that are not weighted sums of terms: distances from an anchor, rising factorials, Student-t.

use crate::cells::slice;
use crate::raise;
use crate::weights::{Matrix, Table, Vector};
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sunrise_core::distance::{Curve, Distances};
use sunrise_core::rising::{CountScores, Factorials};
use sunrise_core::student::Students;

/// A score by the distance from an anchor, each matrix classes x columns.
///
/// A cell adds base + power h(scale |x - anchor|), where h is named by `curve`: line, log or log square.
#[pyclass(frozen, module = "sunrise._native")]
pub struct DistanceWeights {
    curve: Curve,
    parts: [Table; 4],
}

#[pymethods]
impl DistanceWeights {
    #[new]
    fn new(
        curve: &str,
        base: Matrix<'_>,
        anchor: Matrix<'_>,
        scale: Matrix<'_>,
        power: Matrix<'_>,
    ) -> PyResult<Self> {
        let curve = match curve {
            "line" => Curve::Line,
            "log" => Curve::Log,
            "log square" => Curve::LogSquare,
            _ => return Err(PyValueError::new_err("the curve is line, log or log square")),
        };
        Ok(DistanceWeights { curve, parts: [base, anchor, scale, power].map(Table::keep) })
    }
}

/// The arrays of [`DistanceWeights`], borrowed for one call.
pub struct BorrowedDistances<'py> {
    curve: Curve,
    parts: [Matrix<'py>; 4],
}

impl<'py> BorrowedDistances<'py> {
    pub fn of(weights: &DistanceWeights, py: Python<'py>) -> PyResult<Self> {
        let [base, anchor, scale, power] = &weights.parts;
        let parts = [base.borrow(py)?, anchor.borrow(py)?, scale.borrow(py)?, power.borrow(py)?];
        Ok(BorrowedDistances { curve: weights.curve, parts })
    }

    pub fn classes(&self) -> usize {
        self.parts[0].shape()[0]
    }

    pub fn core(&self) -> PyResult<Distances<'_>> {
        let [base, anchor, scale, power] = &self.parts;
        let parts = [slice(base)?, slice(anchor)?, slice(scale)?, slice(power)?];
        Ok(Distances { curve: self.curve, classes: self.classes(), parts })
    }
}

/// A score of counts by rising factorials, each matrix columns x classes, and the scores of a range of counts.
///
/// A count adds weight (base + slope x + log rising(shape, x) - log rising(shape + gap, x)), the last with a gap only.
/// Counts `lows[j]`, ..., `lows[j] + sizes[j] - 1` of column j are scored once, here.
#[pyclass(frozen, module = "sunrise._native")]
pub struct FactorialWeights {
    base: Table,
    slope: Table,
    shape: Table,
    gap: Option<Table>,
    weight: Vector,
    scores: CountScores,
}

#[pymethods]
impl FactorialWeights {
    #[new]
    #[allow(clippy::too_many_arguments)] // each is a part of the score with a name of its own
    #[pyo3(signature = (base, slope, shape, gap, weight, lows, sizes))]
    fn new<'py>(
        py: Python<'py>,
        base: Matrix<'py>,
        slope: Matrix<'py>,
        shape: Matrix<'py>,
        gap: Option<Matrix<'py>>,
        weight: PyReadonlyArray1<'py, f64>,
        lows: PyReadonlyArray1<'py, i64>,
        sizes: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Self> {
        let borrowed = BorrowedFactorials { base, slope, shape, gap, weight };
        let (core, lows, sizes) = (borrowed.core()?, slice(&lows)?, slice(&sizes)?);
        let scores = py.detach(|| CountScores::new(core, lows, sizes)).map_err(raise)?;
        let BorrowedFactorials { base, slope, shape, gap, weight } = borrowed;
        Ok(FactorialWeights {
            base: Table::keep(base),
            slope: Table::keep(slope),
            shape: Table::keep(shape),
            gap: gap.map(Table::keep),
            weight: Vector::keep(weight),
            scores,
        })
    }
}

impl FactorialWeights {
    pub fn scores(&self) -> &CountScores {
        &self.scores
    }
}

/// The arrays of [`FactorialWeights`], borrowed for one call.
pub struct BorrowedFactorials<'py> {
    base: Matrix<'py>,
    slope: Matrix<'py>,
    shape: Matrix<'py>,
    gap: Option<Matrix<'py>>,
    weight: PyReadonlyArray1<'py, f64>,
}

impl<'py> BorrowedFactorials<'py> {
    pub fn of(weights: &FactorialWeights, py: Python<'py>) -> PyResult<Self> {
        Ok(BorrowedFactorials {
            base: weights.base.borrow(py)?,
            slope: weights.slope.borrow(py)?,
            shape: weights.shape.borrow(py)?,
            gap: weights.gap.as_ref().map(|gap| gap.borrow(py)).transpose()?,
            weight: weights.weight.borrow(py)?,
        })
    }

    pub fn classes(&self) -> usize {
        self.base.shape()[1]
    }

    pub fn core(&self) -> PyResult<Factorials<'_>> {
        Ok(Factorials {
            classes: self.classes(),
            base: slice(&self.base)?,
            slope: slice(&self.slope)?,
            shape: slice(&self.shape)?,
            gap: self.gap.as_ref().map(slice).transpose()?,
            weight: slice(&self.weight)?,
        })
    }
}

/// Multivariate Student-t densities, one for each class, see `sunrise_core::student::Students`.
///
/// `factors` is classes x (columns * columns).
#[pyclass(frozen, module = "sunrise._native")]
pub struct StudentWeights {
    matrices: [Table; 2],
    vectors: [Vector; 2],
    weight: f64,
    share: f64,
}

#[pymethods]
impl StudentWeights {
    #[new]
    fn new(
        centres: Matrix<'_>,
        factors: Matrix<'_>,
        constant: PyReadonlyArray1<'_, f64>,
        freedom: PyReadonlyArray1<'_, f64>,
        weight: f64,
        share: f64,
    ) -> Self {
        let (matrices, vectors) =
            ([centres, factors].map(Table::keep), [constant, freedom].map(Vector::keep));
        StudentWeights { matrices, vectors, weight, share }
    }
}

/// The arrays of [`StudentWeights`], borrowed for one call.
pub struct BorrowedStudents<'py> {
    matrices: [Matrix<'py>; 2],
    vectors: [PyReadonlyArray1<'py, f64>; 2],
    weight: f64,
    share: f64,
}

impl<'py> BorrowedStudents<'py> {
    pub fn of(weights: &StudentWeights, py: Python<'py>) -> PyResult<Self> {
        let ([centres, factors], [constant, freedom]) = (&weights.matrices, &weights.vectors);
        let matrices = [centres.borrow(py)?, factors.borrow(py)?];
        let vectors = [constant.borrow(py)?, freedom.borrow(py)?];
        Ok(BorrowedStudents { matrices, vectors, weight: weights.weight, share: weights.share })
    }

    pub fn classes(&self) -> usize {
        self.vectors[0].len()
    }

    pub fn core(&self) -> PyResult<Students<'_>> {
        let ([centres, factors], [constant, freedom]) = (&self.matrices, &self.vectors);
        Ok(Students {
            centres: slice(centres)?,
            factors: slice(factors)?,
            constant: slice(constant)?,
            freedom: slice(freedom)?,
            weight: self.weight,
            share: self.share,
        })
    }
}
