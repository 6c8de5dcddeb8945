//! Which words of 8 bytes that are loaded are addresses, and which are numbers: what a launch that is
//! assumed has to know of a parameter, and of a word in a buffer.
//!
//! A register whose value memory is accessed at holds an address; so does what it was moved from, and
//! what else it was added to, unless that is multiplied, shifted or converted somewhere. What a descriptor
//! of a matrix is made of are numbers, and so is what is compared with the result of a multiply or a conversion. Where nothing
//! says that a word is a number, it may be an address: an assumed launch gives it one.

use std::ops::Range;

use rustc_hash::FxHashSet;

use super::{Action, Address, Matrix, Operand, Program, Tensor, Where};
use crate::isa::generic::Operation;

/// Marks the addresses among the words that the steps of a function load. `computed` has the steps that
/// compute something, in their order.
pub(super) fn mark(program: &mut Program, steps: Range<u32>, computed: &[(u32, Operation)]) {
    let mut flow = Flow::default();
    let mut computed = computed.iter().peekable();
    for at in steps.clone() {
        while computed.peek().is_some_and(|(step, _)| *step < at) {
            computed.next();
        }
        let operation = computed.peek().filter(|(step, _)| *step == at).map(|(_, operation)| *operation);
        flow.step(program, &program.steps[at as usize].action, operation);
    }
    flow.finish();
    for at in steps {
        let Action::Load(access) = &program.steps[at as usize].action else { continue };
        if access.bytes != 8 {
            continue;
        }
        let registers = &program.operands[access.registers.range()];
        let those = |is_so: &dyn Fn(u32) -> bool| {
            registers.iter().enumerate().take(32).fold(0, |all, (index, operand)| {
                all | u32::from(register(*operand).is_some_and(is_so)) << index
            })
        };
        let pointers = those(&|it| flow.is_pointer(it));
        let addresses = those(&|it| flow.addresses.contains(&it));
        if let Action::Load(access) = &mut program.steps[at as usize].action {
            (access.pointers, access.addresses) = (pointers, addresses);
        }
    }
}

/// What becomes of registers.
#[derive(Debug, Default)]
struct Flow {
    /// What a register gets, from which others: only one of several can be the address.
    edges: Vec<(u32, Vec<u32>)>,
    /// Registers that may hold an address.
    possible: FxHashSet<u32>,
    addresses: FxHashSet<u32>,
    /// What addresses are added to, each perhaps an address.
    parts: FxHashSet<u32>,
    numbers: FxHashSet<u32>,
    /// What is multiplied, shifted or converted.
    computed: FxHashSet<u32>,
    /// What is compared with what; nothing for a number in the text.
    compared: Vec<(u32, Option<u32>)>,
    /// Descriptors of matrices, and what they are made of.
    descriptors: FxHashSet<u32>,
}

fn register(operand: Operand) -> Option<u32> {
    match operand {
        Operand::Register(number) => Some(number),
        Operand::Not(_)
        | Operand::Constant(_)
        | Operand::Fixed(_)
        | Operand::Local(_)
        | Operand::Changing(_)
        | Operand::Sink => None,
    }
}

impl Flow {
    fn step(&mut self, program: &Program, action: &Action, operation: Option<Operation>) {
        let is_global = |space: Where| matches!(space, Where::Global | Where::Generic);
        match action {
            Action::Load(access) => {
                if is_global(access.space) {
                    self.address(access.address);
                }
                if access.bytes == 8 {
                    let registers = &program.operands[access.registers.range()];
                    self.possible.extend(registers.iter().filter_map(|it| register(*it)));
                }
            }
            Action::Store(access) if is_global(access.space) => self.address(access.address),
            Action::Atomic(atomic) if is_global(atomic.space) => self.address(atomic.address),
            Action::CopyAsync { source, .. } => self.address(*source),
            Action::Bulk(bulk) => {
                for (space, address) in [bulk.destination, bulk.source] {
                    if is_global(space) {
                        self.address(address);
                    }
                }
            }
            Action::ReplaceTensorMap { address, space, .. } if is_global(*space) => self.address(*address),
            Action::CopyTensorMap { destination, .. } => self.address(*destination),
            Action::Tensor(tensor) => match &**tensor {
                Tensor::Multiply(multiply) => {
                    if let Matrix::Shared(descriptor) = multiply.a {
                        self.descriptors.extend(register(descriptor));
                    }
                    self.descriptors.extend(register(multiply.b));
                    self.descriptors.extend(multiply.zero_column_mask.and_then(register));
                }
                Tensor::Copy { descriptor, .. } => self.descriptors.extend(register(*descriptor)),
                _ => {}
            },
            Action::Convert { to_generic, space, source, destination } if is_global(*space) => {
                if let (Some(source), Some(destination)) = (register(*source), register(*destination)) {
                    if !to_generic {
                        self.addresses.insert(source);
                    }
                    self.edges.push((destination, vec![source]));
                }
            }
            Action::Compute { sources, destinations, .. } => {
                let Some(operation) = operation else { return };
                let sources = &program.operands[sources.range()];
                let [destination] = &program.operands[destinations.range()] else { return };
                let Some(destination) = register(*destination) else { return };
                let all = || sources.iter().filter_map(|it| register(*it));
                match operation {
                    Operation::Mov | Operation::Add | Operation::Sub | Operation::And | Operation::Or => {
                        self.edges.push((destination, all().collect()));
                    }
                    Operation::Selp => {
                        let chosen = sources.iter().take(2).filter_map(|it| register(*it));
                        for source in chosen {
                            self.edges.push((destination, vec![source]));
                        }
                    }
                    Operation::Mad => {
                        if sources.get(2).and_then(|it| register(*it)).is_none() {
                            self.computed.insert(destination);
                        }
                        self.numbers.extend(sources.iter().take(2).filter_map(|it| register(*it)));
                        self.edges.push((
                            destination,
                            sources.get(2).and_then(|it| register(*it)).into_iter().collect(),
                        ));
                    }
                    // An address is compared with zero, or with another.
                    Operation::Setp => {
                        let is_number = |it: &Operand| {
                            matches!(it, Operand::Constant(at)
                            if program.constants[*at as usize].iter().any(|lane| *lane != 0))
                        };
                        let [one, other, ..] = sources else { return };
                        for (one, other) in [(one, other), (other, one)] {
                            let Some(one) = register(*one) else { continue };
                            match register(*other) {
                                Some(other) => self.compared.push((one, Some(other))),
                                None if is_number(other) => self.compared.push((one, None)),
                                None => {}
                            }
                        }
                    }
                    _ => {
                        self.computed.insert(destination);
                        self.numbers.extend(all());
                    }
                }
            }
            _ => {}
        }
    }

    fn address(&mut self, address: Address) {
        self.addresses.extend(register(address.base));
    }

    /// Lets everything flow.
    fn finish(&mut self) {
        let mut changes = true;
        while changes {
            changes = false;
            for (destination, sources) in &self.edges {
                if sources.iter().any(|it| self.possible.contains(it)) {
                    changes |= self.possible.insert(*destination);
                }
            }
        }
        // What is made of such numbers alone is one, too.
        let mut changes = true;
        while changes {
            changes = false;
            for (destination, sources) in &self.edges {
                let is_computed = |it: &u32| self.computed.contains(it) || it == destination;
                let is_number = !sources.is_empty() && sources.iter().all(is_computed);
                if is_number && sources.iter().any(|it| self.computed.contains(it)) {
                    changes |= self.computed.insert(*destination);
                }
            }
        }
        for (one, other) in &self.compared {
            if other.is_none_or(|other| self.computed.contains(&other)) {
                self.numbers.insert(*one);
            }
        }
        let mut changes = true;
        while changes {
            changes = false;
            for (destination, sources) in self.edges.iter().rev() {
                let is_address = self.addresses.contains(destination);
                let possible: Vec<u32> =
                    sources.iter().copied().filter(|it| self.possible.contains(it)).collect();
                if is_address && possible.len() == 1 {
                    changes |= self.addresses.insert(possible[0]);
                } else if is_address || self.parts.contains(destination) {
                    for source in possible {
                        changes |= self.parts.insert(source);
                    }
                }
                if self.descriptors.contains(destination) {
                    for source in sources {
                        changes |= self.descriptors.insert(*source);
                    }
                }
                if self.numbers.contains(destination) {
                    let mut left = sources.iter().filter(|it| !self.computed.contains(it));
                    if let (Some(source), None) = (left.next(), left.next()) {
                        changes |= self.numbers.insert(*source);
                    }
                }
            }
        }
    }

    fn is_pointer(&self, register: u32) -> bool {
        let is_number = self.numbers.contains(&register) || self.descriptors.contains(&register);
        self.addresses.contains(&register) || !is_number
    }
}
