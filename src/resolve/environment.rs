//! The versions and targets that a module is checked against.

use super::unit::Unit;
use crate::descriptor::Features;
use crate::isa::targets::{PtxVersion, Target};
use crate::source::{Source, Span, Spanned};
use crate::syntax::ast::{Module, OperandKind};

/// What to check against: the module's own directives, or what the user asked for instead.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The PTX version, unless it is unknown.
    pub version: Option<Setting<PtxVersion>>,
    /// Each is to be checked: a set of targets of which one has to have what is used. A module may
    /// name several targets, and the assembler is content when one of them will do; targets that
    /// the user names are checked one by one.
    pub targets: Vec<Vec<Setting<Target>>>,
}

/// A value and the directive it comes from; none when the user gave it.
#[derive(Clone, Copy, Debug)]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where the module says so.
    pub span: Option<Span>,
}

impl Environment {
    /// Reads the module's header; `version` and `targets` replace what it says.
    pub fn new(unit: &Unit, version: Option<PtxVersion>, targets: &[Target]) -> Self {
        let Unit { source, module, .. } = unit;
        let version = version.map(|value| Setting { value, span: None }).or_else(|| {
            let found = module_version(source, module)?;
            Some(Setting { value: found.value?, span: Some(found.span) })
        });
        let targets = if targets.is_empty() {
            let named: Vec<Setting<Target>> = module_targets(source, module)
                .filter_map(|name| Some(Setting { value: name.value?, span: Some(name.span) }))
                .filter(|target| target.value.since().is_some())
                .collect();
            if named.is_empty() { Vec::new() } else { vec![named] }
        } else {
            targets.iter().copied().map(|value| vec![Setting { value, span: None }]).collect()
        };
        Self { version, targets }
    }
}

impl Environment {
    /// What descriptors can say under the version and the first of the targets.
    pub fn features(&self) -> Features {
        let version = self.version.map_or(PtxVersion::LATEST, |version| version.value);
        let target = self.targets.iter().flatten().find(|target| target.value.has_tensor_memory());
        target.map_or(Features::ANY, |target| Features::of(target.value, version))
    }
}

/// The number of the first `.version`; its value is `None` when it is no version.
pub fn module_version(source: &Source, module: &Module) -> Option<Spanned<Option<PtxVersion>>> {
    let header = module.versions.first()?;
    let number = module.operands(header.operands).first()?;
    let value = match number.kind {
        OperandKind::Float => source.slice(number.span).parse().ok(),
        _ => None,
    };
    Some(Spanned::new(value, number.span))
}

/// The `sm_` names of all `.target` directives; the value of one that has not the form is `None`.
/// Other words, such as `debug`, are options.
pub fn module_targets<'a>(
    source: &'a Source,
    module: &'a Module,
) -> impl Iterator<Item = Spanned<Option<Target>>> + 'a {
    module.targets.iter().flat_map(|header| module.operands(header.operands)).filter_map(|operand| {
        let text = source.slice(operand.span);
        (text.starts_with("sm_") || text.starts_with("compute_"))
            .then(|| Spanned::new(text.parse().ok(), operand.span))
    })
}
