//! What a fitted block of columns scores by: one class for each form, made once for a fitted model.
//!
//! Python makes the arrays in the layout that the native loops read, and these classes give every array a name. They
//! keep references to the arrays, never copies: tables of words x classes are large.

use crate::cells::{dispatch, slice, Cells, Reading};
use crate::density::{Folds, KernelSums};
use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use sunrise_core::density::{DensityScorer, DensityWeights};
use sunrise_core::fault::Fault;
use sunrise_core::linear::{DenseLinear, Weights};
use sunrise_core::polya::{Concentrations, DensePolya, SparsePolya};
use sunrise_core::score::Scorer;
use sunrise_core::sparse_linear::{ColumnWeights, SparseLinear};
use sunrise_core::table::{DenseTable, Levels, SparseTable};

/// A two-dimensional array of floats.
pub type Matrix<'py> = PyReadonlyArray2<'py, f64>;

fn slice_option<'a>(array: &'a Option<Matrix<'_>>) -> PyResult<Option<&'a [f64]>> {
    array.as_ref().map(slice).transpose()
}

/// A vector that a class keeps. Its type is checked at every use, because Python may change dtype and shape in place.
struct Vector(Py<PyAny>);

/// A matrix that a class keeps, checked like [`Vector`].
struct Table(Py<PyAny>);

impl Vector {
    fn keep<T: Element>(array: PyReadonlyArray1<'_, T>) -> Self {
        Vector(array.as_any().clone().unbind())
    }

    fn borrow<'py, T: Element>(&self, py: Python<'py>) -> PyResult<PyReadonlyArray1<'py, T>> {
        self.0.bind(py).extract()
    }
}

impl Table {
    fn keep(array: Matrix<'_>) -> Self {
        Table(array.as_any().clone().unbind())
    }

    fn borrow<'py>(&self, py: Python<'py>) -> PyResult<Matrix<'py>> {
        self.0.bind(py).extract()
    }
}

fn borrow_option<'py>(table: &Option<Table>, py: Python<'py>) -> PyResult<Option<Matrix<'py>>> {
    table.as_ref().map(|table| table.borrow(py)).transpose()
}

/// Weights of a linear form for dense cells, each matrix classes x columns.
///
/// A cell adds base + x (x - anchor) + x2 (x - anchor)^2; `constant` is the base summed over the columns.
#[pyclass(frozen, module = "sunrise._native")]
pub struct DenseWeights {
    constant: Vector,
    base: Option<Table>,
    x: Option<Table>,
    x2: Option<Table>,
    anchor: Option<Table>,
    compositional: bool,
}

#[pymethods]
impl DenseWeights {
    #[new]
    #[pyo3(signature = (constant, base=None, x=None, x2=None, anchor=None, compositional=false))]
    fn new(
        constant: PyReadonlyArray1<'_, f64>,
        base: Option<Matrix<'_>>,
        x: Option<Matrix<'_>>,
        x2: Option<Matrix<'_>>,
        anchor: Option<Matrix<'_>>,
        compositional: bool,
    ) -> Self {
        DenseWeights {
            constant: Vector::keep(constant),
            base: base.map(Table::keep),
            x: x.map(Table::keep),
            x2: x2.map(Table::keep),
            anchor: anchor.map(Table::keep),
            compositional,
        }
    }
}

/// Weights of a linear form for sparse cells, each matrix columns x classes, the classes padded to whole groups.
///
/// `constant + residue` is the score of an all-zero row and `zero` the part of each column in it. A form without
/// anchor and square has `x`; any other has `about`: base, anchor, and the weights of x - anchor and its square.
#[pyclass(frozen, module = "sunrise._native")]
pub struct SparseWeights {
    constant: Vector,
    residue: Vector,
    zero: Option<Table>,
    x: Option<Table>,
    about: Option<[Table; 4]>,
    compositional: bool,
}

#[pymethods]
impl SparseWeights {
    #[new]
    #[pyo3(signature = (constant, residue, zero=None, x=None, about=None, compositional=false))]
    fn new<'py>(
        constant: PyReadonlyArray1<'py, f64>,
        residue: PyReadonlyArray1<'py, f64>,
        zero: Option<Matrix<'py>>,
        x: Option<Matrix<'py>>,
        about: Option<[Matrix<'py>; 4]>,
        compositional: bool,
    ) -> Self {
        SparseWeights {
            constant: Vector::keep(constant),
            residue: Vector::keep(residue),
            zero: zero.map(Table::keep),
            x: x.map(Table::keep),
            about: about.map(|parts| parts.map(Table::keep)),
            compositional,
        }
    }
}

/// Scores by level code: `values` has a row for every entry and a column for every class, padded to whole groups.
///
/// Column j has the level codes `codes[offsets[j]:offsets[j + 1]]`; codes below `sizes[j]` are possible.
#[pyclass(frozen, module = "sunrise._native")]
pub struct LevelScores {
    offsets: Vector,
    codes: Vector,
    sizes: Vector,
    values: Table,
    classes: usize,
    refuse_unseen: bool,
}

#[pymethods]
impl LevelScores {
    #[new]
    #[pyo3(signature = (offsets, codes, sizes, values, classes, refuse_unseen=false))]
    fn new<'py>(
        offsets: PyReadonlyArray1<'py, i64>,
        codes: PyReadonlyArray1<'py, i64>,
        sizes: PyReadonlyArray1<'py, i64>,
        values: Matrix<'py>,
        classes: usize,
        refuse_unseen: bool,
    ) -> Self {
        LevelScores {
            offsets: Vector::keep(offsets),
            codes: Vector::keep(codes),
            sizes: Vector::keep(sizes),
            values: Table::keep(values),
            classes,
            refuse_unseen,
        }
    }
}

/// Concentrations of Dirichlet-multinomial rows, columns x classes, the classes padded to whole groups.
///
/// `total` has their sum for each class and `known` says which columns count; `moderate` promises that products of
/// sixteen concentrations stay within the range of floats.
#[pyclass(frozen, module = "sunrise._native")]
pub struct PolyaWeights {
    concentration: Table,
    total: Vector,
    known: Option<Vector>,
    weight: f64,
    moderate: bool,
}

#[pymethods]
impl PolyaWeights {
    #[new]
    #[pyo3(signature = (concentration, total, known=None, weight=1.0, moderate=false))]
    fn new<'py>(
        concentration: Matrix<'py>,
        total: PyReadonlyArray1<'py, f64>,
        known: Option<PyReadonlyArray1<'py, bool>>,
        weight: f64,
        moderate: bool,
    ) -> Self {
        PolyaWeights {
            concentration: Table::keep(concentration),
            total: Vector::keep(total),
            known: known.map(Vector::keep),
            weight,
            moderate,
        }
    }
}

/// Kernel densities of columns: sums of kernels, and the vectors that turn them into log densities of the classes.
///
/// `common`, `log_width` have a number for each column and sum, `prior`, `log_total` for each column and class, and
/// `weight` for each column.
#[pyclass(frozen, module = "sunrise._native")]
pub struct KernelWeights {
    sums: Py<KernelSums>,
    folds: Folds,
    common: Vector,
    prior: Vector,
    log_total: Vector,
    log_width: Vector,
    weight: Vector,
    classes: usize,
}

#[pymethods]
impl KernelWeights {
    #[new]
    #[allow(clippy::too_many_arguments)] // each is a part of the density with a name of its own
    fn new<'py>(
        sums: Py<KernelSums>,
        folds: Folds,
        common: PyReadonlyArray1<'py, f64>,
        prior: PyReadonlyArray1<'py, f64>,
        log_total: PyReadonlyArray1<'py, f64>,
        log_width: PyReadonlyArray1<'py, f64>,
        weight: PyReadonlyArray1<'py, f64>,
        classes: usize,
    ) -> Self {
        KernelWeights {
            sums,
            folds,
            common: Vector::keep(common),
            prior: Vector::keep(prior),
            log_total: Vector::keep(log_total),
            log_width: Vector::keep(log_width),
            weight: Vector::keep(weight),
            classes,
        }
    }
}

/// One block to score: (cells, support, weights).
pub struct Block<'py> {
    cells: Cells<'py>,
    reading: Reading,
    weights: Borrowed<'py>,
}

/// The weights of a block with their arrays borrowed for the duration of one call.
enum Borrowed<'py> {
    Dense {
        constant: PyReadonlyArray1<'py, f64>,
        matrices: [Option<Matrix<'py>>; 4],
        compositional: bool,
    },
    Sparse {
        constant: PyReadonlyArray1<'py, f64>,
        residue: PyReadonlyArray1<'py, f64>,
        zero: Option<Matrix<'py>>,
        x: Option<Matrix<'py>>,
        about: Option<[Matrix<'py>; 4]>,
        compositional: bool,
    },
    Levels {
        indices: [PyReadonlyArray1<'py, i64>; 3],
        values: Matrix<'py>,
        classes: usize,
        refuse_unseen: bool,
    },
    Polya {
        concentration: Matrix<'py>,
        total: PyReadonlyArray1<'py, f64>,
        known: Option<PyReadonlyArray1<'py, bool>>,
        weight: f64,
        moderate: bool,
    },
    Kernel {
        density: Bound<'py, KernelWeights>,
        sums: Bound<'py, KernelSums>,
        vectors: [PyReadonlyArray1<'py, f64>; 5],
    },
}

impl<'py> Borrowed<'py> {
    fn of(weights: &Bound<'py, PyAny>) -> PyResult<Self> {
        let py = weights.py();
        if let Ok(weights) = weights.cast::<DenseWeights>() {
            let w = weights.get();
            return Ok(Borrowed::Dense {
                constant: w.constant.borrow(py)?,
                matrices: [
                    borrow_option(&w.base, py)?,
                    borrow_option(&w.x, py)?,
                    borrow_option(&w.x2, py)?,
                    borrow_option(&w.anchor, py)?,
                ],
                compositional: w.compositional,
            });
        }
        if let Ok(weights) = weights.cast::<SparseWeights>() {
            let w = weights.get();
            let about = match &w.about {
                Some([base, anchor, x, x2]) => {
                    Some([base.borrow(py)?, anchor.borrow(py)?, x.borrow(py)?, x2.borrow(py)?])
                }
                None => None,
            };
            return Ok(Borrowed::Sparse {
                constant: w.constant.borrow(py)?,
                residue: w.residue.borrow(py)?,
                zero: borrow_option(&w.zero, py)?,
                x: borrow_option(&w.x, py)?,
                about,
                compositional: w.compositional,
            });
        }
        if let Ok(weights) = weights.cast::<LevelScores>() {
            let w = weights.get();
            return Ok(Borrowed::Levels {
                indices: [w.offsets.borrow(py)?, w.codes.borrow(py)?, w.sizes.borrow(py)?],
                values: w.values.borrow(py)?,
                classes: w.classes,
                refuse_unseen: w.refuse_unseen,
            });
        }
        if let Ok(weights) = weights.cast::<PolyaWeights>() {
            let w = weights.get();
            return Ok(Borrowed::Polya {
                concentration: w.concentration.borrow(py)?,
                total: w.total.borrow(py)?,
                known: w.known.as_ref().map(|known| known.borrow(py)).transpose()?,
                weight: w.weight,
                moderate: w.moderate,
            });
        }
        if let Ok(weights) = weights.cast::<KernelWeights>() {
            let w = weights.get();
            let vectors = [
                w.common.borrow(py)?,
                w.prior.borrow(py)?,
                w.log_total.borrow(py)?,
                w.log_width.borrow(py)?,
                w.weight.borrow(py)?,
            ];
            let sums = w.sums.bind(py).clone();
            return Ok(Borrowed::Kernel { density: weights.clone(), sums, vectors });
        }
        Err(PyTypeError::new_err("the weights of a block must be one of the weights classes of this module"))
    }
}

impl<'py> FromPyObject<'_, 'py> for Block<'py> {
    type Error = PyErr;

    fn extract(object: pyo3::Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let (cells, reading, weights): (Cells<'py>, Reading, Bound<'py, PyAny>) = object.extract()?;
        Ok(Block { cells, reading, weights: Borrowed::of(&weights)? })
    }
}

fn boxed<'a>(scorer: Result<impl Scorer + 'a, Fault>) -> Result<Box<dyn Scorer + 'a>, Fault> {
    scorer.map(|scorer| Box::new(scorer) as Box<dyn Scorer + 'a>)
}

/// Stands in for the interpreter in `dispatch!`: making a scorer is too quick to release the GIL for.
struct KeepGil;

impl KeepGil {
    fn detach<R>(&self, run: impl FnOnce() -> R) -> R {
        run()
    }
}

impl Block<'_> {
    /// A scorer that borrows the arrays of the block.
    pub fn scorer(&self) -> PyResult<Result<Box<dyn Scorer + '_>, Fault>> {
        let misfit =
            || Fault::shape("weights for dense cells cannot score sparse ones, nor the other way round");
        let (cells, reading) = (&self.cells, self.reading.core());
        Ok(match &self.weights {
            Borrowed::Dense { constant, matrices: [base, x, x2, anchor], compositional } => {
                let weights = Weights {
                    constant: slice(constant)?,
                    base: slice_option(base)?,
                    x: slice_option(x)?,
                    x2: slice_option(x2)?,
                    anchor: slice_option(anchor)?,
                    compositional: *compositional,
                };
                dispatch!(cells, reading, KeepGil,
                    dense => boxed(DenseLinear::new(dense, weights)),
                    _sparse => Err(misfit()))
            }
            Borrowed::Sparse { constant, residue, zero, x, about, compositional } => {
                let about = match about {
                    Some([base, anchor, x, x2]) => {
                        Some([slice(base)?, slice(anchor)?, slice(x)?, slice(x2)?])
                    }
                    None => None,
                };
                let weights = ColumnWeights {
                    constant: slice(constant)?,
                    residue: slice(residue)?,
                    zero: slice_option(zero)?,
                    x: slice_option(x)?,
                    about,
                    compositional: *compositional,
                };
                dispatch!(cells, reading, KeepGil,
                    _dense => Err(misfit()),
                    sparse => boxed(SparseLinear::new(sparse, reading, weights)))
            }
            Borrowed::Levels { indices: [offsets, codes, sizes], values, classes, refuse_unseen } => {
                let levels = Levels {
                    offsets: slice(offsets)?,
                    codes: slice(codes)?,
                    sizes: slice(sizes)?,
                    values: slice(values)?,
                    classes: *classes,
                    refuse_unseen: *refuse_unseen,
                };
                // Level codes have rules of their own; the support of the block is that of the levels.
                dispatch!(cells, sunrise_core::cells::Reading::REAL, KeepGil,
                    dense => boxed(DenseTable::new(dense, levels)),
                    sparse => boxed(SparseTable::new(sparse, levels)))
            }
            Borrowed::Polya { concentration, total, known, weight, moderate } => {
                let concentrations = Concentrations {
                    table: slice(concentration)?,
                    total: slice(total)?,
                    known: known.as_ref().map(slice).transpose()?,
                    weight: *weight,
                    moderate: *moderate,
                };
                dispatch!(cells, reading, KeepGil,
                    dense => boxed(DensePolya::new(dense, concentrations)),
                    sparse => boxed(SparsePolya::new(sparse, reading, concentrations)))
            }
            Borrowed::Kernel { density, sums, vectors: [common, prior, log_total, log_width, weight] } => {
                let weights = DensityWeights {
                    common: slice(common)?,
                    prior: slice(prior)?,
                    log_total: slice(log_total)?,
                    log_width: slice(log_width)?,
                    weight: slice(weight)?,
                };
                let (density, sums) = (density.get(), sums.get().core());
                let (folds, classes) = (density.folds.core(), density.classes);
                dispatch!(cells, reading, KeepGil,
                    dense => boxed(DensityScorer::new(dense, sums, folds, weights, classes)),
                    _sparse => Err(misfit()))
            }
        })
    }

    /// Number of classes, to check blocks against each other before any row is scored.
    pub fn classes(&self) -> usize {
        match &self.weights {
            Borrowed::Dense { constant, .. } | Borrowed::Sparse { constant, .. } => constant.len(),
            Borrowed::Levels { classes, .. } => *classes,
            Borrowed::Polya { total, .. } => total.len(),
            Borrowed::Kernel { density, .. } => density.get().classes,
        }
    }
}
