//! What a fitted block of columns scores by: one class for each form, made once for a fitted model.
//!
//! Python makes the arrays in the layout that the native loops read, and these classes give every array a name. They
//! keep references to the arrays, never copies: tables of words x classes are large.

use crate::cells::{dispatch, slice, Cells, Reading};
use crate::curves::{BorrowedDistances, BorrowedFactorials, BorrowedStudents};
use crate::curves::{DistanceWeights, FactorialWeights, StudentWeights};
use crate::density::KernelDensities;
use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use std::sync::{Arc, OnceLock};
use sunrise_core::composition::{Composition as CoreComposition, Tables};
use sunrise_core::csr::Unpacked;
use sunrise_core::dense_linear::{DenseLinear, Weights};
use sunrise_core::density::DensityScorer;
use sunrise_core::distance::DenseDistances;
use sunrise_core::fault::Fault;
use sunrise_core::polya::{Concentrations, DensePolya, SparsePolya};
use sunrise_core::rising::DenseFactorials;
use sunrise_core::score::Scorer;
use sunrise_core::sparse_linear::{ColumnWeights, SparseLinear};
use sunrise_core::student::DenseStudents;
use sunrise_core::table::{DenseTable, Levels, SparseTable};

/// A two-dimensional array of floats.
pub type Matrix<'py> = PyReadonlyArray2<'py, f64>;

fn slice_option<'a>(array: &'a Option<Matrix<'_>>) -> PyResult<Option<&'a [f64]>> {
    array.as_ref().map(slice).transpose()
}

/// A vector that a class keeps. Its type is checked at every use, because Python may change dtype and shape in place.
pub struct Vector(Py<PyAny>);

/// A matrix that a class keeps, checked like [`Vector`].
pub struct Table(Py<PyAny>);

impl Vector {
    pub fn keep<T: Element>(array: PyReadonlyArray1<'_, T>) -> Self {
        Vector(array.as_any().clone().unbind())
    }

    pub fn borrow<'py, T: Element>(&self, py: Python<'py>) -> PyResult<PyReadonlyArray1<'py, T>> {
        self.0.bind(py).extract()
    }
}

impl Table {
    pub fn keep(array: Matrix<'_>) -> Self {
        Table(array.as_any().clone().unbind())
    }

    pub fn borrow<'py>(&self, py: Python<'py>) -> PyResult<Matrix<'py>> {
        self.0.bind(py).extract()
    }
}

fn borrow_option<'py>(table: &Option<Table>, py: Python<'py>) -> PyResult<Option<Matrix<'py>>> {
    table.as_ref().map(|table| table.borrow(py)).transpose()
}

/// Parameters that sum to 1 over the columns, from Python: (log theta, factor of all weights, whether they are normed).
type CompositionOf<'py> = (Matrix<'py>, f64, bool);

/// The same, kept or borrowed; the tables are made at the first row with missing counts.
struct Composition<M> {
    log_theta: M,
    factor: f64,
    normed: bool,
    tables: Arc<OnceLock<Tables>>,
}

impl Composition<Table> {
    fn keep((log_theta, factor, normed): CompositionOf<'_>) -> Self {
        Composition { log_theta: Table::keep(log_theta), factor, normed, tables: Arc::default() }
    }

    fn borrow<'py>(&self, py: Python<'py>) -> PyResult<Composition<Matrix<'py>>> {
        let (factor, normed, tables) = (self.factor, self.normed, self.tables.clone());
        Ok(Composition { log_theta: self.log_theta.borrow(py)?, factor, normed, tables })
    }
}

impl Composition<Matrix<'_>> {
    fn core(&self) -> PyResult<CoreComposition<'_>> {
        let (log_theta, tables) = (slice(&self.log_theta)?, &*self.tables);
        Ok(CoreComposition { log_theta, factor: self.factor, normed: self.normed, tables })
    }
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
    composition: Option<Composition<Table>>,
}

#[pymethods]
impl DenseWeights {
    #[new]
    #[pyo3(signature = (constant, base=None, x=None, x2=None, anchor=None, composition=None))]
    fn new<'py>(
        constant: PyReadonlyArray1<'py, f64>,
        base: Option<Matrix<'py>>,
        x: Option<Matrix<'py>>,
        x2: Option<Matrix<'py>>,
        anchor: Option<Matrix<'py>>,
        composition: Option<CompositionOf<'py>>,
    ) -> Self {
        DenseWeights {
            constant: Vector::keep(constant),
            base: base.map(Table::keep),
            x: x.map(Table::keep),
            x2: x2.map(Table::keep),
            anchor: anchor.map(Table::keep),
            composition: composition.map(Composition::keep),
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
    composition: Option<Composition<Table>>,
}

#[pymethods]
impl SparseWeights {
    #[new]
    #[pyo3(signature = (constant, residue, zero=None, x=None, about=None, composition=None))]
    fn new<'py>(
        constant: PyReadonlyArray1<'py, f64>,
        residue: PyReadonlyArray1<'py, f64>,
        zero: Option<Matrix<'py>>,
        x: Option<Matrix<'py>>,
        about: Option<[Matrix<'py>; 4]>,
        composition: Option<CompositionOf<'py>>,
    ) -> Self {
        SparseWeights {
            constant: Vector::keep(constant),
            residue: Vector::keep(residue),
            zero: zero.map(Table::keep),
            x: x.map(Table::keep),
            about: about.map(|parts| parts.map(Table::keep)),
            composition: composition.map(Composition::keep),
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

/// Kernel densities of columns, and the weight of each column.
#[pyclass(frozen, module = "sunrise._native")]
pub struct KernelWeights {
    densities: Py<KernelDensities>,
    weight: Vector,
}

#[pymethods]
impl KernelWeights {
    #[new]
    fn new(densities: Py<KernelDensities>, weight: PyReadonlyArray1<'_, f64>) -> Self {
        KernelWeights { densities, weight: Vector::keep(weight) }
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
        composition: Option<Composition<Matrix<'py>>>,
    },
    Sparse {
        constant: PyReadonlyArray1<'py, f64>,
        residue: PyReadonlyArray1<'py, f64>,
        zero: Option<Matrix<'py>>,
        x: Option<Matrix<'py>>,
        about: Option<[Matrix<'py>; 4]>,
        composition: Option<Composition<Matrix<'py>>>,
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
    Distance(BorrowedDistances<'py>),
    Student(BorrowedStudents<'py>),
    Factorial(BorrowedFactorials<'py>, Bound<'py, FactorialWeights>),
    Kernel {
        densities: Bound<'py, KernelDensities>,
        weight: PyReadonlyArray1<'py, f64>,
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
                composition: w.composition.as_ref().map(|kept| kept.borrow(py)).transpose()?,
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
                composition: w.composition.as_ref().map(|kept| kept.borrow(py)).transpose()?,
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
        if let Ok(weights) = weights.cast::<DistanceWeights>() {
            return Ok(Borrowed::Distance(BorrowedDistances::of(weights.get(), py)?));
        }
        if let Ok(weights) = weights.cast::<StudentWeights>() {
            return Ok(Borrowed::Student(BorrowedStudents::of(weights.get(), py)?));
        }
        if let Ok(weights) = weights.cast::<FactorialWeights>() {
            return Ok(Borrowed::Factorial(BorrowedFactorials::of(weights.get(), py)?, weights.clone()));
        }
        if let Ok(weights) = weights.cast::<KernelWeights>() {
            let w = weights.get();
            let densities = w.densities.bind(py).clone();
            return Ok(Borrowed::Kernel { densities, weight: w.weight.borrow(py)? });
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
            Borrowed::Dense { constant, matrices: [base, x, x2, anchor], composition } => {
                let weights = Weights {
                    constant: slice(constant)?,
                    base: slice_option(base)?,
                    x: slice_option(x)?,
                    x2: slice_option(x2)?,
                    anchor: slice_option(anchor)?,
                    composition: composition.as_ref().map(Composition::core).transpose()?,
                };
                dispatch!(cells, reading, KeepGil,
                    dense => boxed(DenseLinear::new(dense, weights)),
                    _sparse => Err(misfit()))
            }
            Borrowed::Sparse { constant, residue, zero, x, about, composition } => {
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
                    composition: composition.as_ref().map(Composition::core).transpose()?,
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
            Borrowed::Distance(distances) => {
                let distances = distances.core()?;
                dispatch!(cells, reading, KeepGil,
                    dense => boxed(DenseDistances::new(dense, distances)),
                    sparse => boxed(DenseDistances::new(Box::new(Unpacked::new(sparse, reading)), distances)))
            }
            Borrowed::Student(students) => {
                let students = students.core()?;
                dispatch!(cells, reading, KeepGil,
                    dense => boxed(DenseStudents::new(dense, students)),
                    sparse => boxed(DenseStudents::new(Box::new(Unpacked::new(sparse, reading)), students)))
            }
            Borrowed::Factorial(factorials, weights) => {
                let (factorials, scores) = (factorials.core()?, weights.get().scores());
                let score = |counts| boxed(DenseFactorials::new(counts, factorials, scores));
                dispatch!(cells, reading, KeepGil,
                    dense => score(dense),
                    sparse => score(Box::new(Unpacked::new(sparse, reading))))
            }
            Borrowed::Kernel { densities, weight } => {
                let (densities, weight) = (densities.get().core(), slice(weight)?);
                dispatch!(cells, reading, KeepGil,
                    dense => boxed(DensityScorer::new(dense, densities, weight)),
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
            Borrowed::Distance(distances) => distances.classes(),
            Borrowed::Student(students) => students.classes(),
            Borrowed::Factorial(factorials, _) => factorials.classes(),
            Borrowed::Kernel { densities, .. } => densities.get().core().classes(),
        }
    }
}
