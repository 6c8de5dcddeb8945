//! The special registers: what each holds, for whom it is the same, and for how long (PTX ISA, chapter 10).
//!
//! A row is a section of the chapter. Whoever wants to know something of a special register asks for
//! its facts, or matches on [`SpecialRegister`]; nobody looks at its name.

use strum::{EnumIter, EnumMessage, FromRepr, IntoEnumIterator};

use super::generic::{Class, Type};
use super::hierarchy::{CTAS_OF_CLUSTER, MOST_CTAS, MOST_THREADS, THREADS_OF_WARP};
use super::targets::PtxVersion;

/// The threads that read the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Extent {
    /// Each thread reads its own.
    Thread,
    /// The threads of a warp that read it together.
    Warp,
    /// The threads of a CTA.
    Cta,
    /// The threads of a cluster.
    Cluster,
    /// All threads.
    Grid,
}

/// For how long a thread reads the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// As long as it runs.
    Always,
    /// As long as it runs where it does: it may be moved.
    UntilMoved,
    /// It counts on.
    Never,
}

/// How the registers of a section are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// By the name.
    Scalar,
    /// By the name, or with one of the components `.x`, `.y`, `.z` and `.w`, of which the last is always 0.
    Vector,
    /// With a number behind the name, so many of them, and more behind the number.
    Numbered(u8, &'static str),
}

/// Numbers from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Values {
    /// The least.
    pub first: u64,
    /// The largest.
    pub last: u64,
}

/// What is known of a special register.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Facts {
    /// Which it is.
    pub register: SpecialRegister,
    /// Its name, or what it starts with.
    pub name: &'static str,
    /// How it is written.
    pub form: Form,
    /// The type of its elements.
    pub ty: Type,
    /// What each component can be; only a vector has more than the first.
    pub values: [Values; 3],
    /// Which threads read the same.
    pub same_in: Extent,
    /// For how long.
    pub lasting: Lasting,
    /// The PTX version that has it as it is here.
    pub since: PtxVersion,
    /// The first target.
    pub target: Option<u16>,
    /// What it holds in a cluster of one CTA, if that follows.
    pub in_cluster_of_one: Option<u64>,
}

/// Numbers below others.
const fn below(ends: [u32; 3]) -> [Values; 3] {
    let [x, y, z] = ends;
    [under(x)[0], under(y)[0], under(z)[0]]
}

/// Numbers from 1 to others.
const fn counts(last: [u32; 3]) -> [Values; 3] {
    const fn count(last: u32) -> Values {
        Values { first: 1, last: last as u64 }
    }
    let [x, y, z] = last;
    [count(x), count(y), count(z)]
}

/// Numbers below one.
const fn under(end: u32) -> [Values; 3] {
    [Values { first: 0, last: end as u64 - 1 }; 3]
}

const ANY: [Values; 3] = [Values { first: 0, last: u32::MAX as u64 }; 3];
const WIDE: [Values; 3] = [Values { first: 0, last: u64::MAX }; 3];
const FLAG: [Values; 3] = under(2);
const WARP: [Values; 3] = [Values { first: THREADS_OF_WARP as u64, last: THREADS_OF_WARP as u64 }; 3];
const CLUSTER: [u32; 3] = [CTAS_OF_CLUSTER; 3];

macro_rules! special_registers {
    ($(
        $(#[doc = $doc:literal])+
        $register:ident $name:literal $form:expr, $ty:ident $values:expr, $same:ident $lasting:ident,
        ($major:literal, $minor:literal) $target:expr $(, alone $alone:literal)?;
    )+) => {
        /// A special register, or several that differ in a number.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, EnumIter, EnumMessage, FromRepr)]
        #[repr(u8)]
        pub enum SpecialRegister {
            $( $(#[doc = $doc])+ $register, )+
        }

        /// By register.
        static TABLE: &[Facts] = &[$(
            Facts {
                register: SpecialRegister::$register,
                name: $name,
                form: $form,
                ty: Type::$ty,
                values: $values,
                same_in: Extent::$same,
                lasting: Lasting::$lasting,
                since: PtxVersion::new($major, $minor),
                target: $target,
                in_cluster_of_one: {
                    #[allow(unused_mut, unused_assignments, reason = "most rows do not say")]
                    let mut alone = None;
                    $( alone = Some($alone); )?
                    alone
                },
            },
        )+];
    };
}

use Form::{Numbered, Scalar, Vector};

special_registers! {
    /// The number of the thread in its CTA, in each direction.
    Tid             "%tid"                  Vector, U32 below(MOST_THREADS),   Thread  Always,     (2, 0) None;
    /// How many threads a CTA has in each direction.
    Ntid            "%ntid"                 Vector, U32 counts(MOST_THREADS),  Grid    Always,     (2, 0) None;
    /// The number of the thread in its warp.
    Laneid          "%laneid"               Scalar, U32 under(THREADS_OF_WARP), Thread Always,     (1, 3) None;
    /// Where the warp is among those of its CTA at this moment; `%tid` says which warp it is.
    Warpid          "%warpid"               Scalar, U32 ANY,                   Warp    UntilMoved, (1, 3) None;
    /// How many numbers of warps there are.
    Nwarpid         "%nwarpid"              Scalar, U32 ANY,                   Grid    Always,     (2, 0) Some(20);
    /// The number of the CTA in the grid, in each direction.
    Ctaid           "%ctaid"                Vector, U32 below(MOST_CTAS),      Cta     Always,     (2, 0) None;
    /// How many CTAs the grid has in each direction.
    Nctaid          "%nctaid"               Vector, U32 counts(MOST_CTAS),     Grid    Always,     (2, 0) None;
    /// On which SM the thread runs at this moment.
    Smid            "%smid"                 Scalar, U32 ANY,                   Cta     UntilMoved, (1, 3) None;
    /// How many numbers of SMs there are, which may be more than there are SMs.
    Nsmid           "%nsmid"                Scalar, U32 ANY,                   Grid    Always,     (2, 0) Some(20);
    /// The number of the launch.
    Gridid          "%gridid"               Scalar, U64 WIDE,                  Grid    Always,     (3, 0) None;
    /// Whether the launch says that there are clusters.
    IsExplicitCluster "%is_explicit_cluster" Scalar, Pred FLAG,                Grid    Always,     (7, 8) Some(90);
    /// The number of the cluster in the grid, in each direction.
    Clusterid       "%clusterid"            Vector, U32 below(MOST_CTAS),      Cluster Always,     (7, 8) Some(90);
    /// How many clusters the grid has in each direction.
    Nclusterid      "%nclusterid"           Vector, U32 counts(MOST_CTAS),     Grid    Always,     (7, 8) Some(90);
    /// The number of the CTA in its cluster, in each direction.
    ClusterCtaid    "%cluster_ctaid"        Vector, U32 below(CLUSTER),        Cta     Always,     (7, 8) Some(90), alone 0;
    /// How many CTAs the cluster has in each direction.
    ClusterNctaid   "%cluster_nctaid"       Vector, U32 counts(CLUSTER),       Cluster Always,     (7, 8) Some(90), alone 1;
    /// The number of the CTA in its cluster, over all directions.
    ClusterCtarank  "%cluster_ctarank"      Scalar, U32 below(CLUSTER),        Cta     Always,     (7, 8) Some(90), alone 0;
    /// How many CTAs the cluster has.
    ClusterNctarank "%cluster_nctarank"     Scalar, U32 counts(CLUSTER),       Cluster Always,     (7, 8) Some(90), alone 1;
    /// The bit of the thread's lane.
    LanemaskEq      "%lanemask_eq"          Scalar, U32 ANY,                   Thread  Always,     (2, 0) Some(20);
    /// The bits of the thread's lane and of those before it.
    LanemaskLe      "%lanemask_le"          Scalar, U32 ANY,                   Thread  Always,     (2, 0) Some(20);
    /// The bits of the lanes before the thread's.
    LanemaskLt      "%lanemask_lt"          Scalar, U32 ANY,                   Thread  Always,     (2, 0) Some(20);
    /// The bits of the thread's lane and of those behind it.
    LanemaskGe      "%lanemask_ge"          Scalar, U32 ANY,                   Thread  Always,     (2, 0) Some(20);
    /// The bits of the lanes behind the thread's.
    LanemaskGt      "%lanemask_gt"          Scalar, U32 ANY,                   Thread  Always,     (2, 0) Some(20);
    /// A counter of cycles: the low half of `%clock64`.
    Clock           "%clock"                Scalar, U32 ANY,                   Warp    Never,      (1, 0) None;
    /// The high half of `%clock64`.
    ClockHi         "%clock_hi"             Scalar, U32 ANY,                   Warp    Never,      (5, 0) Some(20);
    /// A counter of cycles.
    Clock64         "%clock64"              Scalar, U64 WIDE,                  Warp    Never,      (2, 0) Some(20);
    /// A counter of events of the machine.
    Pm              "%pm"     Numbered(8, ""),      U32 ANY,                   Warp    Never,      (3, 0) Some(20);
    /// A counter of events of the machine, in 64 bits.
    Pm64            "%pm"     Numbered(8, "_64"),   U64 WIDE,                  Warp    Never,      (4, 0) Some(50);
    /// What the driver says before a launch; its documentation tells what.
    Envreg          "%envreg" Numbered(32, ""),     B32 ANY,                   Cta     Always,     (2, 1) None;
    /// A clock that counts nanoseconds.
    Globaltimer     "%globaltimer"          Scalar, U64 WIDE,                  Warp    Never,      (3, 1) Some(30);
    /// The low half of `%globaltimer`.
    GlobaltimerLo   "%globaltimer_lo"       Scalar, U32 ANY,                   Warp    Never,      (3, 1) Some(30);
    /// The high half of `%globaltimer`.
    GlobaltimerHi   "%globaltimer_hi"       Scalar, U32 ANY,                   Warp    Never,      (3, 1) Some(30);
    /// Where the shared memory starts that is reserved for the system.
    ReservedSmemOffsetBegin "%reserved_smem_offset_begin" Scalar, B32 ANY,     Grid    Always,     (7, 6) Some(80);
    /// Where the shared memory ends that is reserved for the system.
    ReservedSmemOffsetEnd "%reserved_smem_offset_end" Scalar, B32 ANY,         Grid    Always,     (7, 6) Some(80);
    /// How much shared memory is reserved for the system.
    ReservedSmemOffsetCap "%reserved_smem_offset_cap" Scalar, B32 ANY,         Grid    Always,     (7, 6) Some(80);
    /// A place in the shared memory that is reserved for the system.
    ReservedSmemOffset "%reserved_smem_offset_" Numbered(2, ""), B32 ANY,      Grid    Always,     (7, 6) Some(80);
    /// How many bytes of shared memory a CTA has, without those reserved for the system.
    TotalSmemSize   "%total_smem_size"      Scalar, U32 ANY,                   Grid    Always,     (4, 1) Some(20);
    /// How many bytes of shared memory a CTA has, with those reserved for the system.
    AggrSmemSize    "%aggr_smem_size"       Scalar, U32 ANY,                   Grid    Always,     (8, 1) Some(90);
    /// How many bytes of shared memory the launch adds to those that the kernel declares.
    DynamicSmemSize "%dynamic_smem_size"    Scalar, U32 ANY,                   Grid    Always,     (4, 1) Some(20);
    /// The CUDA graph that is being executed, or 0.
    CurrentGraphExec "%current_graph_exec"  Scalar, U64 WIDE,                  Grid    Always,     (8, 0) Some(50);
    /// Which of the localities of the GPU the SM is in that the CTA runs on.
    LocalityDomainId "%locality_domain_id"  Scalar, U32 ANY,                   Cta     UntilMoved, (9, 5) Some(100);
    /// Whether that SM is one that its locality has besides the others.
    LocalityDomainSupplementalSm "%locality_domain_supplemental_sm" Scalar, U32 ANY, Cta UntilMoved, (9, 5) Some(100);
    /// The number of threads in a warp.
    WarpSz          "WARP_SZ"               Scalar, U32 WARP,                  Grid    Always,     (1, 0) None;
}

impl SpecialRegister {
    /// Its row of the table.
    pub fn facts(self) -> &'static Facts {
        &TABLE[self as usize]
    }

    /// What it holds, in a sentence.
    pub fn explanation(self) -> &'static str {
        self.get_documentation().unwrap_or_default()
    }

    /// Whether it says which of the CTAs of a cluster runs.
    pub fn is_rank(self) -> bool {
        self.facts().in_cluster_of_one == Some(0)
    }
}

/// Which part of a special register a name reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// All of it.
    Whole,
    /// A component of a vector: 0 for `.x`, and so on to 3.
    Component(u8),
    /// One of several registers, by its number.
    Nth(u8),
    /// A component that it does not have.
    None,
}

/// What the name of a special register reads: `%tid.x`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Special {
    /// The register.
    pub register: SpecialRegister,
    /// What of it.
    pub part: Part,
}

impl Special {
    /// A register, or a vector of them.
    pub const fn whole(register: SpecialRegister) -> Self {
        Self { register, part: Part::Whole }
    }

    /// The component `.x`.
    pub const fn x(register: SpecialRegister) -> Self {
        Self { register, part: Part::Component(0) }
    }

    /// What `name` reads, if it is one of a special register.
    pub fn read(name: &str) -> Option<Self> {
        let (base, component) = match name.split_once('.') {
            Some((base, component)) => (base, Some(component)),
            None => (name, None),
        };
        if !base.starts_with('%') && base != SpecialRegister::WarpSz.facts().name {
            return None;
        }
        let (facts, number) = TABLE.iter().find_map(|facts| facts.named(base))?;
        let part = match (component, number) {
            (None, None) => Part::Whole,
            (None, Some(number)) => Part::Nth(number),
            (Some(component), _) => {
                let place = ["x", "y", "z", "w"].iter().position(|it| *it == component);
                let place = place.filter(|_| facts.form == Form::Vector);
                place.map_or(Part::None, |place| Part::Component(place as u8))
            }
        };
        Some(Self { register: facts.register, part })
    }

    /// Every name that reads a number, in the order of the ISA.
    pub fn all() -> impl Iterator<Item = (String, Self)> {
        SpecialRegister::iter().flat_map(|register| {
            let Facts { name, form, .. } = *register.facts();
            let parts: Vec<(String, Part)> = match form {
                Form::Scalar => vec![(name.to_owned(), Part::Whole)],
                Form::Vector => {
                    let components = (0..).zip(["x", "y", "z"]);
                    components.map(|(at, it)| (format!("{name}.{it}"), Part::Component(at))).collect()
                }
                Form::Numbered(count, tail) => {
                    (0..count).map(|number| (format!("{name}{number}{tail}"), Part::Nth(number))).collect()
                }
            };
            parts.into_iter().map(move |(name, part)| (name, Self { register, part }))
        })
    }

    /// What is known of the register.
    pub fn facts(self) -> &'static Facts {
        self.register.facts()
    }

    /// What it is where an operand stands.
    pub fn class(self) -> Class {
        let Facts { ty, form, .. } = *self.facts();
        match self.part {
            // A number with a name.
            _ if self.register == SpecialRegister::WarpSz => Class::Integer,
            Part::Whole if form == Form::Vector => Class::SpecialVector,
            Part::None => Class::NoComponent,
            // It had 16 bits once, then 32, and the assembler still takes all three.
            Part::Whole if self.register == SpecialRegister::Gridid => Class::SpecialAny,
            Part::Component(_) => Class::Component,
            Part::Whole | Part::Nth(_) => Class::special(ty),
        }
    }

    /// What it can be, as a number without a sign. Nothing is known of what is no number.
    pub fn values(self) -> Option<Values> {
        let Facts { values, form, .. } = self.facts();
        match self.part {
            Part::Whole if *form == Form::Vector => None,
            Part::Whole | Part::Nth(_) => Some(values[0]),
            Part::Component(3) => Some(Values { first: 0, last: 0 }),
            Part::Component(component) => values.get(usize::from(component)).copied(),
            Part::None => None,
        }
    }

    /// Its number, for [`of_bits`](Self::of_bits): less than 2^16.
    pub const fn to_bits(self) -> u32 {
        let part = match self.part {
            Part::Whole => 0,
            Part::None => 1,
            Part::Component(component) => 2 + component as u32,
            Part::Nth(number) => 6 + number as u32,
        };
        part << 8 | self.register as u32
    }

    /// That with a number.
    pub fn of_bits(bits: u32) -> Option<Self> {
        let register = SpecialRegister::from_repr(bits as u8)?;
        let part = match (bits >> 8) as u8 {
            0 => Part::Whole,
            1 => Part::None,
            component @ 2..=5 => Part::Component(component - 2),
            number => Part::Nth(number - 6),
        };
        Some(Self { register, part })
    }
}

impl Facts {
    /// Whether a name without a component is one of this row, and its number, if it has one.
    fn named(&'static self, name: &str) -> Option<(&'static Self, Option<u8>)> {
        match self.form {
            Form::Scalar | Form::Vector => (self.name == name).then_some((self, None)),
            Form::Numbered(count, tail) => {
                let digits = name.strip_prefix(self.name)?.strip_suffix(tail)?;
                let is_plain = digits.bytes().all(|it| it.is_ascii_digit())
                    && (digits.len() == 1 || !digits.starts_with('0'));
                let number: u8 = digits.parse().ok().filter(|_| is_plain)?;
                (number < count).then_some((self, Some(number)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_and_packed() {
        assert!(TABLE.iter().map(|facts| facts.register).eq(SpecialRegister::iter()));
        for (name, special) in Special::all() {
            assert_eq!(Special::read(&name), Some(special), "{name}");
            assert_eq!(Special::of_bits(special.to_bits()), Some(special), "{name}");
            let values = special.values().unwrap();
            let bits = special.facts().ty.bits().unwrap_or(1);
            assert!(values.first <= values.last && (bits == 64 || values.last < 1 << bits), "{name}");
        }
        for facts in TABLE {
            assert!(!facts.register.explanation().is_empty());
        }
    }

    #[test]
    fn what_is_near_a_name() {
        let of = |name| Special::read(name).map(|it| (it.register, it.part));
        assert_eq!(of("%tid"), Some((SpecialRegister::Tid, Part::Whole)));
        assert_eq!(of("%tid.w"), Some((SpecialRegister::Tid, Part::Component(3))));
        assert_eq!(of("%tid.q"), Some((SpecialRegister::Tid, Part::None)));
        assert_eq!(of("%laneid.x"), Some((SpecialRegister::Laneid, Part::None)));
        assert_eq!(of("%pm7_64"), Some((SpecialRegister::Pm64, Part::Nth(7))));
        for none in ["", "tid", "%", "%r1", "%tidy", "%pm8", "%pm", "%pm+1", "%pm01", "%envreg32", "WARP"] {
            assert_eq!(of(none), None, "{none}");
        }
        for special in [
            Special::whole(SpecialRegister::Tid),
            Special { part: Part::None, ..Special::x(SpecialRegister::Tid) },
        ] {
            assert_eq!(special.values(), None);
            assert_eq!(Special::of_bits(special.to_bits()), Some(special));
        }
    }
}
