//! Single functions of any size, to see that the time for a check grows with the size alone.

use std::fmt::Write as _;

/// A family of functions.
#[derive(Debug)]
pub(super) struct Shape {
    /// What it is called in the table.
    pub name: &'static str,
    /// Writes about this many statements.
    write: fn(&mut Body, usize),
}

/// Every shape: the first is like real code, each other is bad for one analysis.
pub(super) const SHAPES: &[Shape] = &[
    Shape { name: "mixed", write: mixed },
    Shape { name: "one block", write: one_block },
    Shape { name: "pending in each block", write: pending },
    Shape { name: "redefined register", write: redefined },
    Shape { name: "redefined in each block", write: redefined_in_blocks },
    Shape { name: "nested branches", write: nested_branches },
    Shape { name: "nested loops", write: nested_loops },
    Shape { name: "early exits", write: early_exits },
    Shape { name: "jump table", write: jump_table },
    Shape { name: "jump tables", write: jump_tables },
    Shape { name: "unknown label", write: unknown_label },
    Shape { name: "allocations", write: allocations },
    Shape { name: "chain of copies", write: copies },
    Shape { name: "ring of copies", write: ring },
];

impl Shape {
    /// A module with one function of about `statements` statements.
    pub(super) fn module(&self, statements: usize) -> String {
        let mut body = Body::default();
        (self.write)(&mut body, statements);
        format!(
            ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k() {{\n\
             .shared .align 8 .b64 mbar;\n.shared .b32 slot;\n\
             .reg .pred p, q;\n.reg .b32 taddr, x, %r<512>;\n.reg .b64 %d<64>;\n{}ret;\n}}\n",
            body.text
        )
    }
}

/// The statements of a function.
#[derive(Debug, Default)]
struct Body {
    text: String,
    statements: usize,
}

impl Body {
    fn push(&mut self, statement: &str) {
        self.text.push_str(statement);
        self.text.push('\n');
        self.statements += 1;
    }

    fn label(&mut self, name: &str, number: usize) {
        let _ = writeln!(self.text, "{name}{number}:");
        self.statements += 1;
    }

    fn branch(&mut self, guard: &str, name: &str, number: usize) {
        self.push(&format!("{guard} bra {name}{number};"));
    }

    fn alloc(&mut self) {
        self.push("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 128;");
        self.push("bar.sync 0;");
        self.push("ld.shared.b32 taddr, [slot];");
    }

    fn dealloc(&mut self) {
        self.push("tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, 128;");
    }

    fn load(&mut self, number: usize) {
        let at = number * 8 % 256;
        let registers: Vec<String> = (at..at + 4).map(|it| format!("%r{it}")).collect();
        self.push(&format!(
            "tcgen05.ld.sync.aligned.32x32b.x4.b32 {{{}}}, [taddr+{}];",
            registers.join(", "),
            number * 4 % 128
        ));
    }

    fn store(&mut self, number: usize) {
        self.push(&format!("tcgen05.st.sync.aligned.32x32b.x1.b32 [taddr], {{%r{}}};", number % 256));
    }

    fn mma(&mut self, number: usize) {
        self.push(&format!(
            "tcgen05.mma.cta_group::1.kind::f16 [taddr], %d{}, %d{}, 0x08200490, p;",
            number % 64,
            (number + 1) % 64
        ));
    }

    fn commit(&mut self) {
        self.push("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [mbar];");
    }

    fn arithmetic(&mut self, number: usize) {
        let at = number % 250;
        self.push(&format!("add.s32 %r{}, %r{at}, {};", at + 1, number % 99));
        self.push(&format!("add.s64 %d{}, %d{}, {};", number % 64, (number + 7) % 64, number % 16));
    }
}

fn mixed(body: &mut Body, statements: usize) {
    body.alloc();
    let mut number = 0;
    while body.statements < statements {
        body.label("L", number);
        body.arithmetic(number);
        body.push(&format!("setp.ne.s32 p, %r{}, 0;", number % 250));
        body.branch("@p", "M", number);
        body.push("elect.sync _|q, -1;");
        body.branch("@!q", "M", number);
        body.mma(number);
        body.mma(number + 1);
        body.commit();
        body.label("M", number);
        body.label("W", number);
        body.push("mbarrier.try_wait.parity.shared::cta.b64 p, [mbar], 0;");
        body.branch("@!p", "W", number);
        body.push("tcgen05.fence::after_thread_sync;");
        body.load(number);
        body.load(number + 1);
        body.push("tcgen05.wait::ld.sync.aligned;");
        body.arithmetic(number + 3);
        body.store(number);
        body.push("tcgen05.wait::st.sync.aligned;");
        body.push("tcgen05.fence::before_thread_sync;");
        body.push("bar.sync 0;");
        body.branch("@p", "L", number);
        number += 1;
    }
    body.dealloc();
}

fn one_block(body: &mut Body, statements: usize) {
    body.alloc();
    for number in 0..statements / 4 {
        body.load(number);
        body.store(number);
        body.mma(number);
        body.commit();
    }
    body.dealloc();
}

fn pending(body: &mut Body, statements: usize) {
    body.alloc();
    for number in 0..statements / 4 {
        body.load(number);
        body.mma(number);
        body.branch("@p", "L", number);
        body.label("L", number);
    }
    body.dealloc();
}

fn redefined(body: &mut Body, statements: usize) {
    body.alloc();
    for number in 0..statements / 2 {
        body.push(&format!("add.s32 x, x, {number};"));
        if number % 8 == 0 {
            body.push("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [x];");
        } else {
            body.push("@p mov.b32 %r1, x;");
        }
    }
}

fn redefined_in_blocks(body: &mut Body, statements: usize) {
    body.alloc();
    for number in 0..statements / 4 {
        body.push(&format!("add.s32 %r{}, %r{}, {number};", number % 512, (number + 1) % 512));
        body.push(&format!("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{x}}, [%r{}];", (number + 5) % 512));
        body.branch("@p", "L", number);
        body.label("L", number);
    }
}

fn nested_branches(body: &mut Body, statements: usize) {
    body.alloc();
    let depth = statements / 4;
    for number in 0..depth {
        body.push("setp.ne.s32 p, x, 0;");
        body.branch("@p", "E", number);
        body.mma(number);
    }
    for number in (0..depth).rev() {
        body.label("E", number);
    }
}

fn nested_loops(body: &mut Body, statements: usize) {
    body.alloc();
    let depth = statements / 4;
    for number in 0..depth {
        body.label("H", number);
        body.mma(number);
    }
    for number in (0..depth).rev() {
        body.load(number);
        body.branch("@p", "H", number);
    }
}

fn early_exits(body: &mut Body, statements: usize) {
    body.alloc();
    for number in 0..statements / 3 {
        body.push("setp.ne.s32 p, x, 0;");
        body.push("@p exit;");
        body.mma(number);
    }
}

fn jump_table(body: &mut Body, statements: usize) {
    let cases = statements / 2;
    let labels: Vec<String> = (0..cases).map(|number| format!("L{number}")).collect();
    body.push(&format!("T: .branchtargets {};", labels.join(", ")));
    body.push("brx.idx x, T;");
    for number in 0..cases {
        body.label("L", number);
        body.mma(number);
    }
}

/// As many jumps as cases.
fn jump_tables(body: &mut Body, statements: usize) {
    let cases = statements / 4;
    let labels: Vec<String> = (0..cases).map(|number| format!("L{number}")).collect();
    body.push(&format!("T: .branchtargets {};", labels.join(", ")));
    for number in 0..cases {
        body.label("L", number);
        body.mma(number);
        body.push("tcgen05.wait::ld.sync.aligned;");
        body.push("brx.idx x, T;");
    }
}

/// Jumps that may go to every label there is.
fn unknown_label(body: &mut Body, statements: usize) {
    for number in 0..statements / 3 {
        body.label("L", number);
        body.mma(number);
        body.push("@p bra x;");
    }
}

fn allocations(body: &mut Body, statements: usize) {
    for number in 0..statements / 4 {
        let size = 32 << (number % 4);
        body.push(&format!("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], {size};"));
        body.push("ld.shared.b32 taddr, [slot];");
        body.load(number);
        body.push(&format!("tcgen05.dealloc.cta_group::1.sync.aligned.b32 taddr, {size};"));
    }
}

/// Addresses at the end of long ways.
fn copies(body: &mut Body, statements: usize) {
    let _ = writeln!(body.text, ".reg .b32 %c<{}>;", statements + 1);
    body.alloc();
    body.push("mov.b32 %c0, taddr;");
    for number in 0..statements / 2 {
        body.push(&format!("add.s32 %c{}, %c{number}, 0;", number + 1));
        body.push(&format!("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{x}}, [%c{}];", number + 1));
    }
}

/// A value that goes round through many registers in a loop, from the last to the first.
fn ring(body: &mut Body, statements: usize) {
    let _ = writeln!(body.text, ".reg .b32 %c<{}>;\n.reg .pred %s<{}>;", statements + 1, statements + 1);
    body.alloc();
    let length = statements / 3;
    body.push("mov.b32 %c0, 1;");
    body.label("L", 0);
    for number in (0..length).rev() {
        body.push(&format!("shl.b32 %c{}, %c{number}, 1;", number + 1));
        body.push(&format!("setp.ne.s32 %s{number}, %c{}, 0;", number + 1));
        body.push(&format!("@%s{number} tcgen05.ld.sync.aligned.32x32b.x1.b32 {{x}}, [%c{}];", number + 1));
    }
    body.branch("@p", "L", 0);
}
