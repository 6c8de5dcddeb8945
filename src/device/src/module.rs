//! Modules and their kernels.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ptx_check::diagnostic::Severity;
use ptx_check::source::Source;
use ptx_check::words::demangled;
use ptx_check::{Options, Unit};
use ptx_simulation::{Kernels, Lowered, ParameterInfo, names};
use rustc_hash::FxHashMap;

use crate::{KernelError, ModuleError};

/// A module of PTX. A copy is the same module.
#[derive(Clone, Debug)]
pub struct Module {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    /// Tells its variables in the memory of a device from those of others.
    pub(crate) id: u64,
    pub(crate) unit: Unit,
    /// The kernels that were asked for, by their symbols.
    lowered: Mutex<FxHashMap<String, Lowered>>,
}

impl Module {
    /// Parses a text.
    ///
    /// # Errors
    /// When it is not PTX.
    pub fn new(source: &Source) -> Result<Self, ModuleError> {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let unit = Unit::new(source);
        if let Some(error) = unit.syntax_errors.first() {
            // The rule about it has the words.
            let start = error.span().start;
            let found = ptx_check::check(source, &Options::default()).diagnostics;
            let found = found.into_iter().find(|it| it.severity == Severity::Error);
            let at = source.position(found.as_ref().map_or(start, |it| it.primary.span.start));
            let message = found.map_or_else(
                || "syntax error".to_owned(),
                |it| match it.primary.message.as_str() {
                    "" => it.message.clone(),
                    label => format!("{}: {label}", it.message),
                },
            );
            return Err(ModuleError::Syntax {
                name: source.name().to_owned(),
                line: at.line,
                column: at.column,
                message,
            });
        }
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Self { inner: Arc::new(Inner { id, unit, lowered: Mutex::default() }) })
    }

    /// Parses a text that is called like this in what is found.
    ///
    /// # Errors
    /// When it is not PTX, or too long.
    pub fn from_text(name: &str, text: &str) -> Result<Self, ModuleError> {
        let source = Source::new(name, text)
            .map_err(|error| ModuleError::Text { name: name.to_owned(), message: error.to_string() })?;
        Self::new(&source)
    }

    /// The text.
    pub fn source(&self) -> &Source {
        &self.inner.unit.source
    }

    /// The symbols of its kernels, in the order of the text.
    pub fn kernels(&self) -> Vec<&str> {
        ptx_simulation::kernels(&self.inner.unit)
    }

    /// The kernels with these symbols, one after the other: what belongs to the whole module is found once.
    pub fn each<'m>(&'m self, symbols: &'m [String]) -> impl Iterator<Item = Kernel> + 'm {
        let all = Kernels::new(&self.inner.unit);
        symbols.iter().filter_map(move |symbol| {
            let lowered = all.kernel(symbol)?.lowered();
            Some(Kernel { module: self.clone(), symbol: symbol.clone(), lowered })
        })
    }

    /// A kernel by its symbol, or by its name in C++ as far as that tells it from the others.
    ///
    /// # Errors
    /// When there is none, or several may be meant.
    pub fn kernel(&self, name: &str) -> Result<Kernel, KernelError> {
        let all = self.kernels();
        let module = self.source().name();
        let symbol = named(module, &all, name)?;
        let mut known = self.inner.lowered.lock().unwrap_or_else(PoisonError::into_inner);
        let lowered = match known.get(&symbol) {
            Some(lowered) => Some(lowered.clone()),
            None => Kernels::new(&self.inner.unit).kernel(&symbol).map(|it| it.lowered()),
        };
        let Some(lowered) = lowered else {
            let kernels = all.iter().map(|it| (*it).to_owned()).collect();
            return Err(KernelError::Unknown {
                module: module.to_owned(),
                name: symbol,
                nearest: None,
                kernels,
            });
        };
        known.insert(symbol.clone(), lowered.clone());
        drop(known);
        Ok(Kernel { module: self.clone(), symbol, lowered })
    }
}

/// The symbol of the kernel of a module that is meant by a name, among all of its kernels.
///
/// # Errors
/// When there is none, or several may be meant.
pub fn named(module: &str, all: &[&str], name: &str) -> Result<String, KernelError> {
    let mut meant = names::meant(name, all);
    let module = module.to_owned();
    match meant.len() {
        0 => {
            let distance = |it: &&str| strsim::damerau_levenshtein(name, &demangled(it));
            let nearest = all.iter().min_by_key(|it| distance(it));
            let nearest = nearest.filter(|it| distance(it) <= name.len() / 2).map(|it| (*it).to_owned());
            let kernels = all.iter().map(|it| (*it).to_owned()).collect();
            Err(KernelError::Unknown { module, name: name.to_owned(), nearest, kernels })
        }
        1 => Ok(meant.remove(0)),
        _ => Err(KernelError::Ambiguous { module, name: name.to_owned(), candidates: meant }),
    }
}

/// A kernel of a module. A copy is the same kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) module: Module,
    symbol: String,
    pub(crate) lowered: Lowered,
}

impl Kernel {
    /// Its symbol.
    pub fn symbol(&self) -> &str {
        &self.symbol
    }

    /// What it is called in its source, as far as the symbol says it.
    pub fn name(&self) -> String {
        demangled(&self.symbol).into_owned()
    }

    /// The module that it is in.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Its parameters, and what its code does with the words of each.
    pub fn parameters(&self) -> Vec<ParameterInfo> {
        self.lowered.kernel(&self.module.inner.unit).parameters()
    }
}
