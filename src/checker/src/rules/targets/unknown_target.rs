use rustc_hash::FxHashMap;

use crate::diagnostic::{Diagnostic, Findings, Fix, Ptxas};
use crate::isa::targets::{TARGETS, Target};
use crate::resolve::environment::module_targets;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds targets that do not exist, and `sm_101*` in versions that call it `sm_110*`.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module, or compiles it for the wrong target: it reads `sm_100b` as plain
    /// `sm_100`.
    ///
    /// ## Example
    /// ```ptx
    /// .version 9.0
    /// .target sm_102a
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .version 9.0
    /// .target sm_103a
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 11.1.2 (`.target`)
    UnknownTarget Module check
}

/// The target whose name is most similar to a word; computed once for each word.
#[derive(Default)]
struct Nearest<'s> {
    /// All targets, with their names.
    names: Vec<(String, &'static Target)>,
    found: FxHashMap<&'s str, Option<&'static Target>>,
}

impl<'s> Nearest<'s> {
    fn to(&mut self, text: &'s str) -> Option<&'static Target> {
        let Self { names, found } = self;
        *found.entry(text).or_insert_with(|| {
            if names.is_empty() {
                names.extend(TARGETS.iter().map(|(target, _)| (target.to_string(), target)));
            }
            // Names are short. Where a text is longer, its end makes no difference.
            let start: String = text.chars().take(64).collect();
            let nearest = names.iter().min_by_key(|(name, _)| strsim::damerau_levenshtein(name, &start));
            nearest.map(|(_, target)| *target)
        })
    }
}

fn digits_of(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let named: Vec<_> = module_targets(&checker.unit.source, &checker.unit.module).collect();
    let own_targets_matter = checker.environment.targets.iter().flatten().all(|target| target.span.is_some());
    let mut nearest = Nearest::default();
    for name in named.iter().filter(|_| own_targets_matter) {
        let text = checker.unit.source.slice(name.span);
        let known = name.value.filter(|target| target.since().is_some());
        let Some(target) = known else {
            // The assembler reads the number and ignores a letter that it does not know.
            let digits = digits_of(text);
            let plain = digits.parse().ok().map(Target::plain).filter(|target| target.since().is_some());
            let nearest = nearest.to(text);
            let mut finding = Diagnostic::new(
                Code::UnknownTarget,
                name.span,
                format!("unknown target `{text}`"),
                "there is no such target",
            );
            if let Some(nearest) = nearest {
                finding = finding.help(format!("did you mean `{nearest}`?"));
                // Another number is another GPU.
                if digits_of(&nearest.to_string()) == digits {
                    let title = format!("Target {nearest}");
                    finding = finding.fix(Some(Fix::guess(title, name.span, nearest.to_string())));
                }
            }
            findings.push(if plain.is_some() { finding.ptxas(Ptxas::Silent) } else { finding });
            continue;
        };
        let Some((renamed, since)) = target.renamed() else { continue };
        let Some(version) = checker.environment.version.filter(|version| version.value >= since) else {
            continue;
        };
        let mut finding = Diagnostic::new(
            Code::UnknownTarget,
            name.span,
            format!("`{target}` was renamed `{renamed}` in PTX ISA {since}"),
            format!("PTX ISA {} has no {target}", version.value),
        )
        .help(format!("write `.target {renamed}`"))
        .fix(Some(Fix::guess(format!("Target {renamed}"), name.span, renamed.to_string())))
        // The assembler of CUDA 13 still takes the old name in the module, though not as its own
        // argument.
        .ptxas(Ptxas::Silent);
        if let Some(span) = version.span {
            finding = finding.label(span, "the module's version");
        }
        findings.push(finding);
    }
}
