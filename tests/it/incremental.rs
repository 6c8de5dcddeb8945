//! What is remembered of a check changes nothing but the work: after any edit, the findings are
//! those of a check that remembers nothing.

use std::fmt::Write as _;
use std::fs;

use proptest::prelude::*;
use ptx_tc::diagnostic::Applicability;
use ptx_tc::{Memory, Options, Source, Unit, check_unit, check_unit_again};

use crate::common::{fixtures, root};

fn unit(text: &str) -> Unit {
    Unit::new(&Source::new("t.ptx", text).unwrap())
}

/// Checks with and without memory; what the former was spared.
fn compare(text: &str, options: &Options, memory: &mut Memory) -> u64 {
    let unit = unit(text);
    let fresh = check_unit(&unit, options, &|| false).unwrap();
    let mut again = check_unit_again(&unit, options, memory, &|| false).unwrap();
    let steps = std::mem::replace(&mut again.steps, fresh.steps);
    for (one, other) in fresh.diagnostics.iter().zip(&again.diagnostics) {
        assert_eq!(one, other, "{text}");
    }
    assert_eq!(fresh, again, "{text}");
    fresh.steps - steps
}

/// What stands behind the header of a module.
fn body(text: &str) -> String {
    let is_header =
        |line: &str| [".version", ".target", ".address_size"].iter().any(|it| line.starts_with(it));
    text.lines().filter(|line| !is_header(line)).flat_map(|line| [line, "\n"]).collect()
}

const HEADER: &str = ".version 9.0\n.target sm_100a\n.address_size 64\n";

/// Modules with components of all sorts: real kernels, and the fixtures of rules, which have the
/// findings. Of those some functions have the same name, which is not allowed and happens.
fn modules() -> Vec<String> {
    let fixtures: Vec<String> =
        fixtures().iter().map(|(_, path)| body(&fs::read_to_string(path).unwrap())).collect();
    let kernel = |name: &str| body(&fs::read_to_string(root().join("fixtures/kernels").join(name)).unwrap());
    let small = fixtures.chunks(24).map(<[String]>::concat);
    let renamed = fixtures.chunks(24).map(|some| {
        some.iter().enumerate().fold(String::new(), |mut text, (at, fixture)| {
            let fixture = fixture.replace(".entry ", &format!(".entry c{at}_"));
            write!(text, "{fixture}").unwrap();
            text
        })
    });
    let kernels = [kernel("gemm_fp8_tma_sm100f.ptx"), kernel("triton_attention_sm100a.ptx")];
    let with_kernels =
        kernels.into_iter().zip(fixtures.chunks(16)).map(|(kernel, some)| kernel + &some.concat());
    small.chain(renamed).chain(with_kernels).map(|body| HEADER.to_owned() + &body).collect()
}

/// What someone may type, or paste.
const PIECES: &[&str] = &[
    "\n",
    " ",
    "    // ptx-tc: allow(TC3)\n",
    "// ptx-tc: allow-file(TC7, TC301)\n",
    "/* x */",
    "/*",
    "}",
    "{",
    ";",
    "\"",
    "x",
    "1",
    "%r1",
    ".reg .b32 taddr;\n",
    ".shared .b32 slot;\n",
    ".visible .func f() { ret; }\n",
    ".func f;\n",
    "call f;\n",
    "mov.u64 %rd1, k;\n",
    ".entry k() { tcgen05.wait::ld.sync; }\n",
    ".entry twice() { ret; }\n",
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 48;\n",
    "tcgen05.ld.sync.aligned.32x32b.x2.b32 {_, _}, [taddr];\n",
    "bar.sync 0;\n",
    ".target sm_103a\n",
    "é",
];

/// An edit: what is done, where, and with what.
type Edit = (u8, prop::sample::Index, prop::sample::Index, prop::sample::Index);

fn edit(text: &mut String, (what, place, other, piece): &Edit) {
    let starts: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let line = |index: &prop::sample::Index| {
        let at = index.index(starts.len());
        starts[at]..starts.get(at + 1).copied().unwrap_or(text.len())
    };
    let (here, there) = (line(place), line(other));
    let piece = PIECES[piece.index(PIECES.len())];
    match what {
        // A key.
        0..4 => {
            let at = here.start + other.index(here.len() + 1);
            let at = (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap();
            text.insert_str(at, piece);
        }
        // Another digit.
        4 => {
            if let Some(at) = text[here.clone()].find(|it: char| it.is_ascii_digit()) {
                text.replace_range(here.start + at..=here.start + at, "3");
            }
        }
        // A line less, or one more.
        5 => text.replace_range(here, ""),
        6 => text.insert_str(here.start, piece),
        _ => {
            let copy = text[there].to_owned();
            text.insert_str(here.start, &copy);
        }
    }
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    prop::collection::vec(
        (0..9u8, any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        1..12,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn findings_are_those_of_a_check_without_memory(
        module in any::<prop::sample::Index>(),
        edits in edits(),
        limit in prop::sample::select(vec![None, Some(1), Some(0)]),
    ) {
        let modules = modules();
        let mut text = modules[module.index(modules.len())].clone();
        let fixes_of_omitted = Some(Applicability::Unsafe);
        let options = Options { max_findings: limit, fixes_of_omitted, ..Options::default() };
        let mut memory = Memory::default();
        compare(&text, &options, &mut memory);
        for change in &edits {
            edit(&mut text, change);
            compare(&text, &options, &mut memory);
        }
    }
}

#[test]
fn only_what_changes_is_looked_at() {
    let kernel = fs::read_to_string(root().join("fixtures/kernels/gemm_fp8_tma_sm100f.ptx")).unwrap();
    let kernels = kernel.matches(".entry").count() as u64;
    let options = Options::default();
    let mut memory = Memory::default();
    assert_eq!(compare(&kernel, &options, &mut memory), 0);
    let all = compare(&kernel, &options, &mut memory);
    assert!(kernels > 1 && all > 0, "{kernels} kernels, {all} steps");

    // In one of the kernels, and lines above all.
    let digit = kernel.rfind("tcgen05.ld").unwrap();
    let spared = |text: &str, memory: &mut Memory| compare(text, &options, memory);
    let edited = format!("// one\n\n{} {}", &kernel[..digit], &kernel[digit..]);
    let some = spared(&edited, &mut memory);
    assert!(some < all && some > all / 2, "{some} of {all}");

    // What concerns everything.
    assert_eq!(spared(&edited.replacen("sm_100f", "sm_103f", 1), &mut memory), 0);
    let memory = &mut Memory::default();
    compare(&kernel, &options, memory);
    let other = Options { targets: vec!["sm_103a".parse().unwrap()], ..Options::default() };
    assert_eq!(compare(&kernel, &other, memory), 0);
    assert_eq!(compare(&kernel, &other, memory), all);
}

#[test]
fn a_check_that_was_cut_short_is_not_taken_for_all() {
    let text = HEADER.to_owned()
        + ".entry k() { .reg .b32 t; tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 48; }\n"
        + ".entry l() { .reg .b32 t; tcgen05.dealloc.cta_group::1.sync.aligned.b32 t, 48; }\n";
    let options = Options::default();
    // Whenever someone stops waiting.
    for patience in 0..400 {
        let asked = std::sync::atomic::AtomicU64::new(0);
        let cancelled = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= patience;
        let mut memory = Memory::default();
        let done = check_unit_again(&unit(&text), &options, &mut memory, &cancelled).is_some();
        compare(&text, &options, &mut memory);
        if done {
            return;
        }
    }
    panic!("it is never done");
}

#[test]
fn what_other_functions_are_matters() {
    let module = |first: &str, second: &str| format!("{HEADER}{first}\n{second}\n");
    let user = ".entry k() { .reg .b32 t; tcgen05.dealloc.cta_group::1.sync.aligned.b32 x, 32; }";
    let one = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;";
    let two = "tcgen05.relinquish_alloc_permit.cta_group::2.sync.aligned;";
    let called = format!(".func f() {{ {one} }}");
    let pairs = [
        // A name that gets a meaning.
        (user.to_owned(), ".entry x() { ret; }".to_owned()),
        (user.to_owned(), ".func x() { ret; }".to_owned()),
        (user.to_owned(), ".global .b32 x;".to_owned()),
        // A function whose address is taken elsewhere, or that is called.
        (format!("{called}\n.entry k() {{ {two} }}"), ".entry l() { .reg .b64 a; mov.u64 a, f; }".to_owned()),
        (format!("{called}\n.entry k() {{ {two} }}"), ".global .u64 table = f;".to_owned()),
        (format!("{called}\n.entry k() {{ {two} }}"), ".entry l() { call f; }".to_owned()),
    ];
    let options = Options::default();
    for (first, second) in &pairs {
        let mut memory = Memory::default();
        for (one, other) in [(&**first, ""), (first, second), ("", second), (second, first), (first, "")] {
            compare(&module(one, other), &options, &mut memory);
        }
    }
}
