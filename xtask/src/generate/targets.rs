//! A page for each GPU: what its targets have that others lack, since when, and what they lack.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::slice;

use ptx_check::isa::generic::{Constraint, Demand, Modifier, Row, Term, rows};
use ptx_check::isa::multiprocessor::Multiprocessor;
use ptx_check::isa::targets::{GATES, Portability, PtxVersion, TARGETS, TENSOR_TARGETS, Target};
use ptx_check::isa::tensor_memory::TensorMemory;

const DIRECTORY: &str = "docs/targets";

/// The first version with tcgen05, and with any of these targets.
const FIRST: PtxVersion = PtxVersion::new(8, 6);

/// Letters of a list of words that is shown in full.
const MOST: usize = 110;

/// A GPU: the number of its targets, where it is found, and the number that it had before.
struct Gpu {
    sm: u16,
    products: &'static str,
    before: Option<u16>,
}

const GPUS: [Gpu; 6] = [
    Gpu { sm: 100, products: "B200 and GB200", before: None },
    Gpu { sm: 103, products: "B300 and GB300", before: None },
    Gpu { sm: 107, products: "the family that follows Blackwell", before: None },
    Gpu {
        sm: 110,
        products: "Jetson Thor; the targets were named `sm_101*` before PTX ISA 9.0",
        before: Some(101),
    },
    Gpu { sm: 120, products: "GeForce RTX 50 and RTX PRO", before: None },
    Gpu { sm: 121, products: "GB10 (DGX Spark)", before: None },
];

impl Gpu {
    fn page(&self) -> String {
        format!("sm_{}.md", self.sm)
    }

    fn targets(&self) -> Vec<Target> {
        let numbers = [Some(self.sm), self.before];
        numbers
            .into_iter()
            .flatten()
            .flat_map(|sm| [Target::plain(sm), Target::f(sm), Target::a(sm)])
            .collect()
    }
}

/// Something that depends on the target, with the first version for each of [`targets`].
#[derive(Clone, Debug, PartialEq, Eq)]
struct Feature {
    chapter: &'static str,
    instruction: String,
    /// Its name, or the syntax of one of its forms.
    shown: String,
    /// The qualifiers, or nothing for the whole instruction.
    with: String,
    since: BTreeMap<Target, PtxVersion>,
}

/// The paths and texts of all pages.
pub(super) fn pages() -> Vec<(String, String)> {
    let features = features();
    let mut pages: Vec<(String, String)> =
        GPUS.iter().map(|gpu| (format!("{DIRECTORY}/{}", gpu.page()), page(gpu, &features))).collect();
    pages.push((format!("{DIRECTORY}/README.md"), index(&features)));
    pages
}

/// The targets of all pages.
fn targets() -> Vec<Target> {
    TARGETS.iter().map(|(target, _)| *target).filter(|target| target.sm >= 100).collect()
}

fn features() -> Vec<Feature> {
    let mut features = tensor_features();
    for row in rows() {
        for feature in features_of(row) {
            let same = |it: &&mut Feature| it.shown == feature.shown && it.with == feature.with;
            match features.iter_mut().find(same) {
                // Forms of one instruction: what one of them has, the instruction has.
                Some(known) => {
                    for (target, since) in feature.since {
                        known.since.entry(target).and_modify(|it| *it = since.min(*it)).or_insert(since);
                    }
                }
                None => features.push(feature),
            }
        }
    }
    features
}

fn tensor_features() -> Vec<Feature> {
    let feature = |with: &str, targets: &[Target], since: PtxVersion| Feature {
        chapter: "Tensor Memory and tcgen05",
        instruction: "tcgen05".to_owned(),
        shown: "tcgen05".to_owned(),
        with: with.to_owned(),
        since: targets.iter().filter_map(|it| Some((*it, it.since()?.max(since)))).collect(),
    };
    let gates = GATES.iter().map(|gate| feature(gate.feature, gate.targets, gate.since));
    [feature("", TENSOR_TARGETS, FIRST)].into_iter().chain(gates).collect()
}

/// What of an instruction depends on the target.
fn features_of(row: &'static Row) -> Vec<Feature> {
    let whole = since(row, &[]);
    let mut features = Vec::new();
    for constraint in row.constraints.iter().filter(|it| matches!(it.then, Demand::On(_))) {
        let mut by_since: Vec<(BTreeMap<Target, PtxVersion>, Vec<Choice>)> = Vec::new();
        for choice in choices(constraint) {
            let since = since(row, &choice);
            match by_since.iter_mut().find(|(it, _)| *it == since) {
                Some((_, choices)) => choices.push(choice),
                None => by_since.push((since, vec![choice])),
            }
        }
        for (since, choices) in by_since {
            if constraint.when.is_empty() || since.keys().ne(whole.keys()) {
                let (chapter, instruction) = (row.chapter, row.name().to_owned());
                let (shown, with) = if constraint.when.is_empty() { form(row) } else { told(row, &choices) };
                features.push(Feature { chapter, instruction, shown, with, since });
            }
        }
    }
    features
}

/// What tells a form of an instruction from those that other targets or versions have: the words that only this one
/// takes, or its syntax. The name alone where there is one form.
fn form(row: &'static Row) -> (String, String) {
    let name = row.name().to_owned();
    let whole = since(row, &[]);
    let others: Vec<&Row> = rows().filter(|it| it.name() == row.name() && since(it, &[]) != whole).collect();
    if others.is_empty() {
        return (name, String::new());
    }
    let is_own = |word: &Modifier| {
        !others.iter().any(|other| other.modifiers.iter().any(|group| group.words.contains(word)))
    };
    let mut required = row.modifiers.iter().filter(|group| group.required);
    match required.find(|group| group.words.iter().all(is_own)) {
        Some(group) => (name, list(&spelled(group.words))),
        None => (syntax(row), String::new()),
    }
}

/// An instruction and words of it: the syntax, if other forms of the instruction take the same words elsewhere.
fn told(row: &'static Row, choices: &[Choice]) -> (String, String) {
    let takes = |other: &Row, word: &Modifier| other.modifiers.iter().any(|group| group.words.contains(word));
    let differs = |other: &Row| {
        choices.iter().any(|choice| {
            choice.iter().filter_map(|(_, word)| word.as_ref()).all(|word| takes(other, word))
                && since(other, choice) != since(row, choice)
        })
    };
    let is_ambiguous =
        rows().any(|other| !std::ptr::eq(other, row) && other.name() == row.name() && differs(other));
    (if is_ambiguous { syntax(row) } else { row.name().to_owned() }, shown(choices))
}

/// The opcode of a row, without what is optional.
fn syntax(row: &Row) -> String {
    let line = row.line(row.name());
    let (mut opcode, mut depth) = (String::new(), 0usize);
    for letter in line.chars().take_while(|letter| *letter != ' ') {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            letter if depth == 0 => opcode.push(letter),
            _ => {}
        }
    }
    opcode
}

fn spelled(words: &[Modifier]) -> Vec<String> {
    words.iter().map(|word| format!("`.{}`", word.spelling())).collect()
}

/// Words of which one stands in an opcode.
fn list(words: &[String]) -> String {
    let length: usize = words.iter().map(String::len).sum();
    match words {
        [first, .., last] if length > MOST => format!("{first}/.../{last}"),
        words => words.join("/"),
    }
}

/// A word for each term of a constraint.
type Choice = Vec<(Term, Option<Modifier>)>;

fn choices(constraint: &Constraint) -> Vec<Choice> {
    let mut choices: Vec<Choice> = vec![Vec::new()];
    for term in constraint.when {
        let words: Vec<Option<Modifier>> =
            if term.absent { vec![None] } else { term.words.iter().copied().map(Some).collect() };
        choices = choices
            .iter()
            .flat_map(|choice| words.iter().map(|word| [&choice[..], &[(*term, *word)]].concat()))
            .collect();
    }
    choices
}

/// The first version for each target that has an instruction with these words.
fn since(row: &Row, choice: &[(Term, Option<Modifier>)]) -> BTreeMap<Target, PtxVersion> {
    let holds = |term: &Term| {
        choice.iter().any(|(chosen, word)| match word {
            Some(word) => {
                !term.absent && term.words.contains(word) && (term.nth.is_none() || term.nth == chosen.nth)
            }
            None => chosen == term,
        })
    };
    let concerned = || row.constraints.iter().filter(|it| it.when.iter().all(holds));
    let versions = concerned().filter_map(|it| match it.then {
        Demand::Since(since) => Some(since),
        _ => None,
    });
    let first = versions.max().unwrap_or(FIRST);
    let has = |target: Target| concerned().all(|it| it.is_on(PtxVersion::LATEST, target));
    let targets = targets().into_iter().filter(|target| has(*target));
    targets.filter_map(|target| Some((target, target.since()?.max(first)))).collect()
}

/// Choices with the same answer, in short.
fn shown(choices: &[Choice]) -> String {
    let Some(first) = choices.first() else { return String::new() };
    let parts = |term: usize| {
        let mut words: Vec<String> = Vec::new();
        for choice in choices {
            let (term, word) = choice[term];
            let text = word.map_or_else(
                || format!("without {}", list(&spelled(term.words))),
                |word| format!("`.{}`", word.spelling()),
            );
            if !words.contains(&text) {
                words.push(text);
            }
        }
        words
    };
    let lists: Vec<Vec<String>> = (0..first.len()).map(parts).collect();
    let is_product = lists.iter().map(Vec::len).product::<usize>() == choices.len();
    if !is_product {
        let mut heads: Vec<Option<Modifier>> = choices.iter().map(|choice| choice[0].1).collect();
        heads.dedup();
        let parts: Vec<String> = match heads.len() {
            1 => choices.iter().map(|choice| shown(slice::from_ref(choice))).collect(),
            _ => heads
                .iter()
                .map(|head| choices.iter().filter(|it| it[0].1 == *head).cloned().collect::<Vec<_>>())
                .map(|of_head| shown(&of_head))
                .collect(),
        };
        return parts.join("; ");
    }
    let text = |(nth, words): (Option<u8>, Vec<String>)| match nth {
        Some(0) => format!("{} as the first type", list(&words)),
        Some(1) => format!("{} as the second type", list(&words)),
        _ => list(&words),
    };
    let nths = first.iter().map(|(term, _)| term.nth);
    nths.zip(lists).map(text).collect::<Vec<_>>().join(" and ")
}

impl Feature {
    fn name(&self) -> String {
        match (self.shown.as_str(), self.with.as_str()) {
            (shown, "") => format!("`{shown}`"),
            ("tcgen05", with) if with.starts_with("`tcgen05.") => with.to_owned(),
            (shown, with) => format!("`{shown}` with {with}"),
        }
    }

    fn has(&self, target: Target) -> bool {
        self.since.contains_key(&target)
    }
}

fn page(gpu: &Gpu, features: &[Feature]) -> String {
    let columns = gpu.targets();
    let a = Target::a(gpu.sm);
    let mut text = format!(
        "# What sm_{0} allows\n\n{1}.\n\n\
         Generated from the tables in `src/isa` by `cargo xtask generate`; `cargo xtask oracle` and `cargo xtask generic` \
         compare them with\nNVIDIA's assembler. A number is the first version of the PTX ISA that has a feature on a target; a \
         dash says that no version has it.\nWhat all targets from sm_100 on have is not listed: see [all \
         targets](README.md).\nAn opcode such as `cvt.rnd.dtype.atype` is one form of an instruction, as the ISA writes it.\n\n```console\nptx-tc check kernel.ptx --target {a}\n```\n\n\
         checks a kernel for this target, whatever `.target` it has.\n\n## Targets\n\n\
         | target | since | code for it runs on |\n|---|---|---|\n",
        gpu.sm,
        capitalized(gpu.products),
    );
    for target in &columns {
        let since = target.since().map_or("-".to_owned(), |it| it.to_string());
        let _ = writeln!(text, "| `{target}` | {since} | {} |", runs_on(*target));
    }
    text.push_str("\n## A multiprocessor\n\n| | |\n|---|--:|\n");
    if let Some(it) = Multiprocessor::of(a) {
        let _ = writeln!(text, "| threads | {} |", it.threads);
        let _ = writeln!(text, "| CTAs | {} |", it.ctas);
        let _ = writeln!(text, "| shared memory | {} KiB |", it.shared_memory / 1024);
    }
    let memory = if gpu.sm == 107 { TensorMemory::RUBIN } else { TensorMemory::BLACKWELL };
    let _ = if a.has_tensor_memory() {
        writeln!(text, "| Tensor Memory | {} lanes x {} columns |", TensorMemory::LANES, memory.columns)
    } else {
        writeln!(text, "| Tensor Memory | none |")
    };

    text.push_str("\n## What it has\n");
    let is_everywhere = |feature: &&Feature| targets().iter().all(|it| feature.has(*it));
    let mut chapter = "";
    for feature in features.iter().filter(|it| !is_everywhere(it)) {
        if !columns.iter().any(|it| feature.has(*it)) {
            continue;
        }
        if feature.chapter != chapter {
            chapter = feature.chapter;
            let _ = write!(text, "\n### {chapter}\n\n| feature |");
            for target in &columns {
                let _ = write!(text, " {target} |");
            }
            let _ = writeln!(text, "\n|---|{}", "---|".repeat(columns.len()));
        }
        let _ = write!(text, "| {} |", feature.name());
        for target in &columns {
            let since = feature.since.get(target).map_or("–".to_owned(), ToString::to_string);
            let _ = write!(text, " {since} |");
        }
        text.push('\n');
    }

    text.push_str("\n## What it lacks\n\n| feature | targets that have it |\n|---|---|\n");
    for feature in features.iter().filter(|it| !columns.iter().any(|target| it.has(*target))) {
        // Of what lacks altogether, no part is listed.
        let whole = |it: &&Feature| it.shown == feature.instruction && it.with.is_empty();
        let is_part = !feature.with.is_empty()
            && features.iter().find(whole).is_some_and(|it| !columns.iter().any(|target| it.has(*target)));
        if !is_part {
            let _ = writeln!(text, "| {} | {} |", feature.name(), having(feature));
        }
    }
    text
}

/// The targets that have something, in short.
fn having(feature: &Feature) -> String {
    let mut names = Vec::new();
    for gpu in &GPUS {
        let has = |target| feature.has(target);
        let sm = gpu.sm;
        match (has(Target::plain(sm)), has(Target::f(sm)), has(Target::a(sm))) {
            (true, ..) => names.push(format!("sm_{sm}")),
            (false, true, true) => names.push(format!("sm_{sm}f, sm_{sm}a")),
            (false, false, true) => names.push(format!("sm_{sm}a")),
            (false, true, false) => names.push(format!("sm_{sm}f")),
            (false, false, false) => {}
        }
    }
    if names.is_empty() { "sm_90a".to_owned() } else { names.join(", ") }
}

fn runs_on(target: Target) -> String {
    match target.portability {
        Portability::Forward => "this GPU and all later ones".to_owned(),
        Portability::Family => "this GPU and later ones of its family".to_owned(),
        Portability::Architecture => "this GPU alone".to_owned(),
    }
}

fn index(features: &[Feature]) -> String {
    let mut text = String::from(
        "# What each GPU allows\n\n\
         Generated from the tables in `src/isa` by `cargo xtask generate`. A target without a letter has what all later GPUs have, \
         too.\nOne with `f` has also what its family shares, and one with `a` has everything of its GPU.\n\n\
         | page | GPU | tcgen05 | shared memory | features that not all have |\n|---|---|---|--:|--:|\n",
    );
    let is_everywhere = |feature: &Feature| targets().iter().all(|it| feature.has(*it));
    for gpu in &GPUS {
        let a = Target::a(gpu.sm);
        let count = features.iter().filter(|it| it.has(a) && !is_everywhere(it)).count();
        let _ = writeln!(
            text,
            "| [sm_{0}]({1}) | {2} | {3} | {4} KiB | {count} |",
            gpu.sm,
            gpu.page(),
            gpu.products,
            if a.has_tensor_memory() { "yes" } else { "no" },
            Multiprocessor::of(a).map_or(0, |it| it.shared_memory / 1024),
        );
    }
    text.push_str(
        "\nThe qualifiers of tcgen05, target by target, are in one table on [another page](../gates.md). A kernel can be checked for \
         several\ntargets at once:\n\n```console\nptx-tc check kernel.ptx --target sm_100a --target sm_103a\n```\n",
    );
    text.push_str(
        "\n## What all of them have\n\nThese need a version of the PTX ISA from 8.6 on, and no target in particular.\n\
         Some are written only with another qualifier that has targets: the block-scaled kinds of `mma` need `.block_scale`.\nThe page \
         of a target says what it lacks.\n\n\
         | version | instructions and qualifiers |\n|---|---|\n",
    );
    for (version, names) in by_version() {
        let _ = writeln!(text, "| {version} | {} |", names.join("; "));
    }
    text
}

/// What came with a version for every target.
fn by_version() -> BTreeMap<PtxVersion, Vec<String>> {
    let mut by_version: BTreeMap<PtxVersion, Vec<String>> = BTreeMap::new();
    for row in rows() {
        for constraint in row.constraints {
            let Demand::Since(version) = constraint.then else { continue };
            let mut choices = choices(constraint);
            choices.retain(|choice| targets().iter().all(|target| since(row, choice).contains_key(target)));
            if version < FIRST || choices.is_empty() {
                continue;
            }
            let (shown, with) = if constraint.when.is_empty() { form(row) } else { told(row, &choices) };
            let name = if with.is_empty() { format!("`{shown}`") } else { format!("`{shown}` with {with}") };
            let names = by_version.entry(version).or_default();
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    by_version
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use ptx_check::{Options, Source, check};

    use super::*;

    /// What a page says of a feature on a target is what the checker says of an instruction that uses it.
    #[test]
    fn pages_agree_with_the_checker() {
        let features = features();
        let mut differ = 0;
        for (name, with, registers, instruction) in [
            ("redux", "`.f32`", ".reg .f32 a, b;", "redux.sync.min.f32 a, b, -1;"),
            ("add", "`.u8x4`/`.s8x4`", ".reg .b32 a, b;", "add.u8x4 a, a, b;"),
            ("setmaxnreg", "", "", "setmaxnreg.dec.sync.aligned.u32 40;"),
            ("wgmma.fence", "", "", "wgmma.fence.sync.aligned;"),
            ("tcgen05", "", "", "tcgen05.wait::ld.sync.aligned;"),
            ("tcgen05", "`tcgen05.shift`", ".reg .b32 a;", "tcgen05.shift.cta_group::1.down [a];"),
        ] {
            let feature = features.iter().find(|it| it.instruction == name && it.with == with).unwrap();
            for target in targets() {
                for version in
                    [PtxVersion::new(8, 6), PtxVersion::new(8, 8), PtxVersion::new(9, 0), PtxVersion::LATEST]
                {
                    let is_renamed = target.renamed().is_some_and(|(_, since)| version >= since);
                    if is_renamed || target.since().is_none_or(|since| version < since) {
                        continue;
                    }
                    let text = format!(
                        ".version {version}\n.target {target}\n.entry k() .maxnreg 128 {{ {registers} {instruction} ret; }}\n"
                    );
                    let report = check(&Source::new("k.ptx", text).unwrap(), &Options::default());
                    let is_refused = report.diagnostics.iter().any(|it| it.code.as_str().starts_with("TC2"));
                    let is_listed = feature.since.get(&target).is_some_and(|since| *since <= version);
                    assert_eq!(
                        is_listed, !is_refused,
                        "{name} {with} on {target}, {version}: {:?}",
                        report.diagnostics
                    );
                    differ += usize::from(is_listed);
                }
            }
        }
        assert!(differ > 20, "{differ}");
    }

    /// Every number from 100 on has its page.
    #[test]
    fn each_target_has_a_page() {
        for target in targets() {
            assert!(GPUS.iter().any(|gpu| gpu.targets().contains(&target)), "{target}");
        }
    }
}
