//! What a GPU has done, as fixtures/hardware has recorded it, done again by the whole simulation:
//! programs that trap where something else comes out than was recorded.

use std::fmt::Write;
use std::fs;

use ptx_check::{Source, Unit};
use ptx_simulation::launch::LaunchShape;
use ptx_simulation::{Kernel, Settings, Verdict};

use crate::root;

const HEAD: &str = ".version 9.0\n.target sm_100a\n.address_size 64\n";

/// What is wrong with a run of a program, if anything.
fn run(text: &str) -> Option<String> {
    let source = Source::new("kernel.ptx", text).unwrap();
    let unit = Unit::new(&source);
    assert!(unit.syntax_errors.is_empty(), "{:?}\n{text}", unit.syntax_errors);
    let kernel = Kernel::new(&unit, "k").unwrap();
    let report = kernel.simulate_assumed(&LaunchShape::default(), &Settings::default()).unwrap();
    let place = |span: Option<ptx_check::source::Span>| span.map_or("", |span| source.slice(span));
    let reasons = report.reasons.iter().map(|reason| format!("{} `{}`", reason.text, place(reason.span)));
    let findings = report.diagnostics.iter().map(|finding| finding.message.clone());
    (report.verdict != Verdict::Clean).then(|| reasons.chain(findings).collect::<Vec<_>>().join("; "))
}

fn record(name: &str) -> String {
    fs::read_to_string(root().join("fixtures/hardware").join(name)).unwrap()
}

/// An array of constants.
fn constants(text: &mut String, name: &str, values: &[u64]) {
    if !values.is_empty() {
        let list: Vec<String> = values.iter().map(|value| format!("{value:#x}")).collect();
        let _ = writeln!(text, ".const .align 8 .b64 {name}[{}] = {{{}}};", values.len(), list.join(", "));
    }
}

/// A form of the record, executed by a warp with its first 32 inputs.
fn program(head: &str, rows: &[Vec<u64>]) -> String {
    let parts: Vec<&str> = head.split(" | ").collect();
    let width = |text: &str| text[1..].parse::<u32>().unwrap();
    let sources: Vec<&str> = parts[1].split_whitespace().collect();
    let registers = sources.iter().filter(|source| !source.starts_with('=')).count();
    let destinations: Vec<u32> = parts[2].split_whitespace().map(width).collect();
    let active = u32::from_str_radix(parts[3], 16).unwrap();
    // An approximation is only executed.
    let is_exact = !parts[0].contains(".approx") && !parts[0].contains(".full");
    let mut text = HEAD.to_owned();
    let column = |at: usize| rows.iter().map(|row| row[at]).collect::<Vec<u64>>();
    for at in 0..registers {
        constants(&mut text, &format!("s{at}"), &column(at));
    }
    for at in 0..destinations.len() {
        constants(&mut text, &format!("d{at}"), &column(registers + at));
    }
    text += ".visible .entry k() .reqntid 32, 1, 1 {\n\
             .reg .b32 %id, %mask; .reg .b64 %row, %at, %w, %v; .reg .pred %active, %bad;\n\
             .reg .pred %s1_<8>, %d1_<8>; .reg .b16 %s16_<8>, %d16_<10>;\n\
             .reg .b32 %s32_<8>, %d32_<10>; .reg .b64 %s64_<8>, %d64_<10>;\n\
             mov.u32 %id, %tid.x; mul.wide.u32 %row, %id, 8;\n";
    let mut body = parts[4].to_owned();
    let given = sources.iter().enumerate().filter(|(_, source)| !source.starts_with('='));
    for (place, (number, source)) in given.enumerate() {
        let _ = write!(text, "mov.u64 %at, s{place}; add.u64 %at, %at, %row; ld.const.u64 %w, [%at]; ");
        // A carry has the width of what it is added to.
        let is_carry = body.contains("$t0") && *source == "b1";
        let bits = if is_carry { destinations[0] } else { width(source) };
        let name = format!("%s{bits}_{number}");
        let _ = match bits {
            1 => writeln!(text, "setp.ne.u64 {name}, %w, 0;"),
            64 => writeln!(text, "mov.b64 {name}, %w;"),
            bits => writeln!(text, "cvt.u{bits}.u64 {name}, %w;"),
        };
        body = body.replace(&format!("$s{number}"), &name);
    }
    for (number, bits) in destinations.iter().enumerate() {
        let name = format!("%d{bits}_{number}");
        let _ = match bits {
            1 => writeln!(text, "setp.ne.u32 {name}, 0, 0;"),
            bits => writeln!(text, "mov.b{bits} {name}, 0;"),
        };
        body = body.replace(&format!("$d{number}"), &name);
    }
    body = body.replace("$t0", &format!("%d{}_9", destinations[0]));
    if active != u32::MAX {
        let _ = write!(
            text,
            "mov.u32 %mask, {active}; shr.u32 %mask, %mask, %id; and.b32 %mask, %mask, 1; \
             setp.ne.u32 %active, %mask, 0; @%active "
        );
    }
    let _ = writeln!(text, "{body}");
    for (number, bits) in destinations.iter().enumerate().filter(|_| is_exact) {
        let name = format!("%d{bits}_{number}");
        let _ = match bits {
            1 => write!(text, "selp.u64 %w, 1, 0, {name}; "),
            64 => write!(text, "mov.b64 %w, {name}; "),
            bits => write!(text, "cvt.u64.u{bits} %w, {name}; "),
        };
        let _ = writeln!(
            text,
            "mov.u64 %at, d{number}; add.u64 %at, %at, %row; ld.const.u64 %v, [%at]; \
             setp.ne.u64 %bad, %w, %v; @%bad trap;"
        );
    }
    text + "ret;\n}\n"
}

#[test]
fn programs_compute_what_the_hardware_does() {
    let text = record("arithmetic.txt");
    let mut wrong = Vec::new();
    for block in text.split("\n> ").skip(1) {
        let (head, rows) = block.split_once('\n').unwrap();
        let row = |line: &str| line.split(' ').map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
        let rows: Vec<Vec<u64>> = rows.lines().take(32).map(row).collect();
        if let Some(problem) = run(&program(head, &rows)) {
            wrong.push(format!("{head}: {problem}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

/// What an mbarrier is put through, as a program; it does what the numbers of the record say.
fn script(steps: &str) -> String {
    let mut text = HEAD.to_owned();
    text += ".visible .entry k() .reqntid 1, 1, 1 {\n\
             .shared .align 8 .b64 bar; .reg .b64 %state<64>; .reg .b32 %count; .reg .pred %p;\n";
    for (index, step) in steps.split(' ').enumerate() {
        let (what, result) = step.split_once('=').unwrap();
        let (what, number) = what.split_once(':').unwrap();
        let result = u64::from_str_radix(result, 16).unwrap();
        let arrive =
            |form: &str, number: &str| format!("mbarrier.{form}.shared.b64 %state{index}, [bar]{number};");
        let count = format!(", {number}");
        let is_expected = if result == 1 { "@!%p trap;" } else { "@%p trap;" };
        let statement = match what {
            "0" => format!("mbarrier.init.shared.b64 [bar], {number};"),
            "1" => arrive("arrive", ""),
            "2" => arrive("arrive", &count),
            "3" => arrive("arrive.noComplete", &count),
            "4" => arrive("arrive_drop", ""),
            "5" => arrive("arrive_drop", &count),
            "6" => format!("mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], {number};"),
            "7" => format!("mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], {number};"),
            "8" => arrive("arrive.expect_tx", &count),
            "9" => format!("mbarrier.test_wait.shared.b64 %p, [bar], %state{number}; {is_expected}"),
            "10" => format!("mbarrier.test_wait.parity.shared.b64 %p, [bar], {number}; {is_expected}"),
            "11" => format!(
                "mbarrier.pending_count.b64 %count, %state{number}; setp.ne.u32 %p, %count, {result}; @%p trap;"
            ),
            "13" => format!("mbarrier.try_wait.parity.shared.b64 %p, [bar], {number}; {is_expected}"),
            other => panic!("{other}"),
        };
        let _ = writeln!(text, "{statement}");
    }
    text + "ret;\n}\n"
}

#[test]
fn mbarriers_do_what_the_hardware_does() {
    let text = record("mbarriers.txt");
    let mut wrong = Vec::new();
    for steps in text.lines().filter(|line| !line.starts_with('#')) {
        if let Some(problem) = run(&script(steps)) {
            wrong.push(format!("{steps}: {problem}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}
