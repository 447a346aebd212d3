//! Python objects that stand for a missing cell.

use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyType};

/// Tells missing cells from other objects; remembers the type of the last `pd.NA` or `pd.NaT` it met.
///
/// Asking Python for the name of a type takes longer than encoding a string, and a column repeats one type.
#[derive(Default)]
pub struct MissingCells<'py> {
    missing_type: Option<Bound<'py, PyType>>,
}

impl<'py> MissingCells<'py> {
    /// Whether an object is None, NaN, `pd.NA` or `pd.NaT`; pandas itself need not be installed.
    pub fn contains(&mut self, object: &Bound<'py, PyAny>) -> PyResult<bool> {
        if object.is_none() {
            return Ok(true);
        }
        if let Ok(number) = object.cast::<PyFloat>() {
            return Ok(number.value().is_nan());
        }
        let object_type = object.get_type();
        if self.missing_type.as_ref().is_some_and(|known| known.is(&object_type)) {
            return Ok(true);
        }
        let name = object_type.name()?;
        let missing = name == "NAType" || name == "NaTType";
        if missing {
            self.missing_type = Some(object_type);
        }
        Ok(missing)
    }
}
