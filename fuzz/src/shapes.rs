//! Texts of any size, each bad for one part of the checker.
//!
//! Work has to grow with the text, whatever the text: the tests count steps for a shape and for the
//! same shape of twice the size, and `cargo xtask bench --functions` measures them. Whoever looks for
//! more reads the checker for loops in loops, and for what is done once more for each finding.

use std::fmt::Write as _;

/// A family of modules.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// What it is called.
    pub name: &'static str,
    /// Writes a module of about so many bytes.
    pub write: fn(usize) -> String,
}

/// Declares [`SHAPES`].
macro_rules! shapes {
    ($($name:literal = $write:path,)+) => {
        /// Every shape: the first is like real code.
        pub const SHAPES: &[Shape] = &[$(Shape { name: $name, write: $write },)+];
    };
}

shapes! {
    // One function.
    "mixed" = mixed,
    "one block" = one_block,
    "pending in each block" = pending,
    "redefined register" = redefined,
    "redefined in each block" = redefined_in_blocks,
    "redefined in a loop" = redefined_in_a_loop,
    "few definitions, many readers" = many_readers,
    "nested branches" = nested_branches,
    "nested loops" = nested_loops,
    "early exits" = early_exits,
    "backward branches" = backward_branches,
    "election carried backwards" = backward_election,
    "blocks in reverse" = reversed_blocks,
    "conditions" = conditions,
    "nested conditions" = nested_conditions,
    "jump table" = jump_table,
    "jump tables" = jump_tables,
    "two jump tables" = two_jump_tables,
    "unknown label" = unknown_label,
    "labels" = labels,
    "scopes" = scopes,
    "allocations" = allocations,
    "allocations of one size" = equal_allocations,
    "allocations in a loop" = looped_allocations,
    "slots" = slots,
    "wrong deallocations" = wrong_deallocations,
    "chain of copies" = copies,
    "chain of copies with findings" = wrong_copies,
    "copies carried backwards" = backward_copies,
    "ring of copies" = ring,
    "chain of loads" = chain_of_loads,
    "chain of predicates" = predicates,
    "stores read again" = stores_read_again,
    "variables of a debugger" = local_variables,
    "multiplies, then loads" = multiplies_then_loads,
    "multiplies without commit" = uncommitted,
    "copies without commit" = uncommitted_copies,
    "collector buffers" = collectors,
    "addresses" = addresses,
    // Warps that tell each other to go on.
    "arrivals behind loads" = arrivals_behind_loads,
    "arrivals, then a wait for the load" = arrivals_before_wait,
    "accesses behind a wait" = accesses_behind_a_wait,
    "commits before a wait for the load" = commits_before_wait,
    "arrivals behind stores" = arrivals_behind_stores,
    "arrivals in blocks" = arrivals_in_blocks,
    "arrivals at mbarriers" = arrivals_at_mbarriers,
    "arrivals at mbarriers, then waits" = arrivals_then_waits,
    "stages, then accesses" = stages_then_accesses,
    "barriers of two warps" = barriers_of_warps,
    "barriers of all warps" = barriers_of_all,
    "barriers with numbers in registers" = barriers_in_registers,
    "commits and waits for others" = commits_and_other_waits,
    // Many functions.
    "small functions" = small_functions,
    "chain of calls" = chain_of_calls,
    "tree of calls" = tree_of_calls,
    "recursion" = recursion,
    "calls of a large function" = calls_of_a_large_function,
    "calls behind a barrier" = calls_behind_a_barrier,
    "kernels that call one function" = kernels_of_one_function,
    "kernels that reach all functions" = kernels_of_all_functions,
    "addresses of functions" = addressed_functions,
    "initialisers" = initialisers,
    "register of the module" = module_register,
    "prototypes" = prototypes,
    // Long lines, words and lists.
    "long name" = long_name,
    "long number" = long_number,
    "long opcode" = long_opcode,
    "long qualifier" = long_qualifier,
    "words with colons" = colons,
    "long vector" = long_vector,
    "many operands" = many_operands,
    "many parameters" = parameters,
    "many targets" = many_targets,
    "lines of targets" = lines_of_targets,
    "expressions" = expressions,
    "comments" = comments,
    "comments on a line" = comments_on_a_line,
    "suppressions" = suppressions,
    "suppressions for the file" = file_suppressions,
    // Broken texts.
    "semicolons" = semicolons,
    "number signs" = number_signs,
    "quotation marks" = quotation_marks,
    "closing braces" = closing_braces,
    "opening brackets" = opening_brackets,
    "broken statements" = broken_statements,
    "broken statements in deep scopes" = deep_broken_statements,
    "statements without ends" = unended,
    "pairs of statements" = unended_pairs,
    "undeclared names" = undeclared,
    "undeclared names everywhere" = undeclared_everywhere,
    "misspelt operations" = misspelt_operations,
    "misspelt qualifiers" = misspelt_qualifiers,
    "misspelt instructions" = misspelt_instructions,
    "misspelt types" = misspelt_types,
    "misspelt targets" = misspelt_targets,
    "findings" = findings,
    "findings on a line" = findings_on_a_line,
    "superfluous operands" = superfluous_operands,
    "elements to repair" = sinks,
}

const HEADER: &str = ".version 9.0\n.target sm_100a\n.address_size 64\n";
const ALLOC: &str = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;\nbar.sync 0;\n\
                     ld.shared.b32 taddr, [slot];\n";
const DEALLOC: &str = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 128;\n";
const MMA: &str = "tcgen05.mma.cta_group::1.kind::f16 [taddr], %d0, %d1, 0x08200490, p;\n";
const LOAD: &str = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {x}, [taddr];\n";
const WAIT: &str = "tcgen05.wait::ld.sync.aligned;\n";

/// A module with one kernel.
fn kernel(body: &str) -> String {
    format!(
        "{HEADER}.visible .entry k() {{\n.shared .align 8 .b64 mbar;\n.shared .b32 slot, table[100000];\n\
         .reg .pred p, q, %p<256>;\n.reg .b32 taddr, x, %r<512>;\n.reg .b64 %d<64>;\n{body}ret;\n}}\n"
    )
}

/// A kernel with a register for each of its statements, and these.
fn kernel_with(ty: &str, body: &str) -> String {
    kernel(&format!(".reg .{ty} %c<{}>;\n{body}", body.len() / 10 + 2))
}

/// Units until they are so many bytes.
fn repeat(bytes: usize, mut unit: impl FnMut(usize) -> String) -> String {
    let mut text = String::with_capacity(bytes + 200);
    for number in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&unit(number));
    }
    text
}

/// A unit for each number.
fn each(numbers: impl Iterator<Item = usize>, unit: impl Fn(usize) -> String) -> String {
    numbers.map(unit).collect()
}

/// The same text until it is so many bytes.
fn same(bytes: usize, unit: &str) -> String {
    unit.repeat(bytes.div_ceil(unit.len()))
}

fn load(number: usize) -> String {
    let at = number * 8 % 256;
    format!(
        "tcgen05.ld.sync.aligned.32x32b.x4.b32 {{%r{at}, %r{}, %r{}, %r{}}}, [taddr+{}];\n",
        at + 1,
        at + 2,
        at + 3,
        number * 4 % 128
    )
}

fn store(number: usize) -> String {
    format!("tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {{%r{}}};\n", number % 256)
}

fn mma(number: usize) -> String {
    let (a, b) = (number % 64, (number + 1) % 64);
    format!("tcgen05.mma.cta_group::1.kind::f16 [taddr], %d{a}, %d{b}, 0x08200490, p;\n")
}

fn commit() -> &'static str {
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [mbar];\n"
}

fn arithmetic(number: usize) -> String {
    let (at, wide) = (number % 250, number % 64);
    format!(
        "add.s32 %r{}, %r{at}, {};\nadd.s64 %d{wide}, %d{}, {};\n",
        at + 1,
        number % 99,
        (number + 7) % 64,
        number % 16
    )
}

fn mixed(bytes: usize) -> String {
    let round = |number| {
        let mut text = format!("L{number}:\n{}", arithmetic(number));
        let _ = writeln!(text, "setp.ne.s32 p, %r{}, 0;\n@p bra M{number};", number % 250);
        let _ = writeln!(text, "elect.sync _|q, -1;\n@!q bra M{number};");
        text += &(mma(number) + &mma(number + 1) + commit());
        let _ =
            writeln!(text, "M{number}:\nW{number}:\nmbarrier.try_wait.parity.shared::cta.b64 p, [mbar], 0;");
        let _ = writeln!(text, "@!p bra W{number};\ntcgen05.fence::after_thread_sync;");
        text += &(load(number) + &load(number + 1) + WAIT + &arithmetic(number + 3) + &store(number));
        let _ = writeln!(text, "tcgen05.wait::st.sync.aligned;\ntcgen05.fence::before_thread_sync;");
        let _ = writeln!(text, "bar.sync 0;\n@p bra L{number};");
        text
    };
    kernel(&format!("{ALLOC}{}{DEALLOC}", repeat(bytes, round)))
}

fn one_block(bytes: usize) -> String {
    let unit = |number| load(number) + &store(number) + &mma(number) + commit();
    kernel(&format!("{ALLOC}{}{DEALLOC}", repeat(bytes, unit)))
}

fn pending(bytes: usize) -> String {
    let unit = |number| format!("{}{}@p bra L{number};\nL{number}:\n", load(number), mma(number));
    kernel(&format!("{ALLOC}{}{DEALLOC}", repeat(bytes, unit)))
}

fn redefined(bytes: usize) -> String {
    let unit = |number: usize| {
        let read = if number.is_multiple_of(8) {
            "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [x];\n"
        } else {
            "@p mov.b32 %r1, x;\n"
        };
        format!("add.s32 x, x, {number};\n{read}")
    };
    kernel(&format!("{ALLOC}{}", repeat(bytes, unit)))
}

fn redefined_in_blocks(bytes: usize) -> String {
    let unit = |number: usize| {
        format!(
            "add.s32 %r{}, %r{}, {number};\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {{x}}, [%r{}];\n\
             @p bra L{number};\nL{number}:\n",
            number % 512,
            (number + 1) % 512,
            (number + 5) % 512
        )
    };
    kernel(&format!("{ALLOC}{}", repeat(bytes, unit)))
}

/// Each definition of a register reaches each reader.
fn redefined_in_a_loop(bytes: usize) -> String {
    let unit = |number: usize| {
        format!("@q mov.b32 x, {number};\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, x;\n")
    };
    kernel(&format!("L:\n{}@p bra L;\n", repeat(bytes, unit)))
}

/// As many definitions as are followed, each of which reaches each reader.
fn many_readers(bytes: usize) -> String {
    let readers = |number: usize| {
        let at = number % 500;
        format!("add.s32 %r{at}, x, {number};\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {{taddr}}, [%r{at}];\n")
    };
    let definitions = "@q shl.b32 x, x, 1;\n".repeat(180);
    kernel(&format!("mov.b32 x, 1;\nL:\n{definitions}{}@p bra L;\n", repeat(bytes, readers)))
}

fn nested_branches(bytes: usize) -> String {
    let mut depth = 0;
    let branches = repeat(bytes, |number| {
        depth = number + 1;
        format!("setp.ne.s32 p, x, 0;\n@p bra E{number};\n{}", mma(number))
    });
    let ends = each((0..depth).rev(), |number| format!("E{number}:\n"));
    kernel(&format!("{ALLOC}{branches}{ends}"))
}

fn nested_loops(bytes: usize) -> String {
    let mut depth = 0;
    let heads = repeat(bytes / 2, |number| {
        depth = number + 1;
        format!("H{number}:\n{}", mma(number))
    });
    let ends = each((0..depth).rev(), |number| format!("{}@p bra H{number};\n", load(number)));
    kernel(&format!("{ALLOC}{heads}{ends}"))
}

fn early_exits(bytes: usize) -> String {
    kernel(&format!(
        "{ALLOC}{}",
        repeat(bytes, |number| format!("setp.ne.s32 p, x, 0;\n@p exit;\n{}", mma(number)))
    ))
}

fn backward_branches(bytes: usize) -> String {
    let unit = |number: usize| {
        let before = number.saturating_sub(1);
        format!("L{number}:\n@q bra E{number};\n{WAIT}E{number}:\n@p bra L{before};\n")
    };
    kernel(&format!("{ALLOC}elect.sync _|q, -1;\n{}", repeat(bytes, unit)))
}

/// Who is elected is known only at the end, and is carried to the start one loop at a time.
fn backward_election(bytes: usize) -> String {
    let mut count = 0;
    let heads = repeat(bytes * 2 / 3, |number| {
        count = number + 1;
        format!("H{number}:\n{WAIT}")
    });
    let branches = each(0..count, |number| format!("@q bra H{number};\n"));
    kernel(&format!("elect.sync _|q, -1;\n{heads}{branches}"))
}

/// Each block jumps to the one above it.
fn reversed_blocks(bytes: usize) -> String {
    let mut last = 0;
    let blocks = repeat(bytes, |number| {
        last = number;
        let next = if number == 0 { "E".to_owned() } else { format!("B{}", number - 1) };
        format!("B{number}:\n{WAIT}bra {next};\n")
    });
    kernel(&format!("elect.sync _|q, -1;\n@q bra B{last};\nbra E;\n{blocks}E:\n"))
}

fn conditions(bytes: usize) -> String {
    let unit = |number: usize| {
        format!("@%p{} bra E{number};\n{LOAD}tcgen05.fence::before_thread_sync;\nE{number}:\n", number % 256)
    };
    kernel(&format!("{ALLOC}{}", repeat(bytes, unit)))
}

fn nested_conditions(bytes: usize) -> String {
    let mut depth = 0;
    let heads = repeat(bytes, |number| {
        depth = number + 1;
        format!("@%p{} bra E{number};\n{LOAD}tcgen05.fence::before_thread_sync;\n", number % 256)
    });
    let ends = each(0..depth, |number| format!("E{number}:\n"));
    kernel(&format!("{ALLOC}{heads}{ends}"))
}

fn list(count: usize, name: &str) -> String {
    (0..count).map(|number| format!("{name}{number}")).collect::<Vec<_>>().join(", ")
}

fn jump_table(bytes: usize) -> String {
    let cases = bytes / 90;
    let blocks = each(0..cases, |number| format!("L{number}:\n{}", mma(number)));
    kernel(&format!("T: .branchtargets {};\nbrx.idx x, T;\n{blocks}", list(cases, "L")))
}

/// As many jumps as cases.
fn jump_tables(bytes: usize) -> String {
    let cases = bytes / 130;
    let block = |number| format!("L{number}:\n{}{WAIT}brx.idx x, T;\n", mma(number));
    let blocks: String = (0..cases).map(block).collect();
    kernel(&format!("T: .branchtargets {};\n{blocks}", list(cases, "L")))
}

fn two_jump_tables(bytes: usize) -> String {
    let cases = bytes / 70;
    let block = |number: usize| {
        let table = if number.is_multiple_of(2) { "T" } else { "U" };
        format!("L{number}:\n{WAIT}@p brx.idx x, {table};\n")
    };
    let blocks: String = (0..cases).map(block).collect();
    let labels = list(cases, "L");
    kernel(&format!("T: .branchtargets {labels};\nU: .branchtargets {labels};\n{blocks}"))
}

/// Jumps that may go to every label there is.
fn unknown_label(bytes: usize) -> String {
    kernel(&repeat(bytes, |number| format!("L{number}:\n{}@p bra x;\n", mma(number))))
}

fn labels(bytes: usize) -> String {
    kernel(&format!("{}{WAIT}", repeat(bytes, |number| format!("L{number}:\n"))))
}

fn scopes(bytes: usize) -> String {
    kernel(&format!("{}{WAIT}", same(bytes, "{ .reg .b32 a; mov.b32 a, 1; }\n")))
}

fn allocations(bytes: usize) -> String {
    let unit = |number: usize| {
        let size = 32 << (number % 4);
        format!(
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], {size};\n\
             ld.shared.b32 taddr, [slot];\n{}tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, {size};\n",
            load(number)
        )
    };
    kernel(&repeat(bytes, unit))
}

const SMALLEST: &str = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;\n";

fn equal_allocations(bytes: usize) -> String {
    kernel(&same(bytes, SMALLEST))
}

fn looped_allocations(bytes: usize) -> String {
    kernel(&format!("L:\n{}@p bra L;\n", same(bytes, SMALLEST)))
}

fn slots(bytes: usize) -> String {
    let unit = |number: usize| {
        let (at, register) = (4 * number, number % 500);
        format!(
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [table+{at}], 32;\n\
             ld.shared.b32 %r{register}, [table+{at}];\n\
             tcgen05.ld.sync.aligned.32x32b.x1.b32 {{x}}, [%r{register}];\n"
        )
    };
    kernel(&repeat(bytes, unit))
}

fn wrong_deallocations(bytes: usize) -> String {
    let allocations = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;\n";
    let deallocations = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 64;\n";
    kernel(&(same(bytes / 2, allocations) + &same(bytes / 2, deallocations)))
}

/// Addresses at the end of long ways.
fn copies(bytes: usize) -> String {
    let unit = |number: usize| {
        let next = number + 1;
        format!(
            "add.s32 %c{next}, %c{number}, 0;\ntcgen05.ld.sync.aligned.32x32b.x1.b32 {{x}}, [%c{next}];\n"
        )
    };
    kernel_with("b32", &format!("{ALLOC}mov.b32 %c0, taddr;\n{}", repeat(bytes, unit)))
}

/// A finding at each step of a long way names where it began.
fn wrong_copies(bytes: usize) -> String {
    let unit = |number: usize| {
        let next = number + 1;
        format!(
            "mov.b32 %c{next}, %c{number};\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, %c{next};\n"
        )
    };
    kernel_with("b32", &format!("mov.b32 %c0, 48;\n{}", repeat(bytes, unit)))
}

/// A loop carries a loaded value one step further in each round.
fn backward_copies(bytes: usize) -> String {
    let mut last = 0;
    let moves = repeat(bytes, |number| {
        last = number + 1;
        format!("mov.b32 %c{number}, %c{last};\n")
    });
    let load = format!("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%c{last}}}, [taddr];\n");
    kernel_with("b32", &format!("{ALLOC}L:\n{moves}{load}@p bra L;\n{DEALLOC}"))
}

/// A value that goes round through many registers in a loop, from the last to the first.
fn ring(bytes: usize) -> String {
    let length = bytes / 120;
    let step = |number: usize| {
        let next = number + 1;
        format!(
            "shl.b32 %c{next}, %c{number}, 1;\nsetp.ne.s32 %s{number}, %c{next}, 0;\n\
             @%s{number} tcgen05.ld.sync.aligned.32x32b.x1.b32 {{x}}, [%c{next}];\n"
        )
    };
    let steps: String = (0..length).rev().map(step).collect();
    kernel_with(
        "b32",
        &format!(".reg .pred %s<{}>;\n{ALLOC}mov.b32 %c0, 1;\nL0:\n{steps}@p bra L0;\n", length + 1),
    )
}

/// Each word in shared memory is the address of the next.
fn chain_of_loads(bytes: usize) -> String {
    let mut last = 0;
    let loads = repeat(bytes, |number| {
        last = number + 1;
        format!("ld.shared.b32 %c{last}, [%c{number}];\n")
    });
    let read = format!("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{x}}, [%c{last}];\n");
    kernel_with("b32", &format!("mov.b32 %c0, 48;\n{loads}{read}"))
}

fn predicates(bytes: usize) -> String {
    let unit = |number: usize| {
        let next = number + 1;
        format!("and.pred %c{next}, %c{number}, q;\n@%c{next} {WAIT}")
    };
    kernel_with("pred", &format!("elect.sync _|%c0, -1;\n{}", repeat(bytes, unit)))
}

fn stores_read_again(bytes: usize) -> String {
    let unit = |number: usize| {
        let (at, register) = (number % 128, number % 500);
        format!(
            "tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr+{at}], {{x}};\n\
             tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r{register}}}, [taddr+{at}];\n\
             add.s32 x, %r{register}, 1;\n"
        )
    };
    kernel(&format!("{ALLOC}{}{DEALLOC}", repeat(bytes, unit)))
}

/// One word of local memory that is loaded often, and a register that is written often.
fn local_variables(bytes: usize) -> String {
    let again = |number: usize| format!("ld.local.b32 %r1, [%d0];\nmov.b32 %r0, {number};\n");
    let store = ".local .align 4 .b8 frame[8];\nmov.b64 %d0, frame;\nst.local.b32 [%d0], %r0;\n";
    kernel(&format!("{store}{}", repeat(bytes, again)))
}

fn multiplies_then_loads(bytes: usize) -> String {
    kernel(&format!("{ALLOC}{}{}", repeat(bytes / 2, mma), repeat(bytes / 2, load)))
}

fn uncommitted(bytes: usize) -> String {
    kernel(&format!("{ALLOC}{}", same(bytes, MMA)))
}

fn uncommitted_copies(bytes: usize) -> String {
    kernel(&format!("{ALLOC}{}", same(bytes, "tcgen05.cp.cta_group::1.128x256b [taddr], %d0;\n")))
}

fn collectors(bytes: usize) -> String {
    let unit = "tcgen05.mma.cta_group::1.kind::f16.collector::a::use [taddr], %d0, %d1, 0x08200490, p;\n";
    kernel(&format!("{ALLOC}{}", same(bytes, unit)))
}

/// Nothing is known of any address.
fn addresses(bytes: usize) -> String {
    let unit = |number: usize| {
        format!(
            "tcgen05.ld.sync.aligned.32x32b.x1.b32 {{x}}, [%c{number}];\n\
             tcgen05.mma.cta_group::1.kind::f16 [%c{number}], %d0, %d1, 0x08200490, p;\n"
        )
    };
    kernel_with("b32", &repeat(bytes, unit))
}

/// A kernel of four warps, of which the first goes one way and the others another.
fn roles(first: &str, others: &str) -> String {
    let body = format!(
        "{ALLOC}mbarrier.init.shared::cta.b64 [mbar], 32;\nbar.sync 0;\nmov.u32 %r0, %tid.x;\n\
         shr.u32 %r1, %r0, 5;\nsetp.ne.s32 p, %r1, 0;\n@p bra OTHERS;\n{first}bra END;\nOTHERS:\n{others}\
         END:\n{DEALLOC}"
    );
    kernel(&body).replace(".entry k()", ".entry k() .reqntid 128")
}

const STORE: &str = "tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {x};\n";
const ARRIVE: &str = "mbarrier.arrive.shared::cta.b64 _, [mbar];\n";
const TRY_WAIT: &str = "mbarrier.try_wait.parity.shared::cta.b64 q, [mbar], 0;\n";
const USE: &str = "add.s32 x, x, 1;\n";

fn arrive_at(number: usize) -> String {
    format!("mbarrier.arrive.shared::cta.b64 _, [table+{}];\n", 8 * number)
}

fn wait_at(number: usize) -> String {
    format!("mbarrier.try_wait.parity.shared::cta.b64 q, [table+{}], 0;\n", 8 * number)
}

fn arrivals_behind_loads(bytes: usize) -> String {
    let (load, store) = (format!("{LOAD}{ARRIVE}{WAIT}"), format!("{TRY_WAIT}{STORE}"));
    roles(&same(bytes / 2, &load), &same(bytes / 2, &store))
}

fn arrivals_before_wait(bytes: usize) -> String {
    let arrivals = format!("{LOAD}{}{USE}{WAIT}", same(bytes / 2, ARRIVE));
    roles(&arrivals, &same(bytes / 2, &format!("{TRY_WAIT}{STORE}")))
}

fn accesses_behind_a_wait(bytes: usize) -> String {
    let arrivals = format!("{LOAD}{}{USE}{WAIT}", same(bytes / 2, ARRIVE));
    roles(&arrivals, &format!("{TRY_WAIT}{}", same(bytes / 2, STORE)))
}

fn commits_before_wait(bytes: usize) -> String {
    let commits = format!("{LOAD}{}{USE}{WAIT}", same(bytes / 2, commit()));
    roles(&commits, &same(bytes / 2, &format!("{TRY_WAIT}{STORE}")))
}

fn arrivals_behind_stores(bytes: usize) -> String {
    let (store, load) = (format!("{STORE}{ARRIVE}"), format!("{TRY_WAIT}{LOAD}"));
    roles(&same(bytes / 2, &store), &same(bytes / 2, &load))
}

fn arrivals_in_blocks(bytes: usize) -> String {
    let first = |number: usize| format!("{LOAD}{ARRIVE}{WAIT}@q bra A{number};\nA{number}:\n");
    let other = |number: usize| format!("{TRY_WAIT}@q bra B{number};\nB{number}:\n{STORE}");
    roles(&repeat(bytes / 2, first), &repeat(bytes / 2, other))
}

fn arrivals_at_mbarriers(bytes: usize) -> String {
    let first = |number: usize| format!("{LOAD}{}{WAIT}", arrive_at(number));
    let other = |number: usize| format!("{}{STORE}", wait_at(number));
    roles(&repeat(bytes / 2, first), &repeat(bytes / 2, other))
}

fn arrivals_then_waits(bytes: usize) -> String {
    roles(&repeat(bytes / 2, arrive_at), &repeat(bytes / 2, |number| format!("{}{LOAD}", wait_at(number))))
}

/// Each of many columns is written behind the wait for any of very many mbarriers.
fn stages_then_accesses(bytes: usize) -> String {
    let first = |number: usize| format!("{}{}", store(number), arrive_at(number));
    let wait = |number: usize| {
        format!("@%p{} bra W{number};\n{}bra WORK;\nW{number}:\n", number % 256, wait_at(number))
    };
    let access =
        |number: usize| format!("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{x}}, [taddr+{}];\n", number % 500);
    let others = format!("{}WORK:\n{}", repeat(bytes / 3, wait), repeat(bytes / 3, access));
    roles(&repeat(bytes / 3, first), &others)
}

fn barriers_of_warps(bytes: usize) -> String {
    let first = |number: usize| format!("{LOAD}bar.arrive {}, 128;\n{WAIT}", number % 15 + 1);
    let other = |number: usize| format!("bar.sync {}, 128;\n{STORE}", number % 15 + 1);
    roles(&repeat(bytes / 2, first), &repeat(bytes / 2, other))
}

fn barriers_of_all(bytes: usize) -> String {
    let body = same(bytes, &format!("{LOAD}bar.sync 0;\n{STORE}{WAIT}"));
    kernel(&format!("{ALLOC}{body}")).replace(".entry k()", ".entry k() .reqntid 128")
}

fn barriers_in_registers(bytes: usize) -> String {
    let unit = |number: usize| {
        format!(
            "add.s32 %r{}, %r{number}, 1;\n{LOAD}bar.sync %r{}, 128;\n{STORE}{WAIT}",
            number + 1,
            number + 1
        )
    };
    let body = format!("{ALLOC}mov.b32 %r0, 0;\n{}", repeat(bytes, |number| unit(number % 500)));
    kernel(&body).replace(".entry k()", ".entry k() .reqntid 128")
}

fn commits_and_other_waits(bytes: usize) -> String {
    let commit = |number: usize| commit().replace("[mbar]", &format!("[table+{}]", 8 * number));
    let waits = repeat(bytes / 2, |number| wait_at(number + 50_000));
    kernel(&format!("{ALLOC}{}{waits}bar.sync 0;\n{LOAD}", repeat(bytes / 2, commit)))
}

fn small_functions(bytes: usize) -> String {
    let unit = |number: usize| {
        format!(
            ".entry k{number}() {{ .reg .b32 %r<1000>; mov.b32 %r0, 1; mov.b32 %r999, 1; \
             tcgen05.wait::ld.sync.aligned; }}\n"
        )
    };
    format!("{HEADER}{}", repeat(bytes, unit))
}

fn chain_of_calls(bytes: usize) -> String {
    let unit = |number: usize| {
        let body = if number == 0 { WAIT.to_owned() } else { format!("call f{};\n", number - 1) };
        format!(".func f{number}() {{\n{body}ret;\n}}\n")
    };
    format!("{HEADER}{}", repeat(bytes, unit))
}

/// Each function calls two others.
fn tree_of_calls(bytes: usize) -> String {
    let unit = |number: usize| {
        let callees = [2 * number, 2 * number + 1].into_iter().filter(|callee| *callee > number);
        let callees = each(callees, |callee| format!("call f{callee};\n"));
        format!(".func f{number}() {{\n{callees}{WAIT}ret;\n}}\n")
    };
    format!("{HEADER}{}", repeat(bytes, unit))
}

/// All functions call each other, through the first.
fn recursion(bytes: usize) -> String {
    let mut last = 0;
    let functions = repeat(bytes, |number| {
        last = number + 1;
        format!(".func f{number}() {{\n{WAIT}call f{last};\ncall f0;\nret;\n}}\n")
    });
    format!("{HEADER}{functions}.func f{last}() {{ call f0; }}\n")
}

fn large_function(bytes: usize) -> String {
    let body = same(bytes, "tcgen05.mma.cta_group::1.kind::f16 [taddr], d0, d0, 0x08200490, p;\n");
    format!("{HEADER}.func f() {{\n.reg .b32 taddr;\n.reg .b64 d0;\n.reg .pred p;\n{body}}}\n")
}

fn calls_of_a_large_function(bytes: usize) -> String {
    format!("{}.entry k() {{\n{}}}\n", large_function(bytes / 2), same(bytes / 2, "call f;\n"))
}

fn calls_behind_a_barrier(bytes: usize) -> String {
    let body = format!("{ALLOC}bar.sync 0;\n{LOAD}{}bar.sync 0;\n{MMA}", same(bytes / 2, "call f;\n"));
    let function = large_function(bytes / 2);
    format!("{function}{}", kernel(&body).trim_start_matches(HEADER))
}

fn kernels_of_one_function(bytes: usize) -> String {
    let unit = |number: usize| format!(".entry k{number}() .reqnctapercluster 1 {{ call f; }}\n");
    large_function(bytes / 2) + &repeat(bytes / 2, unit)
}

const RELINQUISH: &str = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;";

fn kernels_of_all_functions(bytes: usize) -> String {
    let mut last = 0;
    let functions = repeat(bytes / 2, |number| {
        last = number + 1;
        format!(".func f{last}() {{ call f{number}; {RELINQUISH} }}\n")
    });
    let other = RELINQUISH.replace("group::1", "group::2");
    let unit = |number: usize| format!(".entry k{number}() {{ call f{last}; {other} }}\n");
    format!("{HEADER}.func f0() {{ {RELINQUISH} }}\n{functions}{}", repeat(bytes / 2, unit))
}

/// Functions, their names, and a table of these.
fn function_table(bytes: usize) -> String {
    let mut count = 0;
    let functions = repeat(bytes, |number| {
        count = number + 1;
        format!(".func f{number}() {{ {RELINQUISH} }}\n")
    });
    format!("{functions}.global .u64 table[{count}] = {{{}}};\n", list(count, "f"))
}

fn addressed_functions(bytes: usize) -> String {
    let unit = |number: usize| format!(".entry k{number}() {{ .reg .u64 x; call x; {RELINQUISH} }}\n");
    let other = RELINQUISH.replace("group::1", "group::2");
    let last = format!(".entry last() {{ .reg .u64 x; call x; {other} }}\n");
    format!("{HEADER}{}{}{last}", function_table(bytes / 2), repeat(bytes / 2, unit))
}

fn initialisers(bytes: usize) -> String {
    let other = RELINQUISH.replace("group::1", "group::2");
    format!("{HEADER}{}.entry k() {{ .reg .u64 x; call x; {other} }}\n", function_table(bytes))
}

/// Each function writes the same register.
fn module_register(bytes: usize) -> String {
    let unit = |number: usize| {
        format!(".func f{number}() {{\n.reg .b32 %r<4>;\nmov.b32 g, %r0;\nmov.b32 %r1, g;\n{WAIT}}}\n")
    };
    format!("{HEADER}.reg .b32 g;\n{}", repeat(bytes, unit))
}

fn prototypes(bytes: usize) -> String {
    let functions = repeat(bytes / 2, |number| format!(".extern .func f{number}();\n"));
    format!("{HEADER}{functions}.entry k() {{\n{}}}\n", same(bytes / 2, WAIT))
}

fn long_name(bytes: usize) -> String {
    kernel(&format!("mov.b32 x, %r{};\n{WAIT}", "1".repeat(bytes)))
}

fn long_number(bytes: usize) -> String {
    kernel(&format!("mov.b32 x, {};\n{WAIT}", "1".repeat(bytes)))
}

fn long_opcode(bytes: usize) -> String {
    let words = repeat(bytes, |number| format!(".sync.word{number}"));
    kernel(&format!("tcgen05.ld{words} {{%r0}}, [taddr];\n"))
}

fn long_qualifier(bytes: usize) -> String {
    kernel(&format!("tcgen05.ld.sync.{} {{%r0}}, [taddr];\n", "a".repeat(bytes)))
}

fn colons(bytes: usize) -> String {
    kernel(&format!("a{};\n{WAIT}", ":b".repeat(bytes / 2)))
}

fn long_vector(bytes: usize) -> String {
    let elements = repeat(bytes, |number| format!(", %r{}", number % 512));
    kernel(&format!("tcgen05.ld.sync.aligned.32x32b.x128.b32 {{%r0{elements}}}, [taddr];\n"))
}

fn many_operands(bytes: usize) -> String {
    let operands = repeat(bytes, |number| format!(", %r{}", number % 512));
    kernel(&format!("tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr{operands};\n"))
}

fn parameters(bytes: usize) -> String {
    let parameters = repeat(bytes, |number| format!(".param .b32 p{number},\n"));
    format!("{HEADER}.visible .entry k({parameters}.param .b32 last) {{\n{WAIT}}}\n")
}

/// As many targets as instructions.
fn many_targets(bytes: usize) -> String {
    let module = kernel(&same(bytes / 2, SMALLEST));
    module.replacen("sm_100a", &format!("sm_100a{}", same(bytes / 2, ", sm_103a")), 1)
}

/// The same, each on a line of its own.
fn lines_of_targets(bytes: usize) -> String {
    let targets = repeat(bytes / 2, |number| format!(".target sm_{}a\n", 100 + 3 * (number % 2)));
    kernel(&same(bytes / 2, SMALLEST)).replacen(".target sm_100a\n", &targets, 1)
}

fn expressions(bytes: usize) -> String {
    let sum = vec!["1"; 250].join("+");
    let nested = format!("{}1{}", "(".repeat(60), ")".repeat(60));
    let unit = format!("mov.b32 x, {sum};\nmov.b32 x, {nested};\nmov.b32 x, {}1;\n", "-".repeat(250));
    kernel(&format!("{}{WAIT}", same(bytes, &unit)))
}

fn comments(bytes: usize) -> String {
    kernel(&format!("{}{WAIT}", same(bytes, "//\n")))
}

fn comments_on_a_line(bytes: usize) -> String {
    kernel(&format!("{}{WAIT}", same(bytes, "/**/ ")))
}

const WRONG: &str = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 48;";

fn suppressions(bytes: usize) -> String {
    kernel(&same(bytes, &format!("// ptx-tc: allow(TC301)\n{WRONG}\n")))
}

/// As many suppressions as findings, none of which they are for.
fn file_suppressions(bytes: usize) -> String {
    let comments = same(bytes / 2, "// ptx-tc: allow-file(TC302, ncols-increases)\n");
    kernel(&(comments + &same(bytes / 2, &format!("{WRONG}\n"))))
}

fn semicolons(bytes: usize) -> String {
    kernel(&same(bytes, ";"))
}

fn number_signs(bytes: usize) -> String {
    kernel(&format!("{}\n", same(bytes, "#")))
}

fn quotation_marks(bytes: usize) -> String {
    kernel(&same(bytes, "\"\n"))
}

fn closing_braces(bytes: usize) -> String {
    kernel(&same(bytes, "}\n"))
}

fn opening_brackets(bytes: usize) -> String {
    kernel(&same(bytes, "([{ "))
}

fn broken_statements(bytes: usize) -> String {
    kernel(&same(bytes, "mov x y;\n"))
}

fn deep_broken_statements(bytes: usize) -> String {
    kernel(&format!(
        "{}{}{}",
        "{".repeat(250),
        same(bytes, "mov x, ((((((((((((((((((((;\n"),
        "}".repeat(250)
    ))
}

fn unended(bytes: usize) -> String {
    kernel(&(same(bytes, "mov.b32 %r1, %r2\n") + ";\n"))
}

fn unended_pairs(bytes: usize) -> String {
    kernel(&same(bytes, "mov.b32 %r1, %r2\nadd.u32 %r1, %r1, %r2;\n"))
}

fn undeclared_everywhere(bytes: usize) -> String {
    kernel(&repeat(bytes, |number| format!("add.u32 %r1, a{number}, b{number};\n")))
}

/// Each word is misspelt in a way of its own: what is known of one says nothing about the next.
fn misspelt_operations(bytes: usize) -> String {
    kernel(&repeat(bytes, |number| format!("tcgen05.al{number}loc %r1;\n")))
}

fn misspelt_qualifiers(bytes: usize) -> String {
    kernel(&repeat(bytes, |number| format!("tcgen05.wait::ld.sync.alig{number}ned;\n")))
}

fn misspelt_instructions(bytes: usize) -> String {
    kernel(&repeat(bytes, |number| format!("mbar{number}ier.init.shared::cta.b64 [mbar], 1;\n")))
}

fn misspelt_types(bytes: usize) -> String {
    kernel(&repeat(bytes, |number| format!("add.u{number} %r1, %r1, %r2;\n")))
}

fn misspelt_targets(bytes: usize) -> String {
    let targets = repeat(bytes, |number| format!("sm_1{number}q, "));
    kernel(WAIT).replacen("sm_100a", &format!("{targets}sm_100a"), 1)
}

fn undeclared(bytes: usize) -> String {
    let unit = |number: usize| format!("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{u{number}}}, [taddr];\n");
    let declarations = repeat(bytes / 2, |number| format!(".reg .b32 v{number};\n"));
    kernel(&(declarations + &repeat(bytes / 2, unit)))
}

fn findings(bytes: usize) -> String {
    kernel(&same(bytes, &format!("{WRONG}\n")))
}

fn findings_on_a_line(bytes: usize) -> String {
    kernel(&same(bytes, &format!("{WRONG} ")))
}

fn superfluous_operands(bytes: usize) -> String {
    kernel(&same(bytes, "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [taddr], 16;\n"))
}

fn sinks(bytes: usize) -> String {
    kernel(&same(bytes, "tcgen05.ld.sync.aligned.32x32b.x1.b32 {_}, [taddr];\n"))
}
