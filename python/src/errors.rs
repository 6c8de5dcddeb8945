//! The exceptions of the package.

use pyo3::PyErr;
use pyo3::create_exception;
use pyo3::exceptions::PyException;

create_exception!(ptx_tc, LaunchError, PyException, "A kernel cannot be launched like this.");
create_exception!(ptx_tc, CheckError, PyException, "A text is no module of PTX.");

/// An exception that says why a kernel cannot be launched.
pub(crate) fn launch_error(error: &ptx_device::LaunchError) -> PyErr {
    let help = match error {
        ptx_device::LaunchError::Shape { help: Some(help), .. } => format!(": {help}"),
        _ => String::new(),
    };
    LaunchError::new_err(format!("{error}{help}"))
}
