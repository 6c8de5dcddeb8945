//! What a position takes in an instruction with certain words: the classes of registers and numbers, and how many
//! elements a vector has. Whoever judges operands asks for it once for each distinct opcode.

use super::{
    Class, Classes, Count, Flag, Form, Geometry, LoadMode, MmaKind, Modifier, Numbers, OperandSlot,
    Operation, Pair, Part, Role, Shape, Space, SpaceRule, SparsityFactor, TileShape, Type, TypeRule,
};
use ptx_text::types::StateSpace;

/// What may stand in a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// By itself; in brackets, where an address stands.
    pub alone: Classes,
    /// As an element of a vector.
    pub within: Classes,
    /// How many elements a vector has; nothing where that is not looked at.
    pub count: Option<u16>,
    /// Whether it may have more, or be one register.
    pub is_least: bool,
    /// Whether it is a vector, and nothing else.
    pub is_vector: bool,
    /// The integers that may be written.
    pub numbers: Numbers,
    /// The type that registers there should have.
    pub ty: Option<Type>,
    /// The state spaces that a variable there may be in.
    pub spaces: Spaces,
    /// Whether the assembler cuts a number to 32 bits before it looks whether it may be written.
    pub is_cut: bool,
}

impl Wanted {
    /// The classes of which any name may stand there by itself, in brackets where an address does: a variable is
    /// only among them where it may be in any state space.
    #[inline]
    pub fn names(&self) -> Classes {
        if self.spaces == Spaces::ALL {
            self.alone
        } else {
            self.alone.without(Classes::of(&[Class::Variable]))
        }
    }
}

/// State spaces of variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spaces(u8);

impl Spaces {
    /// Any.
    pub const ALL: Self = Self(u8::MAX);
    const NONE: Self = Self(0);
    /// Those that are parts of generic memory.
    const GENERIC: Self = Self::of(&[StateSpace::Global, StateSpace::Local, StateSpace::Shared]);

    const fn of(spaces: &[StateSpace]) -> Self {
        let mut set = Self::NONE.0;
        let mut at = 0;
        while at < spaces.len() {
            set |= Self::bit(spaces[at]);
            at += 1;
        }
        Self(set)
    }

    /// Those that are not memory, or have names of their own, have none.
    const fn bit(space: StateSpace) -> u8 {
        match space {
            StateSpace::Const => 1,
            StateSpace::Global => 2,
            StateSpace::Local => 4,
            StateSpace::Param => 8,
            StateSpace::Shared => 16,
            _ => 0,
        }
    }

    /// Whether a variable of a space may stand there.
    pub const fn has(self, space: StateSpace) -> bool {
        let bit = Self::bit(space);
        bit == 0 || self.0 & bit != 0
    }

    /// Each of them.
    pub fn each(self) -> impl Iterator<Item = StateSpace> {
        [StateSpace::Shared, StateSpace::Global, StateSpace::Local, StateSpace::Const, StateSpace::Param]
            .into_iter()
            .filter(move |space| self.has(*space))
    }

    /// Those of the variables that an instruction takes where it names an address.
    fn new(space: SpaceRule, words: &Words<'_>) -> Self {
        let said = match space {
            SpaceRule::Fixed(space) => Some(space),
            SpaceRule::Nth(nth) => words.space(nth),
            SpaceRule::Opaque | SpaceRule::Fabric => return Self::ALL,
        };
        match said {
            // Barriers are nowhere else, whatever the address is.
            _ if words.name.starts_with("mbarrier.") => Self::of(&[StateSpace::Shared]),
            Some(space) => Self::of(&[space.declared()]),
            None if matches!(words.operation, Operation::Prefetch | Operation::Prefetchu) => {
                Self::of(&[StateSpace::Global])
            }
            None => Self::GENERIC,
        }
    }
}

/// The words of an opcode.
#[derive(Clone, Copy, Debug)]
pub struct Words<'a> {
    /// What they name.
    pub operation: Operation,
    /// The name as it is written, of several that mean the same.
    pub name: &'a str,
    /// Its modifiers, in their order.
    pub modifiers: &'a [Modifier],
}

impl Words<'_> {
    fn pick<T>(&self, pick: impl FnMut(&Modifier) -> Option<T>) -> Option<T> {
        self.modifiers.iter().find_map(pick)
    }

    fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    fn types(&self) -> impl Iterator<Item = Type> + '_ {
        self.modifiers.iter().filter_map(|modifier| match modifier {
            Modifier::Type(ty) => Some(*ty),
            _ => None,
        })
    }

    fn numbers(&self, numbers: Numbers) -> Numbers {
        let Numbers::ByWords(lists) = numbers else { return numbers };
        let fits = |words: &[Modifier]| words.is_empty() || words.iter().any(|word| self.has(*word));
        lists.iter().find(|(words, _)| fits(words)).map_or(Numbers::All, |(_, numbers)| *numbers)
    }

    fn ty(&self, index: usize) -> Option<Type> {
        self.types().nth(index)
    }

    /// Whether a single value may stand in braces where a vector would, if the opcode said so.
    fn takes_one_in_braces(&self, ty: Type) -> bool {
        match self.name {
            "atom" | "red" | "multimem.red" => false,
            "multimem.ld_reduce" | "multimem.st" => ty.is_float(),
            _ => true,
        }
    }

    fn vector(&self) -> Option<u16> {
        self.pick(|modifier| match modifier {
            Modifier::Vector(vector) => Some(vector.elements() as u16),
            _ => None,
        })
    }

    fn space(&self, nth: u8) -> Option<Space> {
        let space = |modifier: &Modifier| match modifier {
            Modifier::Space(space) => Some(*space),
            _ => None,
        };
        self.modifiers.iter().filter_map(space).nth(usize::from(nth))
    }

    fn shape(&self) -> Option<Shape> {
        self.pick(|modifier| match modifier {
            Modifier::Shape(shape) => Some(*shape),
            _ => None,
        })
    }

    fn count(&self) -> Option<u32> {
        self.pick(|modifier| match modifier {
            Modifier::Count(count) => Some(match count {
                Count::X1 => 1,
                Count::X2 => 2,
                Count::X4 => 4,
                Count::X8 => 8,
                Count::X16 => 16,
                Count::X32 => 32,
                Count::X64 => 64,
                Count::X128 => 128,
            }),
            _ => None,
        })
    }
}

impl OperandSlot {
    /// The type of the position in an instruction with certain types; `is_wide` where the product has twice as many
    /// bits.
    fn type_in(&self, words: &Words<'_>) -> Option<Type> {
        match self.ty {
            TypeRule::Nth(nth) => words.ty(usize::from(nth)),
            TypeRule::Product => {
                let ty = words.ty(0)?;
                Some(match (words.has(Modifier::Part(Part::Wide)), ty) {
                    (true, Type::U16) => Type::U32,
                    (true, Type::S16) => Type::S32,
                    (true, Type::U32) => Type::U64,
                    (true, Type::S32) => Type::S64,
                    _ => ty,
                })
            }
            TypeRule::Fixed(ty) | TypeRule::Integer(ty) => Some(ty),
            TypeRule::Pointer | TypeRule::Fragment | TypeRule::Any => None,
        }
    }
}

const PREDICATES: Classes = Classes::of(&[Class::Pred]);

impl Wanted {
    /// Numbers in a vector are of the type of what stands beside them.
    const NUMBERS: Classes = Classes::of(&[Class::Integer, Class::Float, Class::Single]);

    /// Whatever may stand anywhere.
    pub const ANYTHING: Self = Self {
        alone: Classes::ALL,
        within: Classes::ALL,
        count: None,
        is_least: false,
        is_vector: false,
        numbers: Numbers::All,
        ty: None,
        spaces: Spaces::ALL,
        is_cut: false,
    };

    /// What a position takes in an instruction.
    pub fn new(slot: &OperandSlot, words: &Words<'_>) -> Self {
        let first = words.name.split('.').next().unwrap_or_default();
        let is_cut = match first {
            "bfe" | "bfi" | "tensormap" | "discard" | "applypriority" | "fence" | "setmaxnreg"
            | "pmevent" | "mma" | "multimem" => false,
            "cp" => words.name.ends_with("wait_group"),
            _ => words.name != "mbarrier.init",
        };
        Self { is_cut, ..Self::of(slot, words) }
    }

    fn of(slot: &OperandSlot, words: &Words<'_>) -> Self {
        match slot.role {
            Role::Address(_, space) => return Self::address(slot, space, words),
            Role::Label | Role::Callee | Role::Results | Role::Arguments | Role::Prototype => {
                return Self::ANYTHING;
            }
            Role::Destination | Role::Source | Role::Accumulator => {}
        }
        let ty = slot.type_in(words);
        let numbers = selectors(slot, words).unwrap_or_else(|| words.numbers(slot.numbers));
        let registers = match (slot.ty, ty) {
            // 32 bits of which the assembler does not look at the type.
            (TypeRule::Fragment, _) if matches!(slot.form, Form::Value | Form::Register) => {
                return Self { alone: NARROW, numbers, ty: Some(Type::B32), ..Self::ANYTHING };
            }
            (TypeRule::Fragment, _) => {
                let Some(fragment) = Fragment::new(slot, words) else { return Self::ANYTHING };
                let is_written = slot.role.is_written();
                let within = if is_written {
                    fragment.registers.and(PREDICATES)
                } else {
                    let specials = Classes::specials(fragment.ty.bits().unwrap_or(32));
                    let literals = match words.operation {
                        Operation::WmmaStore => Classes::of(&[Class::Integer, Class::Single]),
                        Operation::Spcompress | Operation::Spdecompress => Self::NUMBERS,
                        _ => Self::NUMBERS.and(specials),
                    };
                    fragment.registers.and(literals)
                };
                return Self {
                    alone: fragment.alone,
                    within,
                    count: fragment.count,
                    is_least: false,
                    is_vector: fragment.alone == Classes::NONE,
                    numbers,
                    ty: Some(fragment.ty),
                    ..Self::ANYTHING
                };
            }
            (TypeRule::Any, _) => return Self { numbers, ..Self::ANYTHING },
            (TypeRule::Pointer, _) => Classes::POINTERS,
            (TypeRule::Fixed(Type::Pred), _) => Classes::of(&[Class::Pred]),
            (TypeRule::Integer(ty), _) => Classes::integers(ty.bits().unwrap_or(0)),
            (_, Some(ty)) if is_unchecked(ty, words) => match ty.bits() {
                Some(32) => NARROW,
                Some(bits) => Classes::any(bits),
                None => Classes::ALL,
            },
            (_, Some(ty)) if slot.takes.wider && is_converted(words) => Classes::wider(ty),
            (_, Some(ty)) => Classes::agreeing(ty),
            (_, None) => return Self::ANYTHING,
        };
        let of = ty.unwrap_or(Type::B64);
        let bits = of.bits().unwrap_or(32);
        let mut alone = registers;
        if !slot.role.is_written() && slot.form != Form::Register || slot.form == Form::Value {
            let literals = match slot.ty {
                TypeRule::Integer(_) => Classes::of(&[Class::Integer]),
                _ if is_unchecked(of, words) => Self::NUMBERS,
                _ => Self::literals(of),
            };
            alone = alone.and(literals);
        }
        if slot.takes.specials && !words.types().any(Type::is_float) {
            alone = alone.and(Classes::specials(bits));
            if slot.takes.wider {
                let wider = [32, 64].into_iter().filter(|width| *width > bits);
                alone = wider.fold(alone, |set, bits| set.and(Classes::specials(bits)));
            }
        }
        if slot.takes.specials && of == Type::Pred {
            alone = alone.and(Classes::of(&[Class::SpecialPred]));
        }
        if slot.takes.names && !of.is_float() {
            alone = alone.and(Classes::NAMES);
        }
        // Of the address that is converted.
        let spaces = match words.operation {
            Operation::Cvta => Spaces::new(SpaceRule::Nth(0), words),
            _ => Spaces::ALL,
        };
        match slot.form {
            Form::Immediate => Self { alone: Classes::of(&[Class::Integer]), numbers, ty, ..Self::ANYTHING },
            Form::Vector if words.vector().is_some() => {
                let within = Self::within(slot, of, registers);
                // The assembler takes one register for all of them there.
                let may_be_one = words.operation == Operation::StAsync;
                let alone = match words.operation {
                    Operation::StAsync => Classes::ALL,
                    Operation::Sust => Classes::of(&[Class::SpecialVector, Class::Integer]),
                    _ => Classes::of(&[Class::SpecialVector]),
                };
                Self {
                    alone,
                    within,
                    count: words.vector(),
                    is_least: false,
                    is_vector: !may_be_one,
                    numbers,
                    ty,
                    ..Self::ANYTHING
                }
            }
            Form::Elements(count) => Self {
                alone: Classes::NONE,
                within: Self::within(slot, of, registers),
                count: Some(u16::from(count)),
                is_vector: true,
                numbers,
                ty,
                ..Self::ANYTHING
            },
            Form::Fragment if slot.name == "im2colInfo" => Self {
                alone: Classes::NONE,
                within: registers.and(Self::NUMBERS),
                count: offsets(words),
                is_vector: true,
                numbers,
                ty,
                ..Self::ANYTHING
            },
            Form::Fragment => Self::ANYTHING,
            Form::Packed if words.vector().is_some() => {
                let within = Self::within(slot, of, registers);
                let alone = Classes::of(&[Class::SpecialVector]);
                Self { alone, within, count: words.vector(), is_vector: true, numbers, ty, ..Self::ANYTHING }
            }
            // What is packed is told by the sum of its widths.
            Form::Packed => Self { alone, numbers, ty, spaces, ..Self::ANYTHING },
            // One value, which may stand in braces by itself.
            Form::Vector
                if !matches!(words.operation, Operation::Sust | Operation::Suld | Operation::StAsync) =>
            {
                let count = Some(u16::from(words.takes_one_in_braces(of)));
                let within = if count == Some(1) { Self::within(slot, of, alone) } else { alone };
                Self { alone, within, count, numbers, ty, ..Self::ANYTHING }
            }
            Form::Vector => {
                Self { alone, within: Self::within(slot, of, alone), numbers, ty, ..Self::ANYTHING }
            }
            Form::Register | Form::Value | Form::Predicate => {
                Self { alone, within: alone, numbers, ty, spaces, ..Self::ANYTHING }
            }
            Form::Address | Form::List | Form::Name | Form::Sink => Self::ANYTHING,
        }
    }

    /// Numbers that may be written for a type.
    const fn literals(ty: Type) -> Classes {
        match ty {
            Type::F32 | Type::F64 => Classes::of(&[Class::Float, Class::Single]),
            Type::B32 => Classes::of(&[Class::Integer, Class::Single]),
            Type::B64 => Classes::of(&[Class::Integer, Class::Float]),
            // What is packed is in registers.
            _ if ty.is_float() || ty.is_packed() => Classes::NONE,
            _ => Classes::of(&[Class::Integer]),
        }
    }

    /// The elements of a vector: special registers pass there, and integers for floats.
    fn within(slot: &OperandSlot, ty: Type, registers: Classes) -> Classes {
        let bits = ty.bits().unwrap_or(32);
        let mut within = registers;
        if !slot.role.is_written() {
            within = within.and(Classes::specials(bits));
        }
        if slot.takes.wider && !slot.role.is_written() {
            let wider = [32, 64].into_iter().filter(|width| *width > bits);
            within = wider.fold(within, |set, bits| set.and(Classes::specials(bits)));
        }
        if matches!(ty, Type::F32 | Type::F64) {
            within = within.and(Classes::integers(bits));
        }
        if matches!(ty, Type::F16 | Type::Bf16) {
            within = within.and(Classes::integers(16)).and(Classes::of(&[Class::F16]));
        }
        // The assembler does not look at predicates among registers that are written.
        if slot.role.is_written() { within.and(PREDICATES) } else { within.and(Self::NUMBERS) }
    }

    fn address(slot: &OperandSlot, space: SpaceRule, words: &Words<'_>) -> Self {
        let spaces = Spaces::new(space, words);
        Self { spaces, ..Self::counted_from(slot, space, words) }
    }

    /// What an address is counted from, and what stands beside that.
    fn counted_from(slot: &OperandSlot, space: SpaceRule, words: &Words<'_>) -> Self {
        let is_map = slot.name == "tensorMap";
        match space {
            _ if slot.ty == TypeRule::Any => Self::ANYTHING,
            // Coordinates are of one type, but for the index into an array.
            SpaceRule::Opaque => Self {
                alone: Classes::integers(64).and(Classes::NAMES),
                within: Classes::any(32).and(Classes::specials(32)).and(Self::NUMBERS).and(PREDICATES),
                count: texels(words),
                is_least: true,
                ty: Some(Type::B64),
                ..Self::ANYTHING
            },
            SpaceRule::Fabric if is_map => Self::ANYTHING,
            SpaceRule::Fabric => Self {
                alone: Classes::integers(32),
                within: Classes::integers(64),
                ty: Some(Type::B32),
                ..Self::ANYTHING
            },
            // What replaces fields of the map stands beside the coordinates.
            _ if words.modifiers.iter().any(|it| matches!(it, Modifier::Override(_))) => Self::ANYTHING,
            SpaceRule::Nth(_) | SpaceRule::Fixed(_) if is_map => Self {
                alone: Classes::ALL.without(Classes::SPECIAL).without(Classes::LITERALS),
                within: Classes::integers(32).and(Classes::specials(32)).and(Self::NUMBERS),
                count: coordinates(words),
                ty: Some(Type::B32),
                ..Self::ANYTHING
            },
            // Only addresses of a thread's own memory are numbers.
            SpaceRule::Nth(_) if words.has(Modifier::Space(Space::Local)) => {
                Self { alone: Classes::ADDRESSES.and(Classes::of(&[Class::Integer])), ..Self::ANYTHING }
            }
            SpaceRule::Nth(_) | SpaceRule::Fixed(_) => {
                Self { alone: Self::bases(slot, space, words), ..Self::ANYTHING }
            }
        }
    }

    /// The registers that may hold an address. In shared memory, one of 32 bits is enough; a generic one, or one of
    /// global memory, has 64. The assembler looks at that where it makes the access itself.
    fn bases(slot: &OperandSlot, space: SpaceRule, words: &Words<'_>) -> Classes {
        let said = match space {
            SpaceRule::Nth(nth) => words.space(nth),
            SpaceRule::Fixed(space) => Some(space),
            SpaceRule::Opaque | SpaceRule::Fabric => None,
        };
        let is_wide =
            matches!(said, None | Some(Space::Global)) && words.operation != Operation::PrefetchTensormap;
        let narrow = Classes::integers(8).and(Classes::integers(16));
        let pointers = Classes::POINTERS.and(Classes::NAMES);
        match words.name {
            "multimem.red" => Classes::integers(64).and(Classes::NAMES).and(Classes::specials(64)),
            name if name.starts_with("mbarrier.") && is_wide => {
                Classes::ADDRESSES.without(Classes::integers(32)).without(Classes::SPECIAL)
            }
            name if name.starts_with("mbarrier.") => Classes::ADDRESSES.without(Classes::SPECIAL),
            "ld" | "ldu" | "st" | "atom" | "red" | "prefetch" | "prefetchu" | "discard" | "applypriority"
            | "multimem.ld_reduce" | "multimem.st"
                if is_wide =>
            {
                Classes::ADDRESSES.without(Classes::integers(32))
            }
            "cp.async.bulk" if slot.name == "mbar" => pointers.and(Classes::SPECIAL),
            "red.async" | "st.async" | "tensormap.replace" | "st.bulk" => Classes::ADDRESSES.without(narrow),
            "ldmatrix" | "stmatrix" if said.is_none() => Classes::ADDRESSES.without(narrow),
            name if name.starts_with("wmma.") => Classes::ADDRESSES.without(narrow),
            name if name.starts_with("cp.async.mbarrier.") && said.is_none() => {
                Classes::ADDRESSES.without(narrow)
            }
            "fabric.try_pullred" if slot.name == "bar" => Classes::ADDRESSES.without(Classes::SPECIAL),
            "fabric.try_atom" if slot.name == "bar" => {
                Classes::ADDRESSES.without(narrow).without(Classes::SPECIAL)
            }
            name if name.starts_with("fabric.") => Classes::ADDRESSES.without(narrow),
            _ => Classes::ADDRESSES,
        }
    }

    /// Whether a vector may have so many elements.
    pub fn may_have(&self, elements: u32) -> bool {
        self.count.is_none_or(|count| {
            let count = u32::from(count);
            if self.is_least { elements >= count && matches!(elements, 1 | 2 | 4) } else { elements == count }
        })
    }
}

/// How many registers coordinates in a texture or surface have at least; 3 are in a vector of 4.
fn texels(words: &Words<'_>) -> Option<u16> {
    words.pick(|modifier| match modifier {
        Modifier::Geometry(geometry) => Some(match geometry {
            Geometry::D1 => 1,
            Geometry::D2 | Geometry::A1d => 2,
            Geometry::D3
            | Geometry::A2d
            | Geometry::Cube
            | Geometry::Acube
            | Geometry::D2ms
            | Geometry::A2dms => 4,
            Geometry::D4 | Geometry::D5 => return None,
        }),
        _ => None,
    })
}

/// Whether the assembler looks at the size of registers only.
fn is_unchecked(ty: Type, words: &Words<'_>) -> bool {
    match words.operation {
        Operation::MultimemLdReduce | Operation::MultimemSt | Operation::MultimemRed => {
            matches!(ty, Type::E4m3x2 | Type::E5m2x2 | Type::E4m3x4 | Type::E5m2x4)
        }
        Operation::CvtPacked => {
            let is_scaled = |modifier: &Modifier| matches!(modifier, Modifier::Scaled(_));
            ty == Type::Bf16x2 && words.modifiers.iter().any(is_scaled)
        }
        _ => false,
    }
}

/// Whether wider registers are cut or extended: conversions from and to types without registers of their own are
/// exact.
fn is_converted(words: &Words<'_>) -> bool {
    let is_conversion = matches!(
        words.operation,
        Operation::Cvt | Operation::CvtPair | Operation::CvtPacked | Operation::CvtStochastic
    );
    let has_registers =
        |ty: Type| !ty.is_float() || matches!(ty, Type::F16 | Type::F16x2 | Type::F32 | Type::F64);
    !is_conversion || words.types().all(has_registers)
}

fn dimensions(words: &Words<'_>) -> Option<u16> {
    words.pick(|modifier| match modifier {
        Modifier::Geometry(geometry) => Some(match geometry {
            Geometry::D1 => 1,
            Geometry::D2 => 2,
            Geometry::D3 => 3,
            Geometry::D4 => 4,
            Geometry::D5 => 5,
            Geometry::A1d
            | Geometry::A2d
            | Geometry::Cube
            | Geometry::Acube
            | Geometry::D2ms
            | Geometry::A2dms => return None,
        }),
        _ => None,
    })
}

fn mode(words: &Words<'_>) -> Option<LoadMode> {
    words.pick(|modifier| match modifier {
        Modifier::LoadMode(mode) => Some(*mode),
        _ => None,
    })
}

/// How many coordinates a tensor is addressed by.
fn coordinates(words: &Words<'_>) -> Option<u16> {
    match mode(words) {
        // A column and four rows.
        Some(LoadMode::TileGather4 | LoadMode::TileScatter4) => Some(5),
        _ => dimensions(words),
    }
}

/// Which threads may hold the metadata of a sparse multiplication, where that depends on the shape.
fn selectors(slot: &OperandSlot, words: &Words<'_>) -> Option<Numbers> {
    let is_sparse = matches!(words.operation, Operation::MmaSp | Operation::WgmmaMmaAsyncSp);
    if !is_sparse || !matches!(slot.name, "f" | "sp-sel") {
        return None;
    }
    let (bits, k) = (words.ty(1)?.bits()?, words.shape()?.k);
    match (words.operation, bits) {
        (Operation::WgmmaMmaAsyncSp, 8) => Some(Numbers::From(0, 0)),
        (Operation::MmaSp, 4 | 8) => Some(Numbers::From(0, i64::from(u32::from(k) * bits < 512))),
        _ => None,
    }
}

/// How many offsets `im2colInfo` has.
fn offsets(words: &Words<'_>) -> Option<u16> {
    match mode(words)? {
        LoadMode::Im2col => dimensions(words)?.checked_sub(2),
        LoadMode::Im2colW | LoadMode::Im2colW128 => Some(2),
        LoadMode::Tile
        | LoadMode::TileGather4
        | LoadMode::TileScatter4
        | LoadMode::Im2colNoOffs
        | LoadMode::Im2colNoOffsW => None,
    }
}

/// The part of a matrix that a thread holds.
struct Fragment {
    registers: Classes,
    /// What may stand there instead of a vector.
    alone: Classes,
    count: Option<u16>,
    ty: Type,
}

/// 32 bits of any type; the assembler takes predicates for them as well.
const NARROW: Classes = Classes::any(32).and(Classes::of(&[Class::Pred]));
const BITS: Classes = Classes::of(&[Class::B32]);
const HALVES: Classes = Classes::agreeing(Type::F16x2);

impl Fragment {
    fn new(slot: &OperandSlot, words: &Words<'_>) -> Option<Self> {
        let count = |count: u32| u16::try_from(count).ok().filter(|count| *count > 0);
        let of = |registers, number: Option<u32>, ty| {
            Some(Self { registers, alone: Classes::NONE, count: number.and_then(count), ty })
        };
        match words.operation {
            Operation::Ldmatrix
            | Operation::LdmatrixUnpack
            | Operation::LdmatrixSigned
            | Operation::Stmatrix => {
                let is_large = words.has(Modifier::TileShape(TileShape::M16n16));
                of(NARROW, words.count().map(|count| if is_large { 2 * count } else { count }), Type::B32)
            }
            Operation::Spcompress | Operation::Spdecompress => {
                of(NARROW, Self::compressed(slot.name, words), Type::B32)
            }
            Operation::WmmaLoad | Operation::WmmaStore => {
                let ty = words.ty(0)?;
                let matrix = match words.name.rsplit('.').next() {
                    Some("a") => 'a',
                    Some("b") => 'b',
                    _ => 'd',
                };
                let registers = match ty {
                    Type::F16 => HALVES,
                    Type::Bf16 | Type::Tf32 => BITS,
                    Type::S4 | Type::U4 | Type::B1 => NARROW,
                    ty => Self::accumulator(ty),
                };
                of(registers, Self::of_wmma(matrix, ty, words), Self::word(ty))
            }
            Operation::WmmaMma => {
                let matrix = slot.name.chars().next()?;
                let is_short = words.types().count() == 2;
                let ty = match matrix {
                    'd' => words.ty(0)?,
                    'c' if is_short => words.ty(1)?,
                    'c' => words.ty(3)?,
                    _ if is_short => Type::F16,
                    _ => words.ty(1)?,
                };
                let registers = match (matrix, ty) {
                    ('a' | 'b', Type::F16 | Type::Bf16 | Type::Tf32) => HALVES,
                    ('a' | 'b', Type::F64) => Classes::any(64),
                    ('a' | 'b', _) => Classes::integers(32),
                    (_, ty) => Self::accumulator(ty),
                };
                of(registers, Self::of_wmma(matrix, ty, words), Self::word(ty))
            }
            Operation::Mma | Operation::MmaSp => Self::of_mma(slot.name, words),
            Operation::WgmmaMmaAsync | Operation::WgmmaMmaAsyncSp => {
                let shape = words.shape()?;
                if slot.name == "a" {
                    let is_float = words.ty(1)?.is_float();
                    let registers = if is_float { HALVES } else { NARROW };
                    // A descriptor.
                    let alone = Classes::integers(64).and(Classes::of(&[Class::Integer]));
                    return Some(Self { registers, alone, count: Some(4), ty: Type::B32 });
                }
                let ty = words.ty(0)?;
                let elements = u32::from(shape.n) / 2;
                let number = if ty == Type::F16 { elements / 2 } else { elements };
                of(Self::accumulator(ty), Some(number), Self::word(ty))
            }
            _ => None,
        }
    }

    /// Registers of sums.
    fn accumulator(ty: Type) -> Classes {
        match ty {
            Type::F64 => Classes::any(64),
            Type::F16 => HALVES,
            Type::F32 => Classes::agreeing(Type::F32),
            _ => Classes::integers(32),
        }
    }

    /// The type of a register that such elements are packed into.
    fn word(ty: Type) -> Type {
        match ty {
            Type::F64 | Type::F32 => ty,
            Type::F16 => Type::F16x2,
            Type::S32 => Type::B32,
            _ => Type::B32,
        }
    }

    fn of_wmma(matrix: char, ty: Type, words: &Words<'_>) -> Option<u32> {
        let Shape { m, n, k } = words.shape()?;
        let (m, n, k) = (u32::from(m), u32::from(n), u32::from(k));
        let bits = ty.bits()?;
        let elements = match matrix {
            // Each element is in two threads.
            'a' | 'b' if ty == Type::F16 => return Some(8),
            'a' => m * k,
            'b' => n * k,
            _ => m * n,
        };
        let width = if ty == Type::F64 { 64 } else { 32 };
        Some((elements * bits).div_ceil(32 * width))
    }

    fn of_mma(name: &str, words: &Words<'_>) -> Option<Self> {
        let shape = words.shape()?;
        let (m, n, k) = (u32::from(shape.m), u32::from(shape.n), u32::from(shape.k));
        let is_sparse = words.operation == Operation::MmaSp;
        let is_scaled = words.has(Modifier::Flag(Flag::BlockScale));
        let kind = words.pick(|modifier| match modifier {
            Modifier::MmaKind(kind) => Some(*kind),
            _ => None,
        });
        let (index, elements) = match name {
            "d" => (0, m * n),
            "a" if is_sparse => (1, m * k / 2),
            "a" => (1, m * k),
            "b" => (2, n * k),
            "c" => (3, m * n),
            _ => return None,
        };
        let ty = words.ty(index)?;
        let is_sum = matches!(name, "d" | "c");
        let width = if ty == Type::F64 { 64 } else { 32 };
        let bits = match kind {
            // Narrow formats lie in bytes where several kinds may be mixed.
            Some(MmaKind::F8f6f4 | MmaKind::Mxf8f6f4) if !is_sum => 8,
            _ => ty.bits()?,
        };
        // Each quarter of the warp multiplies matrices of its own there.
        let matrices = if (shape.m, shape.n, shape.k) == (8, 8, 4) && ty != Type::F64 { 4 } else { 1 };
        let number = (elements * bits * matrices).div_ceil(32 * width).max(1);
        let depth = matches!(words.ty(1)?, Type::Bf16 | Type::F16 | Type::Tf32);
        let registers = match (is_sum, ty) {
            (true, Type::F32) if is_sparse && depth => NARROW,
            (true, ty) => Self::accumulator(ty),
            (false, Type::F16) => HALVES,
            (false, Type::Bf16 | Type::Tf32) if !is_sparse => BITS,
            (false, Type::F64) => Classes::any(64),
            (false, _) if is_scaled => BITS,
            (false, _) => NARROW,
        };
        // The assembler takes a single register there.
        let alone = if name == "a" && is_sparse { Classes::ALL } else { Classes::NONE };
        Some(Self { registers, alone, count: u16::try_from(number).ok(), ty: Self::word(ty) })
    }

    fn compressed(name: &str, words: &Words<'_>) -> Option<u32> {
        let count = words.count()?;
        let bits = |index: usize| words.ty(index).and_then(Type::bits);
        let (kept, all) = words.pick(|modifier| match modifier {
            Modifier::SparsityFactor(factor) => Some(match factor {
                SparsityFactor::S1of2 => (1, 2),
                SparsityFactor::S1of4 => (1, 4),
                SparsityFactor::S1of8 => (1, 8),
                SparsityFactor::S1of16 => (1, 16),
                SparsityFactor::S2of4 => (2, 4),
                SparsityFactor::S2of8 => (2, 8),
                SparsityFactor::S2of16 => (2, 16),
                SparsityFactor::S4of8 => (4, 8),
                SparsityFactor::S4of16 => (4, 16),
            }),
            _ => None,
        })?;
        let (element, index) = (bits(0)?, bits(1)?);
        let compresses = words.operation == Operation::Spcompress;
        Some(match name {
            "mdata" if compresses => (count * index).div_ceil(element),
            "cdata" if compresses => count,
            "data" if compresses => 2 * count,
            "mdata" => (kept * index * count).div_ceil(32),
            "cdata" => (kept * element * count).div_ceil(32),
            _ => (all * element * count).div_ceil(32),
        })
    }
}

impl OperandSlot {
    /// Whether a predicate may follow behind a bar.
    pub fn has_pair(&self) -> bool {
        self.pair != Pair::None
    }
}
