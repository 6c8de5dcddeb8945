//! Remembers what was found in each component of the call graph, for the next check of a text that
//! is nearly the same: an editor asks after every key.
//!
//! What is found in a component depends on the text of its functions, on what stands outside all
//! functions, on the names of the other functions, on whether something takes the address of one of
//! its own, and on the options. When all of that is as it was, the findings are as they were, but
//! for where the functions are now. Nothing is taken for equal by its hash: texts are compared.
//!
//! Comments that silence findings, and the number of findings that is shown, concern the text as a
//! whole. So what is remembered is what rules find before either.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::Options;
use crate::analysis::calls::{CallGraph, Component};
use crate::diagnostic::Diagnostic;
use crate::host::Holes;
use crate::resolve::unit::Unit;
use crate::source::{Source, Span};
use crate::syntax::ast::{Module, StatementKind};

/// What the last check of a text has found.
///
/// ```
/// use ptx_check::{Memory, Options, Source, Unit, check_unit_again};
///
/// let kernel = |name, columns| format!(
///     ".entry {name}() {{ .reg .b32 t; tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, {columns}; }}\n"
/// );
/// let text = |first| format!(".version 9.0\n.target sm_100a\n{}{}", kernel("k", first), kernel("l", 48));
/// let mut memory = Memory::default();
/// let mut check = |text| {
///     let unit = Unit::new(&Source::new("kernel.ptx", text).unwrap());
///     check_unit_again(&unit, &Options::default(), &mut memory, &|| false).unwrap()
/// };
/// let one = check(text(1000));
/// // Only the first kernel is looked at.
/// let two = check(text(64));
/// assert_eq!((one.diagnostics.len(), two.diagnostics.len()), (2, 1));
/// assert!(two.steps < one.steps);
/// ```
#[derive(Debug, Default)]
pub struct Memory {
    last: Option<Last>,
}

#[derive(Debug)]
struct Last {
    source: Source,
    holes: Holes,
    options: Options,
    outside: Vec<Part>,
    /// By the first function of each component, a place in `outside`.
    components: FxHashMap<u32, Remembered>,
}

/// A component and what was found in it.
#[derive(Debug)]
struct Remembered {
    functions: Vec<Place>,
    findings: Vec<Diagnostic>,
}

/// What stands outside functions, or the name of one.
#[derive(Clone, Copy, Debug)]
struct Part {
    sort: Sort,
    span: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Statement,
    Kernel,
    Function,
}

/// Where a function is.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Its name among what stands outside functions.
    part: u32,
    /// All of it, from its header to its brace.
    span: Span,
    /// How many statements it has.
    statements: u32,
    /// Whether its address is taken.
    is_addressed: bool,
}

/// A component that has to be looked at, unless it is known what is found there.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) component: Component,
    /// Of a component without tcgen05 instructions: its functions that another one has, too.
    pub(super) elsewhere: Option<Vec<u32>>,
    /// What rules find in it, silenced or not.
    pub(super) findings: Option<Vec<Diagnostic>>,
}

impl Task {
    pub(super) fn new(component: Component) -> Self {
        Self { component, elsewhere: None, findings: None }
    }

    /// A component without tcgen05 instructions. Of the functions that are looked at `elsewhere`, nothing is said
    /// again.
    pub(super) fn beside(component: Component, elsewhere: &FxHashSet<u32>) -> Self {
        let shared = component.functions.iter().filter(|it| elsewhere.contains(it)).copied().collect();
        Self { component, elsewhere: Some(shared), findings: None }
    }
}

/// What a text has outside functions, and where its functions are.
pub(super) struct Outline {
    outside: Vec<Part>,
    /// By function: those that stand at the level of the module.
    functions: FxHashMap<u32, Place>,
}

impl Outline {
    pub(super) fn new(unit: &Unit, calls: &CallGraph) -> Self {
        let module = &unit.module;
        let mut outline = Self { outside: Vec::new(), functions: FxHashMap::default() };
        let mut next = 0;
        while let Some(statement) = module.statements.get(next) {
            next += 1;
            let part = outline.outside.len() as u32;
            let is_addressed = |function: u32| calls.addressed().binary_search(&function).is_ok();
            let StatementKind::FunctionOpen(index) = statement.kind() else {
                outline.outside.push(Part { sort: Sort::Statement, span: statement.span });
                if let StatementKind::Prototype(index) = statement.kind() {
                    let is_addressed = is_addressed(index);
                    let place = Place { part, span: statement.span, statements: 0, is_addressed };
                    outline.functions.insert(index, place);
                }
                continue;
            };
            let function = &module.functions[index as usize];
            let sort = if function.is_entry { Sort::Kernel } else { Sort::Function };
            outline.outside.push(Part { sort, span: function.name });
            if let Some(end) = close_of(module, function.body.range()) {
                let span = statement.span.to(module.statements[end].span);
                let is_addressed = is_addressed(index);
                let place = Place { part, span, statements: function.body.len, is_addressed };
                outline.functions.insert(index, place);
                next = end + 1;
            }
        }
        outline
    }

    /// Where the functions of a component are.
    fn places(&self, component: &Component) -> Option<Vec<Place>> {
        component.functions.iter().map(|function| self.functions.get(function).copied()).collect()
    }
}

/// The statement that closes a body.
fn close_of(module: &Module, body: Range<usize>) -> Option<usize> {
    (module.statements.get(body.end)?.kind() == StatementKind::FunctionClose).then_some(body.end)
}

impl Memory {
    /// Fills in what is known to be found in components of the text.
    pub(super) fn recall(&mut self, unit: &Unit, options: &Options, outline: &Outline, tasks: &mut [Task]) {
        let Some(Last { source, holes, components, outside, .. }) =
            self.last.as_mut().filter(|last| last.options == *options)
        else {
            return;
        };
        let is_same = |old: Span, new: Span| {
            source.slice(old) == unit.source.slice(new) && holes.are_alike(old, &unit.holes, new)
        };
        let same_part = |(old, new): (&Part, &Part)| old.sort == new.sort && is_same(old.span, new.span);
        if outside.len() != outline.outside.len() || !outside.iter().zip(&outline.outside).all(same_part) {
            return;
        }
        let same_place = |(old, new): (&Place, &Place)| {
            (old.part, old.statements, old.is_addressed) == (new.part, new.statements, new.is_addressed)
                && is_same(old.span, new.span)
        };
        for task in tasks {
            let Some(places) = outline.places(&task.component) else { continue };
            let Some(remembered) = places.first().and_then(|first| components.remove(&first.part)) else {
                continue;
            };
            let Remembered { functions, mut findings } = remembered;
            if functions.len() != places.len() || !functions.iter().zip(&places).all(same_place) {
                continue;
            }
            let from = Map { outside, functions: &functions };
            let to = Map { outside: &outline.outside, functions: &places };
            if findings.iter_mut().all(|finding| shift(finding, &from, &to)) {
                task.findings = Some(findings);
            }
        }
    }

    /// Remembers what was found, and nothing else.
    pub(super) fn keep(&mut self, unit: &Unit, options: &Options, outline: Outline, tasks: Vec<Task>) {
        let mut components = FxHashMap::default();
        for Task { component, findings, .. } in tasks {
            let (Some(mut findings), Some(functions)) = (findings, outline.places(&component)) else {
                continue;
            };
            let map = Map { outside: &outline.outside, functions: &functions };
            let is_placed =
                findings.iter_mut().all(|finding| is_all(finding, &|span| map.find(span).is_some()));
            if let Some(first) = functions.first().filter(|_| is_placed) {
                components.insert(first.part, Remembered { functions, findings });
            }
        }
        self.last = Some(Last {
            source: unit.source.clone(),
            holes: unit.holes.clone(),
            options: options.clone(),
            outside: outline.outside,
            components,
        });
    }
}

/// The places of one text that findings in a component name.
struct Map<'a> {
    outside: &'a [Part],
    functions: &'a [Place],
}

/// A place that the next text has, too.
enum Anchor {
    /// Which function of the component.
    Function(usize),
    /// What of that which stands outside.
    Outside(usize),
}

impl Map<'_> {
    /// What has all of `span`. An empty one on its border may be meant for the neighbour.
    fn find(&self, span: Span) -> Option<Anchor> {
        let holds = |place: Span| {
            let is_within = place.start <= span.start && span.end <= place.end;
            is_within && !(span.is_empty() && (span.start == place.start || span.start == place.end))
        };
        let behind = self.functions.partition_point(|place| place.span.start <= span.start);
        if let Some(at) = behind.checked_sub(1).filter(|at| holds(self.functions[*at].span)) {
            return Some(Anchor::Function(at));
        }
        let behind = self.outside.partition_point(|part| part.span.start <= span.start);
        behind.checked_sub(1).filter(|at| holds(self.outside[*at].span)).map(Anchor::Outside)
    }

    fn span(&self, anchor: &Anchor) -> Span {
        match anchor {
            Anchor::Function(at) => self.functions[*at].span,
            Anchor::Outside(at) => self.outside[*at].span,
        }
    }
}

/// Moves a finding to another text; whether that has all the places that it names.
fn shift(finding: &mut Diagnostic, from: &Map<'_>, to: &Map<'_>) -> bool {
    let mut found = true;
    finding.for_each_span(&mut |span| match from.find(*span) {
        Some(anchor) => {
            let start = to.span(&anchor).start + (span.start - from.span(&anchor).start);
            *span = Span::new(start, start + span.len());
        }
        None => found = false,
    });
    found
}

/// Whether something holds of each place that a finding names.
fn is_all(finding: &mut Diagnostic, holds: &dyn Fn(Span) -> bool) -> bool {
    let mut all = true;
    finding.for_each_span(&mut |span| all &= holds(*span));
    all
}
