//! A file as people see it, and the PTX in it.

use super::Memory;
use crate::diagnostic::{Applicability, Diagnostic, Edit, Fix};
use crate::host::{self, Extract, Host};
use crate::resolve::unit::Unit;
use crate::rules::Code;
use crate::source::{Source, Span};
use crate::{Options, Report};

/// A file, parsed and resolved: PTX, or one of another language with PTX in it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Document {
    /// The PTX. What is said about it says where in this text.
    pub unit: Unit,
    /// The file that it was taken from, where it is not the file.
    pub host: Option<Host>,
    /// The whole modules that the file has besides, each a text of its own.
    pub modules: Vec<Document>,
}

impl Document {
    /// Parses a file. Its name says in which language it is.
    pub fn new(source: &Source) -> Self {
        match host::extract(source) {
            Some(Extract { ptx, fragments, holes, host, modules, .. }) => {
                let modules = modules.into_iter().map(|Extract { ptx, host, .. }| Self {
                    unit: Unit::new(&ptx),
                    host: Some(host),
                    modules: Vec::new(),
                });
                let modules = modules.collect();
                let unit = Unit::of_fragments(&ptx, fragments, holes, host.outside());
                Self { unit, host: Some(host), modules }
            }
            None => Self { unit: Unit::new(source), host: None, modules: Vec::new() },
        }
    }

    /// The file.
    pub fn source(&self) -> &Source {
        self.host.as_ref().map_or(&self.unit.source, |host| &host.source)
    }

    /// Finds what is wrong, at the places of the file; or gives up (`None`) as soon as `cancelled` says
    /// that nobody waits for it any more.
    pub fn check(&self, options: &Options, cancelled: &(dyn Fn() -> bool + Sync)) -> Option<Report> {
        if self.host.as_ref().is_some_and(|host| host.statements.is_empty() && host.comments.is_empty()) {
            return Some(Report::default());
        }
        super::check((&self.unit, self.host.as_ref()), &self.modules, options, None, cancelled)
    }

    /// The same, but looks only at what is not as it was in the check before.
    pub fn check_again(
        &self,
        options: &Options,
        memory: &mut Memory,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Option<Report> {
        let memory = Some(memory).filter(|_| !options.describe);
        super::check((&self.unit, self.host.as_ref()), &self.modules, options, memory, cancelled)
    }
}

/// A finding about PTX, as one about the file that it was taken from.
pub(super) fn in_host(unit: &Unit, host: &Host, mut finding: Diagnostic) -> Diagnostic {
    let place = finding.primary.span;
    joined(unit, &mut finding);
    // A guess at what makes a text a module may leave one that is none, so that nothing would be found in it.
    let may_end_it = unit.is_module && finding.code == Code::SyntaxError;
    let is_meant = |fix: &Fix| !may_end_it || fix.applicability == Applicability::Safe;
    finding.fix = finding.fix.filter(is_meant).and_then(|fix| fix_in(host, fix));
    finding.primary.span = host.map.host(place);
    finding.cause.iter_mut().flat_map(|cause| &mut cause.made).for_each(|span| *span = host.map.host(*span));
    finding.labels.retain_mut(|label| {
        label.span = host.map.host(label.span);
        // Where a macro is used, or a branch of the preprocessor, two places are one.
        label.span != finding.primary.span
    });
    if let Some(used) = unit.fragment(place.start).and_then(|fragment| fragment.used) {
        let is_there = |span: Span| used.start <= span.start && span.end <= used.end;
        if !is_there(finding.primary.span) && !finding.labels.iter().any(|label| is_there(label.span)) {
            finding = finding.label(used, "with the arguments of this use");
        }
    }
    finding
}

/// Says of an unknown word what it is, where it is two: the end of one literal and the start of the next.
fn joined(unit: &Unit, finding: &mut Diagnostic) {
    let is_about_a_word = matches!(
        finding.code,
        Code::UnknownInstruction | Code::UnknownQualifier | Code::UnknownOperation | Code::UnknownModifier
    );
    let Span { start, end } = finding.primary.span;
    if is_about_a_word && let Some(seam) = unit.seam_before(start, end) {
        finding.help = Some("two literals are joined here: end the first with a `;`".to_owned());
        finding.fix = Some(Fix::safe("Insert `;`", Span::at(seam), ";"));
    }
}

/// Whether a finding holds whatever the parts of its statement are that are not known.
pub(super) fn is_certain(unit: &Unit, finding: &Diagnostic) -> bool {
    if !unit.is_open(finding.primary.span.start) {
        return true;
    }
    let is_known = !unit.holes.has_text(finding.primary.span);
    match finding.code {
        Code::UnknownInstruction
        | Code::UnknownQualifier
        | Code::RepeatedQualifier
        | Code::UndeclaredName
        | Code::InstructionUnsupportedOnTarget
        | Code::FeatureUnsupportedOnTarget
        | Code::VersionTooOld => is_known,
        Code::UnknownOperation | Code::UnknownModifier | Code::MissingModifier => {
            is_known && unit.has_whole_opcode(finding.primary.span)
        }
        // They are judged by all qualifiers that there may be.
        Code::OperandCount
        | Code::OperandKind
        | Code::OperandType
        | Code::VectorElement
        | Code::ConstraintType => unit.has_open_qualifiers(finding.primary.span.start),
        // What is said about the whole statement of the host, or about a sign in its template.
        Code::OperandNotListed
        | Code::PercentEscape
        | Code::MissingVolatile
        | Code::MissingSideeffect
        | Code::MissingConvergent
        | Code::MissingMemoryClobber
        | Code::MissingComma => true,
        _ => false,
    }
}

/// A fix of the file; none where what is to be changed cannot be changed there.
fn fix_in(host: &Host, fix: Fix) -> Option<Fix> {
    let Fix { title, edits, mut applicability } = fix;
    let mut changed: Vec<Edit> = Vec::with_capacity(edits.len());
    for Edit { span, text } in edits {
        let (places, is_shared) = host.edits(span, &text)?;
        if is_shared {
            // Others may use the macro.
            applicability = Applicability::Unsafe;
        }
        changed.extend(places.into_iter().map(|(span, text): (Span, String)| Edit { span, text }));
    }
    Some(Fix { title, edits: changed, applicability })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found in a file, and where.
    fn found(name: &str, text: &str) -> Vec<String> {
        let source = Source::new(name, text).unwrap();
        let report = Document::new(&source).check(&Options::default(), &|| false).unwrap();
        let described = |it: &Diagnostic| format!("{}: {}", it.code.name(), source.slice(it.primary.span));
        report.diagnostics.iter().map(described).collect()
    }

    #[test]
    fn names_like_fillers_are_names() {
        let module = ".version 9.0\n.target sm_100a\n.entry k() {\n  add.u32 _$unknown$_, 1, 2;\n}\n";
        assert_eq!(found("k.ptx", module), ["undeclared-name: _$unknown$_"]);
        let statement =
            |text: &str| format!("__device__ void f(int a) {{ asm volatile(\"{text}\" :: \"r\"(a)); }}");
        let misspelt = "tcgen05.wait::ld._$unknown$_.aligned; mov.b32 %0, 1;";
        assert_eq!(found("k.cu", &statement(misspelt)), ["unknown-qualifier: ._$unknown$_"]);
        let filled = "tcgen05.wait::ld.\" NAME \".aligned; mov.b32 %0, 1;";
        assert_eq!(found("k.cu", &statement(filled)), [""; 0]);
    }

    #[test]
    fn what_was_found_next_to_a_hole_is_not_remembered_of_a_name() {
        let mut memory = Memory::default();
        let mut count = |qualifier: &str| {
            let text = format!("void f() {{ asm volatile(\"tcgen05.wait::ld.{qualifier}.aligned;\"); }}");
            let document = Document::new(&Source::new("k.cu", text).unwrap());
            document.check_again(&Options::default(), &mut memory, &|| false).unwrap().diagnostics.len()
        };
        assert_eq!([count("\" NAME \""), count("_$unknown$_"), count("\" NAME \"")], [0, 1, 0]);
    }

    #[test]
    fn no_declaration_is_one_of_a_filler() {
        let text = |value: &str| {
            let declared = ".reg .b64 _$unknown$_, _$unknown$$_;";
            format!("void f() {{ asm volatile(\"{{ {declared} bar.sync {value}; }}\"); }}")
        };
        assert_eq!(found("k.cu", &text("\" NAME \"")), [""; 0]);
        assert_ne!(found("k.cu", &text("_$unknown$$_")), [""; 0]);
    }
}
