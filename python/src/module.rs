//! Modules and kernels.

use ptx_device::WordKind;
use pyo3::prelude::*;

use crate::errors::{CheckError, LaunchError};

/// A module of PTX.
#[pyclass(frozen, module = "ptx_tc._core")]
pub(crate) struct Module {
    pub(crate) inner: ptx_device::Module,
}

#[pymethods]
impl Module {
    #[new]
    fn new(py: Python<'_>, name: &str, text: &str) -> PyResult<Self> {
        let inner = py.detach(|| ptx_device::Module::from_text(name, text));
        Ok(Self { inner: inner.map_err(|error| CheckError::new_err(error.to_string()))? })
    }

    /// The symbols of its kernels.
    fn kernels(&self) -> Vec<String> {
        self.inner.kernels().into_iter().map(str::to_owned).collect()
    }

    /// A kernel by its symbol, or by its name in C++.
    fn kernel(&self, py: Python<'_>, name: &str) -> PyResult<Kernel> {
        let inner = py.detach(|| self.inner.kernel(name)).map_err(|error| {
            let more = match &error {
                ptx_device::KernelError::Unknown { nearest: None, kernels, .. } => match kernels.as_slice() {
                    [] => "; it has no kernel at all".to_owned(),
                    all => format!("; there are {}", all.join(", ")),
                },
                ptx_device::KernelError::Ambiguous { candidates, .. } => {
                    format!(": {}", candidates.join(", "))
                }
                _ => String::new(),
            };
            LaunchError::new_err(format!("{error}{more}"))
        })?;
        Ok(Kernel { inner })
    }

    /// The text.
    #[getter]
    fn text(&self) -> &str {
        self.inner.source().text()
    }
}

/// A kernel of a module.
#[pyclass(frozen, module = "ptx_tc._core")]
pub(crate) struct Kernel {
    pub(crate) inner: ptx_device::Kernel,
}

/// A parameter: name, type, first byte, bytes, alignment, whether it is an array, and may be a tensor map; and the words
/// that the kernel loads of it: first byte, bytes, whether it is an address.
type Parameter = (String, &'static str, u32, u32, u32, bool, bool, Vec<(u32, u32, bool)>);

#[pymethods]
impl Kernel {
    #[getter]
    fn symbol(&self) -> &str {
        self.inner.symbol()
    }

    #[getter]
    fn name(&self) -> String {
        self.inner.name()
    }

    fn parameters(&self) -> Vec<Parameter> {
        let parameter = |it: ptx_device::ParameterInfo| {
            let word = |word: &ptx_device::Word| (word.offset, word.bytes, word.kind == WordKind::Address);
            let words = it.words.iter().map(word).collect();
            (it.name, it.ty, it.offset, it.bytes, it.align, it.is_array, it.may_be_tensor_map, words)
        };
        self.inner.parameters().into_iter().map(parameter).collect()
    }
}
