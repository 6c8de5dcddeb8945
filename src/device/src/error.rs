//! Why something cannot be launched.

use ptx_simulation::launch::{Key, LaunchError as Refusal, Misfit};
use ptx_simulation::memory::MemoryError;

/// Why a text is no module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModuleError {
    /// It is not PTX.
    #[error("{name}:{line}:{column}: {message}")]
    Syntax {
        /// What the text is called.
        name: String,
        /// Where, from 1.
        line: u32,
        /// Where, from 1.
        column: u32,
        /// What is wrong.
        message: String,
    },
    /// It is too long, or no text.
    #[error("{name}: {message}")]
    Text {
        /// What the text is called.
        name: String,
        /// Why.
        message: String,
    },
}

/// Why a module has no such kernel.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// No kernel has this name.
    #[error("`{module}` has no kernel `{name}`{}", .nearest.as_ref().map(|it| format!("; `{it}` is similar")).unwrap_or_default())]
    Unknown {
        /// What the module is called.
        module: String,
        /// The name that was asked for.
        name: String,
        /// A kernel whose name is similar.
        nearest: Option<String>,
        /// All kernels.
        kernels: Vec<String>,
    },
    /// Several kernels may be meant.
    #[error("`{module}` has {} kernels that may be meant by `{name}`", candidates.len())]
    Ambiguous {
        /// What the module is called.
        module: String,
        /// The name that was asked for.
        name: String,
        /// Their symbols.
        candidates: Vec<String>,
    },
}

/// Why a kernel cannot be launched like this.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The module has no such kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The kernel has other parameters.
    #[error("`{kernel}` has {} parameters ({}), but {given} arguments are given", parameters.len(), parameters.join(", "))]
    Count {
        /// The kernel.
        kernel: String,
        /// What its parameters are called.
        parameters: Vec<String>,
        /// How many arguments there are.
        given: usize,
    },
    /// An argument does not fit its parameter.
    #[error("argument {index} (`{parameter}`): {message}")]
    Argument {
        /// Which, from 0.
        index: usize,
        /// What the parameter is called.
        parameter: String,
        /// Why, and what would fit.
        message: String,
    },
    /// The grid, its clusters or its CTAs cannot be so large.
    #[error("{message}")]
    Shape {
        /// `grid`, `block`, `cluster` or `dynamic_smem`, if it is one of them.
        key: Option<&'static str>,
        /// Why.
        message: String,
        /// What would fit.
        help: Option<String>,
    },
    /// Memory that is meant is not there.
    #[error(transparent)]
    Memory(#[from] MemoryError),
}

impl From<Refusal> for LaunchError {
    fn from(Refusal(message): Refusal) -> Self {
        Self::Shape { key: None, message, help: None }
    }
}

impl From<Misfit> for LaunchError {
    fn from(misfit: Misfit) -> Self {
        let key = misfit.keys.iter().find_map(|key| match key {
            Key::Name(name) => Some(*name),
            Key::Index(_) => None,
        });
        Self::Shape { key, message: misfit.error.0, help: misfit.help }
    }
}
