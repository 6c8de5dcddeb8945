//! What a GPU computes, recorded.
//!
//! A module with a kernel for each form of an instruction is written, assembled, and run by
//! `hardware/run.py` on a machine with a GPU, through the CUDA driver. What it gave is recorded in
//! fixtures/hardware; tests compare the simulation with the record. Without a GPU here, `--prepare`
//! leaves what is to be carried to one in the target directory, and `--results` takes what came back.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use forms::{Form, Source};
use inputs::{Random, ones};
use ptx_check::isa::generic::Type;

use crate::{Result, root, target_directory};

mod copies;
mod forms;
mod inputs;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only write what a machine with a GPU has to run.
    #[arg(long)]
    prepare: bool,
    /// Record what it wrote there, in this folder.
    #[arg(long)]
    results: Option<PathBuf>,
    /// How many times each form is executed: a number of warps of 32.
    #[arg(long, default_value_t = 2)]
    warps: usize,
    /// Where the record goes, if not into fixtures/hardware.
    #[arg(long)]
    output: Option<PathBuf>,
}

const RUNNER: &str = include_str!("hardware/run.py");

/// What the GPU of the record is.
const TARGET: &str = "sm_90a";

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let folder = target_directory().join("hardware");
    fs::create_dir_all(&folder)?;
    let forms = prepare(&folder, arguments.warps)?;
    println!("{} forms, {} executions each, in {}", forms.len(), 32 * arguments.warps, folder.display());
    if arguments.prepare {
        return Ok(true);
    }
    let results = if let Some(results) = &arguments.results {
        results.clone()
    } else {
        for program in ["run.py", "run_copies.py"] {
            let status = Command::new("python3").arg(program).current_dir(&folder).status()?;
            if !status.success() {
                return Err(format!("{program} did not run to its end").into());
            }
        }
        folder
    };
    let output = arguments.output.clone().unwrap_or_else(|| root().join("fixtures/hardware"));
    fs::create_dir_all(&output)?;
    let device = fs::read_to_string(results.join("device.txt"))?;
    let words = fs::read(results.join("results.bin"))?;
    let arithmetic = record(&forms, arguments.warps, &words)?;
    // A GPU refuses what only later ones have.
    let copies = fs::read_to_string(results.join("copies.txt"))?;
    let copies: String = copies
        .split_inclusive("\n> ")
        .map(|case| case.trim_end_matches("> "))
        .filter(|case| !case.contains("\nrefused"))
        .map(|case| if case.starts_with("> ") { case.to_owned() } else { format!("> {case}") })
        .collect();
    let barriers = fs::read_to_string(results.join("barriers.txt"))?;
    for (name, about, text) in [
        ("arithmetic.txt", ABOUT_ARITHMETIC, arithmetic),
        ("copies.txt", ABOUT_COPIES, copies),
        ("mbarriers.txt", ABOUT_BARRIERS, barriers),
        ("operands.txt", ABOUT_OPERANDS, fs::read_to_string(results.join("operands.txt"))?),
        ("matrices.txt", ABOUT_MATRICES, fs::read_to_string(results.join("matrices.txt"))?),
    ] {
        let text = format!("# What {} does. `cargo xtask hardware` wrote it.\n{about}{text}", device.trim());
        fs::write(output.join(name), text)?;
    }
    println!("recorded in {}", output.display());
    Ok(true)
}

const ABOUT_ARITHMETIC: &str = "\
# A form of an instruction is `> opcode | sources | destinations | lanes | text`: registers by their bits, numbers
# behind `=`, the lanes of a warp that execute it, the statements with $s0 for a source and $d0 for a destination
# ($t0 is one of its own). Below it, in each line, what an execution read and what it wrote, 32 lines for the lanes
# of a warp; lanes that do not execute it have zeros.
";

const ABOUT_COPIES: &str = "\
# A copy of a box of a tensor into shared memory, and below it where the bytes there came from, in runs
# `place:length:place in the tensor`, hexadecimal. `fill` is what is out of bounds, and `fill=` the bytes of an
# element that stands for it; `failed` is an error of the GPU.
";

const ABOUT_MATRICES: &str = "\
# Matrices between shared memory and registers. Lane n has the address of row (5 * n + 3) % 32 of 32 rows of
# 16 bytes. `ldmatrix`: the elements there are numbered; each line is a register, a word for each lane.
# `stmatrix`: the halves of register r of lane n are 8 * n + 2 * r and one more; the four lines are the 128 words of
# the rows afterwards, ffffffff where nothing was stored.
";

const ABOUT_OPERANDS: &str = "\
# Operands of wgmma in shared memory, of 16-bit elements: how the descriptor says that they lie, and below it, for
# some rows (of M or N), which elements of shared memory are their 16 columns (of K), hexadecimal.
";

const ABOUT_BARRIERS: &str = "\
# What an mbarrier is put through: steps `what:number=result`. By `what`: 0 init, 1 arrive, 2 arrive by a count, 3 the same with .noComplete, 4 arrive_drop,
# 5 the same by a count, 6 expect_tx, 7 complete_tx, 8 arrive.expect_tx, 9 test_wait for the state that the step of
# that number gave, 10 test_wait.parity, 11 pending_count of such a state, 12 inval, 13 try_wait.parity.
";

/// Writes and assembles the program, and what it reads; leaves out what the assembler refuses.
fn prepare(folder: &Path, warps: usize) -> Result<Vec<Form>> {
    let ptxas =
        find(&target_directory().join("ptxas"), "ptxas").ok_or("`cargo xtask oracle` installs ptxas")?;
    let mut forms = forms::all();
    let mut seen = BTreeSet::new();
    forms.retain(|form| seen.insert((form.text.clone(), form.active)));
    loop {
        let (text, lines) = module(&forms);
        fs::write(folder.join("forms.ptx"), text)?;
        let output = Command::new(&ptxas)
            .args(["-arch", TARGET, "-O1", "forms.ptx", "-o", "forms.cubin"])
            .current_dir(folder)
            .output()?;
        if output.status.success() {
            break;
        }
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        let refused: BTreeSet<usize> = message
            .lines()
            .filter_map(|line| {
                line.split_once("line ")?.1.split_once([';', ',', '\n'])?.0.trim().parse().ok()
            })
            .map(|line: usize| lines.partition_point(|start| *start <= line) - 1)
            .collect();
        if refused.is_empty() {
            return Err(message.into());
        }
        for index in refused.into_iter().rev() {
            println!("refused: {}", forms.remove(index).text);
        }
    }
    let mut plan = String::new();
    let mut inputs = Vec::new();
    for (index, form) in forms.iter().enumerate() {
        let _ = writeln!(plan, "form{index} {} {}", registers(form).len(), form.destinations.len());
        for row in rows(form, warps) {
            inputs.extend(row.into_iter().flat_map(u64::to_le_bytes));
        }
    }
    fs::write(folder.join("plan.txt"), format!("{}\n{plan}", 32 * warps))?;
    fs::write(folder.join("inputs.bin"), inputs)?;
    fs::write(folder.join("run.py"), RUNNER)?;
    fs::write(folder.join("copies.ptx"), include_str!("hardware/copies.ptx"))?;
    fs::write(folder.join("run_copies.py"), include_str!("hardware/run_copies.py"))?;
    fs::write(folder.join("cases.txt"), copies::cases())?;
    fs::write(folder.join("operand_cases.txt"), copies::OPERANDS)?;
    fs::write(folder.join("scripts.txt"), copies::scripts())?;
    let status = Command::new(&ptxas)
        .args(["-arch", TARGET, "copies.ptx", "-o", "copies.cubin"])
        .current_dir(folder)
        .status()?;
    if !status.success() {
        return Err("the assembler refuses hardware/copies.ptx".into());
    }
    Ok(forms)
}

/// The sources that are registers.
fn registers(form: &Form) -> Vec<Type> {
    let register = |source: &Source| match source {
        Source::Register(ty) => Some(*ty),
        Source::Immediate(_) => None,
    };
    form.sources.iter().filter_map(register).collect()
}

/// What each execution of a form reads.
fn rows(form: &Form, warps: usize) -> Vec<Vec<u64>> {
    let mut random = Random::new(&form.text);
    let row = |_| {
        let mut before = None;
        let value = |ty: Type| {
            let value = random.value(ty, before);
            before = Some(value);
            value
        };
        registers(form).into_iter().map(value).collect()
    };
    (0..32 * warps).map(row).collect()
}

/// The program, and the line in which each form starts.
fn module(forms: &[Form]) -> (String, Vec<usize>) {
    let mut text = format!(".version 8.6\n.target {TARGET}\n.address_size 64\n");
    let mut starts = Vec::new();
    for (index, form) in forms.iter().enumerate() {
        starts.push(text.lines().count() + 1);
        kernel(&mut text, index, form);
    }
    (text, starts)
}

fn kernel(text: &mut String, index: usize, form: &Form) {
    let mut body = form.text.clone();
    if form.active != u32::MAX {
        // Who does not execute it has zeros.
        let zeros: String = (0..form.destinations.len())
            .map(|number| {
                let bits = width(form.destinations[number]);
                match bits {
                    1 => format!("setp.ne.u32 $d{number}, 0, 0; "),
                    bits => format!("mov.b{bits} $d{number}, 0; "),
                }
            })
            .collect();
        body = format!(
            "{zeros}and.b32 %id, %id, 31; mov.u32 %mask, {}; shr.u32 %mask, %mask, %id; and.b32 %mask, %mask, 1; \
             setp.ne.u32 %active, %mask, 0; @%active {body}",
            form.active
        );
    }
    let mut before = String::new();
    let mut after = String::new();
    let sources = registers(form).len();
    let _ = write!(before, "mad.lo.u64 %in, %row, {}, %in; ", 8 * sources);
    let _ = write!(before, "mad.lo.u64 %out, %row, {}, %out; ", 8 * form.destinations.len());
    let mut place = 0;
    let carry_width = form.destinations.first().map_or(32, |ty| width(*ty));
    let is_carry = form.text.contains("$t0");
    for (number, source) in form.sources.iter().enumerate() {
        let Source::Register(ty) = source else { continue };
        let _ = write!(before, "ld.global.u64 %w, [%in+{}]; ", 8 * place);
        place += 1;
        let bits = width(*ty);
        let name = match bits {
            1 if is_carry => {
                let name = format!("%s{carry_width}_{number}");
                let convert = if carry_width == 64 { "mov.b64" } else { "cvt.u32.u64" };
                let _ = write!(before, "{convert} {name}, %w; ");
                name
            }
            1 => {
                let _ = write!(before, "setp.ne.u64 %sp_{number}, %w, 0; ");
                format!("%sp_{number}")
            }
            64 => {
                let _ = write!(before, "mov.b64 %s64_{number}, %w; ");
                format!("%s64_{number}")
            }
            bits => {
                let _ = write!(before, "cvt.u{bits}.u64 %s{bits}_{number}, %w; ");
                format!("%s{bits}_{number}")
            }
        };
        body = body.replace(&format!("$s{number}"), &name);
    }
    for (number, ty) in form.destinations.iter().enumerate() {
        let bits = width(*ty);
        let name = if bits == 1 { format!("%dp_{number}") } else { format!("%d{bits}_{number}") };
        body = body.replace(&format!("$d{number}"), &name);
        match bits {
            1 => {
                let _ = write!(after, "selp.u64 %w, 1, 0, {name}; ");
            }
            64 => {
                let _ = write!(after, "mov.b64 %w, {name}; ");
            }
            bits => {
                let _ = write!(after, "cvt.u64.u{bits} %w, {name}; ");
            }
        }
        let _ = write!(after, "st.global.u64 [%out+{}], %w; ", 8 * number);
    }
    body = body.replace("$t0", &format!("%d{carry_width}_9"));
    let _ = writeln!(
        text,
        ".visible .entry form{index}(.param .u64 in, .param .u64 out) {{\n\
         .reg .b64 %in, %out, %row, %w; .reg .b32 %id, %mask; .reg .pred %active; .reg .pred %sp_<8>, %dp_<8>;\n\
         .reg .b16 %s16_<8>, %d16_<10>; .reg .b32 %s32_<8>, %d32_<10>; .reg .b64 %s64_<8>, %d64_<10>;\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %id, %tid.x; cvt.u64.u32 %row, %id;\n\
         {before}\n{body}\n{after}ret;\n}}"
    );
}

/// Bits of the register that holds a type. Bytes live in the low part of 32 bits.
fn width(ty: Type) -> u32 {
    match ty.bits() {
        None => 1,
        Some(8) => 32,
        Some(bits) => bits,
    }
}

/// What was read and what came out: for each form a line that says what it is, then a line for each
/// execution.
fn record(forms: &[Form], warps: usize, results: &[u8]) -> Result<String> {
    let mut text = String::new();
    let words: Vec<u64> =
        results.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default())).collect();
    let mut words = words.into_iter();
    for form in forms {
        let source = |source: &Source| match source {
            Source::Register(ty) => format!("b{}", width(*ty)),
            Source::Immediate(value) => format!("={value:x}"),
        };
        let sources: Vec<String> = form.sources.iter().map(source).collect();
        let destinations: Vec<String> =
            form.destinations.iter().map(|ty| format!("b{}", width(*ty))).collect();
        let _ = writeln!(
            text,
            "> {} | {} | {} | {:x} | {}",
            form.opcode,
            sources.join(" "),
            destinations.join(" "),
            form.active,
            form.text
        );
        for row in rows(form, warps) {
            let mut line: Vec<String> = row.iter().map(|value| format!("{value:x}")).collect();
            for ty in &form.destinations {
                let value = words.next().ok_or("there are too few results")?;
                line.push(format!("{:x}", value & ones(width(*ty))));
            }
            let _ = writeln!(text, "{}", line.join(" "));
        }
    }
    if words.next().is_some() {
        return Err("there are too many results".into());
    }
    Ok(text)
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).ok()?.flatten() {
            let path = entry.path();
            if entry.file_type().ok()?.is_dir() {
                folders.push(path);
            } else if entry.file_name() == name {
                return Some(path);
            }
        }
    }
    None
}
