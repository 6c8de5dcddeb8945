//! The native part of the Python package `ptx_tc`: modules, memory and runs of `ptx_device`, and the program.
//!
//! What people call is written in Python, beside this crate; it has the names, the documentation and the types. Here is
//! only what has to be native. Reports go to Python as the JSON documents that the program writes, so that they have one
//! shape; arrays go by views of their bytes.

use mimalloc::MiMalloc;
use pyo3::prelude::*;

mod argument;
mod check;
mod device;
mod errors;
mod module;
mod objects;
mod run;

/// The allocator of the program: a check makes many small vectors.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[pymodule]
mod _core {
    use std::ffi::OsString;

    use pyo3::exceptions::PyValueError;
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::check::Report;
    #[pymodule_export]
    use crate::device::Device;
    #[pymodule_export]
    use crate::errors::{CheckError, LaunchError};
    #[pymodule_export]
    use crate::module::{Kernel, Module};
    #[pymodule_export]
    use crate::run::Run;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// Runs the program with these arguments, the first of which is its name, and returns its exit status.
    #[pyfunction]
    fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        py.detach(|| ptx_cli::main_with(arguments))
    }

    /// The PTX modules in a binary.
    #[pyfunction]
    fn modules_in(py: Python<'_>, data: &[u8]) -> Vec<String> {
        py.detach(|| crate::objects::modules(data))
    }

    /// What a command of the program writes to standard output.
    #[pyfunction]
    #[allow(clippy::needless_pass_by_value, reason = "as Python hands it over")]
    fn output_of(py: Python<'_>, arguments: Vec<String>) -> PyResult<String> {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        py.detach(|| ptx_cli::output_of(&arguments)).map_err(PyValueError::new_err)
    }
}
