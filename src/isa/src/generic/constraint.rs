//! Which words of an opcode go together, and which versions and targets have them.
//!
//! A row of the table says which words an instruction takes at all. Its constraints say the rest: `.ftz` excludes
//! `.f64`, `.sat` needs `.s32`, `.v8` came with PTX 8.8 and needs `sm_100`. Each is an implication over the words of one
//! opcode, as in the notes of the ISA's sections. `cargo xtask generic` holds them against the assembler.

use super::words::Modifier;
use crate::targets::{PtxVersion, Target};

/// An implication: where each term of `when` stands in an opcode, `then` holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// The words that it is about. Without any it is about the whole row.
    pub when: &'static [Term],
    /// What they ask for.
    pub then: Demand,
}

/// Words of which one stands in an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Counts words of the same kind from 0: the second type of a conversion. `None` for any of them.
    pub nth: Option<u8>,
    /// The words.
    pub words: &'static [Modifier],
    /// Whether none of them stands there, instead.
    pub absent: bool,
}

/// What a constraint asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// One of these words.
    Needs(Term),
    /// None of these words.
    Excludes(Term),
    /// All terms of one of these lists.
    OneOf(&'static [&'static [Term]]),
    /// This version of PTX or a later one.
    Since(PtxVersion),
    /// One of these targets.
    On(Targets),
    /// Targets before one, from a version on: what was removed, `sm_70` from PTX 6.4 on.
    Gone(PtxVersion, u16),
    /// That one of these words, if there is one, stands in front of all others: it belongs to the name.
    Leads(Term),
}

/// A set of targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// `sm_90` and all that came later, with any letter.
    From(u16),
    /// These alone: what is not carried on.
    These(&'static [Target]),
}

impl Targets {
    /// Whether `target` is one of them.
    pub fn contains(self, target: Target) -> bool {
        match self {
            Self::From(sm) => target.sm >= sm,
            Self::These(targets) => targets.contains(&target),
        }
    }
}

impl Term {
    /// The first word of an opcode that is one of these.
    pub fn find(&self, modifiers: &[Modifier]) -> Option<usize> {
        let kind = |modifier: &Modifier| std::mem::discriminant(modifier);
        modifiers.iter().enumerate().position(|(at, modifier)| {
            let is_nth = |nth: u8| {
                modifiers[..at].iter().filter(|it| kind(it) == kind(modifier)).count() == usize::from(nth)
            };
            self.words.contains(modifier) && self.nth.is_none_or(is_nth)
        })
    }

    /// A word of an opcode that stands where one of these would: of the same kind, at the same place.
    pub fn rival(&self, modifiers: &[Modifier]) -> Option<usize> {
        let kind = |modifier: &Modifier| std::mem::discriminant(modifier);
        let wanted = kind(self.words.first()?);
        let mut all = modifiers.iter().enumerate().filter(|(_, modifier)| kind(modifier) == wanted);
        // Flags are words that have nothing to do with each other.
        let is_flag = matches!(self.words.first(), Some(Modifier::Flag(_)));
        if is_flag { None } else { all.nth(usize::from(self.nth.unwrap_or(0))).map(|(at, _)| at) }
    }

    /// Whether an opcode with these words satisfies it.
    pub fn holds(&self, modifiers: &[Modifier]) -> bool {
        self.find(modifiers).is_some() != self.absent
    }
}

impl Constraint {
    /// Whether it is about an opcode with these words.
    pub fn concerns(&self, modifiers: &[Modifier]) -> bool {
        self.when.iter().all(|term| term.holds(modifiers))
    }

    /// Whether it says which versions or targets have something.
    pub fn is_gate(&self) -> bool {
        match self.then {
            Demand::Since(_) | Demand::On(_) => true,
            Demand::Gone(..) => true,
            Demand::Needs(_) | Demand::Excludes(_) | Demand::OneOf(_) | Demand::Leads(_) => false,
        }
    }

    /// Whether it says nothing against a version.
    pub fn is_since(&self, version: PtxVersion) -> bool {
        !matches!(self.then, Demand::Since(since) if version < since)
    }

    /// Whether it says nothing against a target, in a module of a version.
    pub fn is_on(&self, version: PtxVersion, target: Target) -> bool {
        match self.then {
            Demand::On(targets) => targets.contains(target),
            Demand::Gone(since, sm) => version < since || target.sm < sm,
            Demand::Since(_)
            | Demand::Needs(_)
            | Demand::Excludes(_)
            | Demand::OneOf(_)
            | Demand::Leads(_) => true,
        }
    }

    /// Whether words stand together in an opcode that do not go together, or one is missing that others need. Versions
    /// and targets are another question.
    pub fn is_violated(&self, modifiers: &[Modifier]) -> bool {
        let is_met = match self.then {
            Demand::Needs(term) => term.holds(modifiers),
            Demand::Excludes(term) => !term.holds(modifiers),
            Demand::OneOf(lists) => lists.iter().any(|list| list.iter().all(|term| term.holds(modifiers))),
            Demand::Leads(term) => term.find(modifiers).is_none_or(|at| at == 0),
            Demand::Since(_) | Demand::On(_) | Demand::Gone(..) => return false,
        };
        !is_met && self.concerns(modifiers)
    }
}

/// `sm_90a` alone.
pub(super) const HOPPER: &[Target] = &[Target::a(90)];
/// Datacenter and consumer Blackwell and what came after, with a letter.
pub(super) const BLACKWELL: &[Target] = &[
    Target::a(100),
    Target::f(100),
    Target::a(101),
    Target::f(101),
    Target::a(103),
    Target::f(103),
    Target::a(107),
    Target::f(107),
    Target::a(110),
    Target::f(110),
    Target::a(120),
    Target::f(120),
    Target::a(121),
    Target::f(121),
];
/// The same, and `sm_90a`.
pub(super) const HOPPER_AND_BLACKWELL: &[Target] = &[
    Target::a(90),
    Target::a(100),
    Target::f(100),
    Target::a(101),
    Target::f(101),
    Target::a(103),
    Target::f(103),
    Target::a(107),
    Target::f(107),
    Target::a(110),
    Target::f(110),
    Target::a(120),
    Target::f(120),
    Target::a(121),
    Target::f(121),
];
/// Blackwell, but `sm_120f` and `sm_121f`.
pub(super) const BLACKWELL_BUT_CONSUMER_FAMILIES: &[Target] = &[
    Target::a(100),
    Target::f(100),
    Target::a(101),
    Target::f(101),
    Target::a(103),
    Target::f(103),
    Target::a(107),
    Target::f(107),
    Target::a(110),
    Target::f(110),
    Target::a(120),
    Target::a(121),
];
/// Blackwell's targets for one architecture.
pub(super) const ARCHITECTURES: &[Target] = &[
    Target::a(100),
    Target::a(101),
    Target::a(103),
    Target::a(107),
    Target::a(110),
    Target::a(120),
    Target::a(121),
];
/// The datacenter parts.
pub(super) const SERVERS: &[Target] =
    &[Target::a(100), Target::f(100), Target::a(103), Target::f(103), Target::a(107), Target::f(107)];
/// What comes after Blackwell.
pub(super) const RUBIN: &[Target] = &[Target::a(107), Target::f(107)];
/// The same, and consumer Blackwell.
pub(super) const RUBIN_AND_CONSUMER: &[Target] =
    &[Target::a(107), Target::f(107), Target::a(120), Target::f(120), Target::a(121), Target::f(121)];
/// Consumer Blackwell.
pub(super) const CONSUMER: &[Target] = &[Target::a(120), Target::f(120), Target::a(121), Target::f(121)];
/// The same without its families.
pub(super) const CONSUMER_ARCHITECTURES: &[Target] = &[Target::a(120), Target::a(121)];
pub(super) const A_107: &[Target] = &[Target::a(107)];
pub(super) const A_100_103: &[Target] = &[Target::a(100), Target::a(103)];
pub(super) const A_100_103_107: &[Target] = &[Target::a(100), Target::a(103), Target::a(107)];

/// Words of one or several kinds: `Type: F32 F64`, `Type[1]: F32` for the second type, `Flag: Ftz | Rounding: Rn`,
/// `no Flag: Ftz` where there is none; a name for a list.
macro_rules! term {
    (Shape : $([$m:literal $n:literal $k:literal])+) => {
        Term { nth: None, words: &[$(Modifier::Shape(Shape { m: $m, n: $n, k: $k })),+], absent: false }
    };
    (no $($rest:tt)+) => { Term { absent: true, ..term!($($rest)+) } };
    ($kind:ident [$nth:literal] : $($word:ident)+) => {
        Term { nth: Some($nth), words: &[$(Modifier::$kind($kind::$word)),+], absent: false }
    };
    ($($kind:ident : $($word:ident)+)|+) => {
        Term { nth: None, words: &[$($(Modifier::$kind($kind::$word)),+),+], absent: false }
    };
    ($list:ident) => { Term { nth: None, words: $list, absent: false } };
}

/// What constraints ask for.
macro_rules! demand {
    (needs $($term:tt)+) => { Demand::Needs(term!($($term)+)) };
    (excludes $($term:tt)+) => { Demand::Excludes(term!($($term)+)) };
    (one_of $([$(($($term:tt)+))+])+) => { Demand::OneOf(&[$(&[$(term!($($term)+)),+]),+]) };
    (leads $($term:tt)+) => { Demand::Leads(term!($($term)+)) };
    (gone $major:literal, $minor:literal, $sm:literal) => {
        Demand::Gone(PtxVersion::new($major, $minor), $sm)
    };
    (since $major:literal, $minor:literal) => { Demand::Since(PtxVersion::new($major, $minor)) };
    (from $sm:literal) => { Demand::On(Targets::From($sm)) };
    (on $targets:ident) => { Demand::On(Targets::These($targets)) };
}

/// The constraints of a row: `(Type: F64) excludes(Flag: Ftz);`, `(Vector: V8) since(8, 8);`, `from(90);`.
macro_rules! constraints {
    ($($(($($when:tt)+))* $verb:ident ($($argument:tt)+);)+) => {
        &[$(Constraint { when: &[$(term!($($when)+)),*], then: demand!($verb $($argument)+) }),+]
    };
}

pub(super) use {constraints, demand, term};
