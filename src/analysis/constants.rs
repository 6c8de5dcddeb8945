//! Which bits of a register are known.
//!
//! Kernels do not compute their descriptors from nothing: a constant is moved, some bits are
//! filled in at run time, and the rest stays. So the domain is the single bit: known to be 0,
//! known to be 1, or unknown. A value is known where every definition that reaches the use agrees.
//!
//! Sound: a bit that is said to be known has that value in every run. One rule of the domain is
//! not a theorem of arithmetic but of the hardware, and lives in `descriptor_sum`: address
//! arithmetic on a shared-memory descriptor does not carry out of its low word.
//!
//! Only what tcgen05 instructions need is evaluated: the definitions that reach their operands,
//! and what those are made of.

use rustc_hash::{FxHashMap, FxHashSet};

use super::cfg::Cfg;
use super::definitions::{DefinitionId, Definitions};
use super::registers;
use super::symbols::{RegisterId, Resolution, SymbolKind, Symbols};
pub use crate::descriptor::Known;
use crate::source::{Source, Span};
use crate::syntax::ast::{Module, Operand, OperandKind, Slice, Type};
use crate::syntax::literal;

mod bits;

/// Nothing is known.
const UNKNOWN: Known = Known::new(0, 0);

/// Known bits of the registers of one function, as far as they were asked for.
#[derive(Debug, Default)]
pub struct Constants {
    values: FxHashMap<DefinitionId, Known>,
}

/// What an evaluation may look at.
#[derive(Clone, Copy, Debug)]
pub struct Function<'a> {
    /// The text.
    pub source: &'a Source,
    /// Its syntax tree.
    pub module: &'a Module,
    /// What its names mean.
    pub symbols: &'a Symbols,
    /// The function's control flow.
    pub cfg: &'a Cfg,
    /// Its definitions.
    pub definitions: &'a Definitions,
}

impl Constants {
    /// Evaluates what the `uses` need: registers and the instructions that read them.
    pub fn new(function: &Function<'_>, uses: impl IntoIterator<Item = (u32, RegisterId)>) -> Self {
        let mut order = Vec::new();
        let mut dependents: FxHashMap<DefinitionId, Vec<DefinitionId>> = FxHashMap::default();
        let mut work: Vec<DefinitionId> = uses
            .into_iter()
            .flat_map(|(instruction, register)| {
                function.definitions.reaching(function.cfg, instruction, register)
            })
            .collect();
        let mut this = Self::default();
        while let Some(id) = work.pop() {
            if this.values.insert(id, TOP).is_some() {
                continue;
            }
            order.push(id);
            for source in function.sources(id) {
                dependents.entry(source).or_default().push(id);
                work.push(source);
            }
        }
        // Values only lose bits, so that this ends: each definition changes at most once a bit.
        let mut waiting = order;
        waiting.sort_unstable();
        waiting.reverse();
        let mut queued: FxHashSet<DefinitionId> = waiting.iter().copied().collect();
        while let Some(id) = waiting.pop() {
            queued.remove(&id);
            let old = this.values.get(&id).copied().unwrap_or(UNKNOWN);
            let new = join(old, function.evaluate(id, &this));
            if new != old {
                this.values.insert(id, new);
                for dependent in dependents.get(&id).into_iter().flatten() {
                    if queued.insert(*dependent) {
                        waiting.push(*dependent);
                    }
                }
            }
        }
        this
    }

    /// The known bits of `register` where `instruction` reads it.
    pub fn at(&self, function: &Function<'_>, instruction: u32, register: RegisterId) -> Known {
        let joined = self.joined(function, instruction, register);
        if joined == TOP { UNKNOWN } else { joined }
    }

    /// The same while values are still being found: `TOP` when none of the definitions has one.
    fn joined(&self, function: &Function<'_>, instruction: u32, register: RegisterId) -> Known {
        let reaching = function.definitions.reaching(function.cfg, instruction, register);
        if reaching.is_empty() {
            return UNKNOWN;
        }
        let value = |id: DefinitionId| self.values.get(&id).copied().unwrap_or(UNKNOWN);
        reaching.into_iter().fold(TOP, |joined, id| join(joined, value(id)))
    }
}

/// Not evaluated yet: consistent with every value. No word looks like this, its value having a bit
/// that its mask has not.
const TOP: Known = Known { mask: 0, value: 1 };

/// What is known when it may be either.
fn join(left: Known, right: Known) -> Known {
    if left == TOP {
        return right;
    }
    if right == TOP {
        return left;
    }
    Known::new(left.mask & right.mask & !(left.value ^ right.value), left.value)
}

impl Function<'_> {
    /// The definitions that the value of a definition is made of.
    fn sources(&self, id: DefinitionId) -> Vec<DefinitionId> {
        let definition = self.definitions.get(id);
        let mut sources = Vec::new();
        registers::accesses(
            self.source,
            self.module,
            self.symbols,
            definition.instruction,
            &mut |register, _, access| {
                if access == registers::Access::Read {
                    sources.extend(self.definitions.reaching(self.cfg, definition.instruction, register));
                }
            },
        );
        sources
    }

    /// Where the value that `instruction` reads from `register` was made: through copies back to
    /// the one definition it comes from, if there is only one.
    pub fn origin(&self, instruction: u32, register: RegisterId) -> Option<Span> {
        let mut place = (instruction, register);
        // A chain of copies cannot be longer than there are definitions.
        for _ in 0..self.definitions.len() {
            let reaching = self.definitions.reaching(self.cfg, place.0, place.1);
            let [only] = reaching[..] else { return None };
            let definition = self.definitions.get(only);
            let raw = &self.module.instructions[definition.instruction as usize];
            let mut words = registers::words(self.source, self.module, definition.instruction);
            let copied = words.next() == Some("mov") && raw.operands.len == 2;
            let copied_from = copied
                .then(|| self.symbols.operand(raw.operands.start + 1))
                .filter(|_| self.module.operands[raw.operands.start as usize + 1].kind == OperandKind::Name);
            if let Some(Resolution::Register(from)) = copied_from {
                place = (definition.instruction, from);
            } else {
                let operands = self.module.operands(raw.operands);
                return Some(raw.opcode.to(operands.last().map_or(raw.opcode, |operand| operand.span)));
            }
        }
        None
    }

    /// Width of a register in bits.
    fn width(&self, register: RegisterId) -> Option<u32> {
        match self.symbols.register(register).kind {
            SymbolKind::Register { ty: Some(ty), vector: 1, .. } => ty.bits().filter(|bits| *bits <= 64),
            _ => None,
        }
    }

    /// The value of an operand where `instruction` reads it, cut to `width`.
    fn operand(&self, values: &Constants, instruction: u32, index: u32, width: u32) -> Known {
        let operand: &Operand = &self.module.operands[index as usize];
        if let Some(value) = literal::evaluate(self.source, self.module, operand) {
            // Two's complement of 128 bits, cut.
            let low = (value & i128::from(u64::MAX)) as u64;
            return bits::cut(Known::from(low), width);
        }
        match operand.kind {
            OperandKind::Name => match self.symbols.operand(index) {
                Resolution::Register(register) => bits::cut(values.at(self, instruction, register), width),
                _ => UNKNOWN,
            },
            // Packing: the elements from the lowest bits up.
            OperandKind::Vector(parts) if parts.len > 0 => {
                let part = width / parts.len;
                let mut packed = Known::new(0, 0);
                for (position, index) in parts.range().enumerate() {
                    let element = self.operand(values, instruction, index as u32, part);
                    let shift = part * position as u32;
                    packed.mask |= element.mask << shift;
                    packed.value |= element.value << shift;
                }
                packed
            }
            _ => UNKNOWN,
        }
    }

    /// The known bits that a definition gives, from those of what it reads.
    fn evaluate(&self, id: DefinitionId, values: &Constants) -> Known {
        let definition = self.definitions.get(id);
        let instruction = definition.instruction;
        let raw = &self.module.instructions[instruction as usize];
        let Some(width) = self.width(definition.register) else { return UNKNOWN };
        // An operand without a value yet will bring this definition back when it has one.
        let mut waits = false;
        registers::accesses(
            self.source,
            self.module,
            self.symbols,
            instruction,
            &mut |register, _, access| {
                waits |=
                    access == registers::Access::Read && values.joined(self, instruction, register) == TOP;
            },
        );
        if waits {
            return TOP;
        }
        let words: Vec<&str> = registers::words(self.source, self.module, instruction).collect();
        let Some((&name, modifiers)) = words.split_first() else { return UNKNOWN };
        let types: Vec<Type> = modifiers.iter().filter_map(|word| word.parse().ok()).collect();
        let Some(&ty) = types.last() else { return UNKNOWN };
        let Some(ty_width) = ty.bits() else { return UNKNOWN };
        let is_float = |ty: &Type| {
            matches!(
                ty,
                Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2 | Type::F32 | Type::F64 | Type::Tf32
            )
        };
        let float = types.iter().any(is_float);
        let bitwise = matches!(name, "mov" | "selp" | "shfl");
        if (float && !bitwise) || ty_width > 64 {
            return UNKNOWN;
        }
        let argument = |position: u32, width: u32| {
            if position < raw.operands.len {
                self.operand(values, instruction, raw.operands.start + position, width)
            } else {
                UNKNOWN
            }
        };
        let constant = |position: u32| {
            let known = argument(position, 64);
            (known.mask == u64::MAX).then_some(known.value).or_else(|| {
                let known = argument(position, 32);
                (known.mask & 0xFFFF_FFFF == 0xFFFF_FFFF).then_some(known.value)
            })
        };
        let has = |word: &str| modifiers.contains(&word);
        let signed = matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64);
        let a = argument(1, ty_width);
        let result = match name {
            "mov" => self.moved(values, instruction, definition.operand, raw.operands, ty_width, width),
            "cvt" if types.len() == 2 && !has("sat") && !has("rn") && !has("rz") => {
                let source_width = ty_width;
                let from = argument(1, source_width);
                bits::extend(from, source_width, signed)
            }
            "and" => bits::and(a, argument(2, ty_width)),
            "or" => {
                let b = argument(2, ty_width);
                if ty_width == 64 { descriptor_sum(a, b, bits::or(a, b)) } else { bits::or(a, b) }
            }
            "xor" => bits::xor(a, argument(2, ty_width)),
            "not" => Known::new(a.mask, !a.value),
            "lop3" if modifiers.len() == 1 => match constant(4) {
                Some(table) => bits::lop3(a, argument(2, 32), argument(3, 32), table),
                None => UNKNOWN,
            },
            "shl" => constant(2).map_or(UNKNOWN, |by| bits::shl(a, by, ty_width)),
            "shr" => constant(2).map_or(UNKNOWN, |by| bits::shr(a, by, ty_width, signed)),
            "add" if !has("cc") && !has("sat") => {
                let b = argument(2, ty_width);
                let sum = bits::add(a, b, false);
                if ty_width == 64 { descriptor_sum(a, b, sum) } else { sum }
            }
            "sub" if !has("cc") && !has("sat") => {
                let b = argument(2, ty_width);
                let difference = bits::add(a, Known::new(b.mask, !b.value), true);
                if ty_width == 64 && bits::is_descriptor(a) {
                    descriptor_sum(a, UNKNOWN, difference)
                } else {
                    difference
                }
            }
            "neg" => bits::add(Known::from(0u64), Known::new(a.mask, !a.value), true),
            "mul" if has("lo") => bits::multiply(a, argument(2, ty_width), ty_width, false),
            "mul" if has("wide") => bits::multiply(a, argument(2, ty_width), ty_width, signed),
            "mad" if has("lo") && !has("cc") && !has("sat") => bits::add(
                bits::multiply(a, argument(2, ty_width), ty_width, false),
                argument(3, ty_width),
                false,
            ),
            "mad" if has("wide") => {
                let product = bits::multiply(a, argument(2, ty_width), ty_width, signed);
                bits::add(product, argument(3, ty_width * 2), false)
            }
            "bfe" => match (constant(2), constant(3)) {
                (Some(at), Some(len)) if !signed => bits::bfe(a, at, len, ty_width),
                _ => UNKNOWN,
            },
            "bfi" => match (constant(3), constant(4)) {
                (Some(at), Some(len)) => bits::bfi(a, argument(2, ty_width), at, len, ty_width),
                _ => UNKNOWN,
            },
            "prmt" if modifiers.len() == 1 => {
                constant(3).map_or(UNKNOWN, |selector| bits::prmt(a, argument(2, 32), selector))
            }
            "selp" => join(a, argument(2, ty_width)),
            // Whatever lane the value comes from, its known bits are those of the operand.
            "shfl"
                if raw.operands.start == definition.operand
                    || self.first_of_pair(raw.operands, definition.operand) =>
            {
                a
            }
            _ => UNKNOWN,
        };
        let produced = match name {
            // `cvt.u64.u32` extends to its first type; `mul.wide` doubles the width.
            "cvt" => types.first().and_then(|ty| ty.bits()).unwrap_or(width),
            "mul" | "mad" if has("wide") => ty_width * 2,
            _ => ty_width,
        };
        // A register wider than the type keeps undefined bits above it.
        bits::within(result, produced.min(width))
    }

    /// `mov` with packing and unpacking.
    fn moved(
        &self,
        values: &Constants,
        instruction: u32,
        operand: u32,
        operands: Slice,
        ty_width: u32,
        width: u32,
    ) -> Known {
        let [destination, _] = self.module.operands(operands) else { return UNKNOWN };
        let from = self.operand(values, instruction, operands.start + 1, ty_width);
        match destination.kind {
            OperandKind::Vector(parts) if parts.len > 0 => {
                let position = operand.saturating_sub(parts.start);
                let part = ty_width / parts.len;
                bits::cut(bits::shr(from, u64::from(position * part), ty_width, false), part.min(width))
            }
            _ => from,
        }
    }

    /// Whether `operand` is the `d` of `d|p`.
    fn first_of_pair(&self, operands: Slice, operand: u32) -> bool {
        match self.module.operands(operands).first().map(|first| first.kind) {
            Some(OperandKind::Binary(_, parts)) => parts.start == operand,
            _ => false,
        }
    }
}

/// The sum (or union) of a shared-memory descriptor and an offset: the high word is the
/// descriptor's.
///
/// The start address is 14 bits wide in units of 16 bytes, far from the top of the low word, and
/// a shared-memory address is never negative. Code that adds to a descriptor relies on that.
fn descriptor_sum(a: Known, b: Known, sum: Known) -> Known {
    const HIGH: u64 = 0xFFFF_FFFF_0000_0000;
    let descriptor = match (bits::is_descriptor(a), bits::is_descriptor(b)) {
        (true, false) => a,
        (false, true) => b,
        _ => return sum,
    };
    let high = Known::new(descriptor.mask & HIGH, descriptor.value);
    Known::new(sum.mask & !HIGH | high.mask, sum.value & !HIGH | high.value)
}

impl Known {
    /// The sum with a constant, in `width` bits.
    #[must_use]
    pub fn plus(self, constant: u64, width: u32) -> Self {
        let low = bits::cut(bits::within(self, width), width);
        bits::within(bits::add(low, Known::from(constant), false), width)
    }

    /// The sum of 64 bits.
    #[must_use]
    pub fn sum(self, other: Self) -> Self {
        if other.mask == u64::MAX && other.value == 0 { self } else { bits::add(self, other, false) }
    }

    /// What has to be added to make zero, in 64 bits.
    #[must_use]
    pub fn negated(self) -> Self {
        bits::add(Self::from(0u64), Self::new(self.mask, !self.value), true)
    }

    /// The bits from `by` on.
    #[must_use]
    pub fn shifted_right(self, by: u32) -> Self {
        bits::shr(self, u64::from(by), 64, false)
    }

    /// The value, if the low `width` bits are all known.
    pub fn constant(self, width: u32) -> Option<u64> {
        let all = bits::cut(self, width);
        (all.mask == u64::MAX).then_some(all.value)
    }
}
