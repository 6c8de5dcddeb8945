//! The versions and targets that a module is checked against.

use rustc_hash::FxHashSet;

use super::unit::Unit;
use crate::descriptor::Features;
use crate::isa::targets::{PtxVersion, Target};
use crate::isa::tensor_memory::TensorMemory;
use crate::source::{Source, Span, Spanned};
use crate::syntax::ast::{Module, OperandKind};

/// What to check against: the module's own directives, or what the user asked for instead.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// The PTX version, unless it is unknown.
    pub version: Option<Declared<PtxVersion>>,
    /// Each is to be checked: a set of targets of which one has to have what is used. A module may
    /// name several targets, and the assembler is content when one of them will do; targets that
    /// the user names are checked one by one.
    pub targets: Vec<Vec<Declared<Target>>>,
    judges: Vec<Judge>,
    /// By set of targets: indices of judges.
    sets: Vec<Vec<usize>>,
}

/// A value and the directive it comes from; none when the user gave it.
#[derive(Clone, Copy, Debug)]
pub struct Declared<T> {
    /// The value.
    pub value: T,
    /// Where the module says so.
    pub span: Option<Span>,
}

impl Environment {
    /// Reads the module's header; `version` and `targets` replace what it says.
    pub fn new(unit: &Unit, version: Option<PtxVersion>, targets: &[Target]) -> Self {
        let Unit { source, module, .. } = unit;
        let version = version.map(|value| Declared { value, span: None }).or_else(|| {
            let found = module_version(source, module)?;
            Some(Declared { value: found.value?, span: Some(found.span) })
        });
        let targets = if targets.is_empty() {
            let mut named: Vec<Declared<Target>> = module_targets(source, module)
                .filter_map(|name| Some(Declared { value: name.value?, span: Some(name.span) }))
                .filter(|target| target.value.since().is_some())
                .collect();
            // A name that is repeated says nothing.
            let mut seen = FxHashSet::default();
            named.retain(|target| seen.insert(target.value));
            if named.is_empty() { Vec::new() } else { vec![named] }
        } else {
            targets.iter().copied().map(|value| vec![Declared { value, span: None }]).collect()
        };
        Self::of(version, targets)
    }

    /// What to check against, whoever says so.
    pub fn of(version: Option<Declared<PtxVersion>>, targets: Vec<Vec<Declared<Target>>>) -> Self {
        let (judges, sets) = judges(&targets, version.map_or(PtxVersion::LATEST, |version| version.value));
        Self { version, targets, judges, sets }
    }
}

impl Environment {
    /// What descriptors can say under the version and the first of the targets.
    pub fn features(&self) -> Features {
        self.judges.first().map_or(Features::ANY, |judge| judge.features)
    }

    /// The number of the first target.
    pub fn sm(&self) -> Option<u16> {
        Some(self.targets.first()?.first()?.value.sm)
    }

    /// The Tensor Memory that every target has: the smallest of the targets', but of a set of
    /// targets of which one will do, the largest.
    pub fn tensor_memory(&self) -> TensorMemory {
        let of = |set: &Vec<usize>| {
            let all = set.iter().map(|judge| self.judges[*judge].features.tensor_memory());
            all.max_by_key(|memory| memory.columns)
        };
        let smallest = self.sets.iter().filter_map(of).min_by_key(|memory| memory.columns);
        smallest.unwrap_or(Features::ANY.tensor_memory())
    }

    /// What is wrong on some target: `judge` is asked once for each set of features that the targets
    /// have. Of a set of targets of which one will do, a problem counts that all of them have. Where
    /// there are several opinions, the target is named.
    pub fn judge<P: PartialEq>(&self, mut judge: impl FnMut(Features) -> Vec<P>) -> Vec<(P, Option<Target>)> {
        let [first, more @ ..] = &self.judges[..] else {
            return judge(Features::ANY).into_iter().map(|problem| (problem, None)).collect();
        };
        if more.is_empty() {
            return judge(first.features).into_iter().map(|problem| (problem, None)).collect();
        }
        let mut opinions: Vec<Vec<P>> = self.judges.iter().map(|it| judge(it.features)).collect();
        let mut found: Vec<(P, Option<Target>)> = Vec::new();
        for set in &self.sets {
            let Some((&one, others)) = set.split_first() else { continue };
            let mut at = 0;
            while at < opinions[one].len() {
                let problem = &opinions[one][at];
                let is_common = others.iter().all(|other| opinions[*other].contains(problem));
                if is_common && !found.iter().any(|(known, _)| known == problem) {
                    // What is found once need not be looked for again.
                    found.push((opinions[one].remove(at), Some(self.judges[one].target)));
                } else {
                    at += 1;
                }
            }
        }
        found
    }
}

/// A set of features, and the first target that has it.
#[derive(Clone, Copy, Debug)]
struct Judge {
    features: Features,
    target: Target,
}

/// The distinct features of the targets with Tensor Memory, and for each set of targets which ones
/// these have.
fn judges(targets: &[Vec<Declared<Target>>], version: PtxVersion) -> (Vec<Judge>, Vec<Vec<usize>>) {
    let mut judges: Vec<Judge> = Vec::new();
    let mut sets = Vec::with_capacity(targets.len());
    for set in targets {
        let mut found = Vec::new();
        for target in set.iter().map(|target| target.value).filter(|target| target.has_tensor_memory()) {
            let features = Features::of(target, version);
            let at = judges.iter().position(|judge| judge.features == features).unwrap_or_else(|| {
                judges.push(Judge { features, target });
                judges.len() - 1
            });
            if !found.contains(&at) {
                found.push(at);
            }
        }
        if !found.is_empty() && !sets.contains(&found) {
            sets.push(found);
        }
    }
    (judges, sets)
}

/// The number of the first `.version`; its value is `None` when it is not a version.
pub fn module_version(source: &Source, module: &Module) -> Option<Spanned<Option<PtxVersion>>> {
    let header = module.versions.first()?;
    let number = module.operands(header.operands).first()?;
    let value = match number.kind() {
        OperandKind::Float => source.slice(number.span()).parse().ok(),
        _ => None,
    };
    Some(Spanned::new(value, number.span()))
}

/// The `sm_` names of all `.target` directives; the value of one that has not the form is `None`.
/// Other words, such as `debug`, are options.
pub fn module_targets<'a>(
    source: &'a Source,
    module: &'a Module,
) -> impl Iterator<Item = Spanned<Option<Target>>> + 'a {
    module.targets.iter().flat_map(|header| module.operands(header.operands)).filter_map(|operand| {
        let text = source.slice(operand.span());
        (text.starts_with("sm_") || text.starts_with("compute_"))
            .then(|| Spanned::new(text.parse().ok(), operand.span()))
    })
}
