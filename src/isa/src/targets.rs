//! What exists where and since when.
//!
//! Availability is one question, asked in one place: does [`Target`] `t` have this under PTX
//! version `v`? It does when `t` is among the gate's targets and `v` reaches both the gate's and
//! the target's own version. Whether a form is *right* is not asked here.
//! Measured with the assemblers of CUDA 12.8 to 13.5; the differential run asks them again.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::vocabulary::{
    CollectorB, Decompress, Exclusive, Kind, Multicast, Operation, Qualifier, ScaleVectorSize, Sparse,
    SyncRestrict,
};

/// A version of the PTX ISA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PtxVersion {
    /// Before the point.
    pub major: u8,
    /// Behind it.
    pub minor: u8,
}

impl PtxVersion {
    /// `major.minor`
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }

    /// The version that a toolkit writes by default when it knows all of tcgen05.
    pub const LATEST: Self = Self::new(9, 5);

    /// Reads a version that was released. What somebody demands has to exist, or a slip would let everything pass.
    ///
    /// # Errors
    /// When it is none.
    pub fn released(text: &str) -> Result<Self, String> {
        let version: Self = text.parse()?;
        let unknown = || format!("there is no version {text} of the PTX ISA; the latest is {}", Self::LATEST);
        if version.exists() { Ok(version) } else { Err(unknown()) }
    }

    /// Whether NVIDIA released it. There is no 8.9.
    pub fn exists(self) -> bool {
        VERSIONS.contains(&self)
    }
}

/// Every released version since 6.0; older ones only know hardware without tensor cores.
pub const VERSIONS: &[PtxVersion] = &{
    const fn v(major: u8, minor: u8) -> PtxVersion {
        PtxVersion::new(major, minor)
    }
    [
        v(1, 0),
        v(1, 1),
        v(1, 2),
        v(1, 3),
        v(1, 4),
        v(1, 5),
        v(2, 0),
        v(2, 1),
        v(2, 2),
        v(2, 3),
        v(3, 0),
        v(3, 1),
        v(3, 2),
        v(4, 0),
        v(4, 1),
        v(4, 2),
        v(4, 3),
        v(5, 0),
        v(5, 1),
        v(6, 0),
        v(6, 1),
        v(6, 2),
        v(6, 3),
        v(6, 4),
        v(6, 5),
        v(7, 0),
        v(7, 1),
        v(7, 2),
        v(7, 3),
        v(7, 4),
        v(7, 5),
        v(7, 6),
        v(7, 7),
        v(7, 8),
        v(8, 0),
        v(8, 1),
        v(8, 2),
        v(8, 3),
        v(8, 4),
        v(8, 5),
        v(8, 6),
        v(8, 7),
        v(8, 8),
        v(9, 0),
        v(9, 1),
        v(9, 2),
        v(9, 3),
        v(9, 4),
        v(9, 5),
    ]
};

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for PtxVersion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text
            .split_once('.')
            .and_then(|(major, minor)| Some(Self::new(major.parse().ok()?, minor.parse().ok()?)));
        parsed.ok_or_else(|| format!("`{text}` is not a PTX version; write it like `{}`", Self::LATEST))
    }
}

impl Serialize for PtxVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Which other targets can run the code of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Portability {
    /// `sm_100`: all later ones.
    Forward,
    /// `sm_100f`: later ones of the same family.
    Family,
    /// `sm_100a`: no other.
    Architecture,
}

/// A `.target`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The number in its name.
    pub sm: u16,
    /// The letter behind it.
    pub portability: Portability,
}

impl Target {
    /// `sm_{sm}a`
    pub const fn a(sm: u16) -> Self {
        Self { sm, portability: Portability::Architecture }
    }

    /// `sm_{sm}f`
    pub const fn f(sm: u16) -> Self {
        Self { sm, portability: Portability::Family }
    }

    /// `sm_{sm}`
    pub const fn plain(sm: u16) -> Self {
        Self { sm, portability: Portability::Forward }
    }

    /// Reads a target that exists. What somebody demands has to, or a slip would let everything pass.
    ///
    /// # Errors
    /// When it is none.
    pub fn known(text: &str) -> Result<Self, String> {
        let target: Self = text.parse()?;
        let unknown = || format!("there is no target `{text}`; `https://ptx-tc.github.io/targets/` has them");
        target.since().map(|_| target).ok_or_else(unknown)
    }

    /// The version that introduced it; `None` if there is no such target.
    pub fn since(self) -> Option<PtxVersion> {
        TARGETS.iter().find(|(target, _)| *target == self).map(|&(_, since)| since)
    }

    /// The name that `sm_101*` has since PTX ISA 9.0.
    pub fn renamed(self) -> Option<(Self, PtxVersion)> {
        (self.sm == 101).then_some((Self { sm: 110, ..self }, PtxVersion::new(9, 0)))
    }

    /// Whether the hardware has Tensor Memory, whatever the letter.
    pub fn has_tensor_memory(self) -> bool {
        TENSOR_TARGETS.iter().any(|target| target.sm == self.sm)
    }

    /// Which arguments make the assembler compile for it: `sm_101*` goes by its new name.
    pub fn assembler_name(self) -> String {
        self.renamed().map_or(self, |(target, _)| target).to_string()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = match self.portability {
            Portability::Forward => "",
            Portability::Family => "f",
            Portability::Architecture => "a",
        };
        write!(f, "sm_{}{letter}", self.sm)
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let name = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_"))?;
            let (number, portability) = match name.as_bytes().last()? {
                b'a' => (&name[..name.len() - 1], Portability::Architecture),
                b'f' => (&name[..name.len() - 1], Portability::Family),
                _ => (name, Portability::Forward),
            };
            Some(Self { sm: number.parse().ok()?, portability })
        };
        parse().ok_or_else(|| format!("`{text}` is not a target; write it like `sm_100a`"))
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Every target with the version that introduced it.
pub const TARGETS: &[(Target, PtxVersion)] = &{
    const fn t(sm: u16, major: u8, minor: u8) -> (Target, PtxVersion) {
        (Target::plain(sm), PtxVersion::new(major, minor))
    }
    const fn a(sm: u16, major: u8, minor: u8) -> (Target, PtxVersion) {
        (Target::a(sm), PtxVersion::new(major, minor))
    }
    const fn f(sm: u16, major: u8, minor: u8) -> (Target, PtxVersion) {
        (Target::f(sm), PtxVersion::new(major, minor))
    }
    [
        t(10, 1, 0),
        t(11, 1, 0),
        t(12, 1, 2),
        t(13, 1, 2),
        t(20, 2, 0),
        t(21, 2, 0),
        t(30, 3, 1),
        t(32, 4, 0),
        t(35, 3, 1),
        t(37, 4, 1),
        t(50, 4, 0),
        t(52, 4, 1),
        t(53, 4, 2),
        t(60, 5, 0),
        t(61, 5, 0),
        t(62, 5, 0),
        t(70, 6, 0),
        t(72, 6, 1),
        t(75, 6, 3),
        t(80, 7, 0),
        t(86, 7, 1),
        t(87, 7, 4),
        t(88, 9, 0),
        t(89, 7, 8),
        t(90, 7, 8),
        a(90, 8, 0),
        t(100, 8, 6),
        f(100, 8, 8),
        a(100, 8, 6),
        t(101, 8, 6),
        f(101, 8, 8),
        a(101, 8, 6),
        t(103, 8, 8),
        f(103, 8, 8),
        a(103, 8, 8),
        t(107, 9, 4),
        f(107, 9, 4),
        a(107, 9, 4),
        t(110, 9, 0),
        f(110, 9, 0),
        a(110, 9, 0),
        t(120, 8, 7),
        f(120, 8, 8),
        a(120, 8, 7),
        t(121, 8, 8),
        f(121, 8, 8),
        a(121, 8, 8),
    ]
};

/// The targets that have tcgen05 at all.
pub const TENSOR_TARGETS: &[Target] = &[
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
];

const ARCHITECTURE_TARGETS: &[Target] =
    &[Target::a(100), Target::a(101), Target::a(103), Target::a(107), Target::a(110)];
const RUBIN: &[Target] = &[Target::a(107), Target::f(107)];

/// Something that not every target or version has.
#[derive(Debug)]
#[non_exhaustive]
pub struct Gate {
    /// What it is, for a message: "`.kind::i8`".
    pub feature: &'static str,
    /// What uses it: all of these together.
    pub uses: &'static [Use],
    /// The first version of the ISA that has it.
    pub since: PtxVersion,
    /// The targets that have it.
    pub targets: &'static [Target],
}

/// A part of an instruction that can need a target or version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// One of these operations.
    Operation(&'static [Operation]),
    /// One of these qualifiers.
    Qualifier(&'static [Qualifier]),
    /// An operand with this name.
    Operand(&'static str),
}

const LD_RED: &[Operation] = &[Operation::LdRed, Operation::LdRedSpcompress];
const SPCOMPRESS: &[Operation] = &[Operation::LdSpcompress, Operation::LdRedSpcompress];
const MMA: &[Operation] = &[Operation::Mma];
const MX_FP4: &[Qualifier] = &[Qualifier::Kind(Kind::Mxf4), Qualifier::Kind(Kind::Mxf4nvf4)];

/// The gates beyond tcgen05 itself. Where several apply to one instruction, all must be open.
pub const GATES: &[Gate] = &[
    Gate {
        feature: "`tcgen05.shift`",
        uses: &[Use::Operation(&[Operation::Shift])],
        since: PtxVersion::new(8, 6),
        targets: ARCHITECTURE_TARGETS,
    },
    Gate {
        feature: "`tcgen05.ld.red`",
        uses: &[Use::Operation(LD_RED)],
        since: PtxVersion::new(8, 8),
        targets: &[
            Target::a(101),
            Target::f(101),
            Target::a(103),
            Target::f(103),
            Target::a(107),
            Target::f(107),
            Target::a(110),
            Target::f(110),
        ],
    },
    Gate {
        feature: "`.spcompress`",
        uses: &[Use::Operation(SPCOMPRESS)],
        since: PtxVersion::new(9, 4),
        targets: &[Target::a(107)],
    },
    Gate {
        feature: "`.kind::i8`",
        uses: &[Use::Qualifier(&[Qualifier::Kind(Kind::I8)])],
        since: PtxVersion::new(8, 6),
        targets: &[Target::a(100), Target::a(101), Target::a(110)],
    },
    Gate {
        feature: "`.kind::ti16`",
        uses: &[Use::Qualifier(&[Qualifier::Kind(Kind::Ti16)])],
        since: PtxVersion::new(9, 4),
        targets: RUBIN,
    },
    Gate {
        feature: "`.kind::mxf4nvf4`",
        uses: &[Use::Qualifier(&[Qualifier::Kind(Kind::Mxf4nvf4)])],
        since: PtxVersion::new(8, 7),
        targets: TENSOR_TARGETS,
    },
    Gate {
        feature: "`.sp` with `.kind::mxf4` or `.kind::mxf4nvf4`",
        uses: &[Use::Qualifier(&[Qualifier::Sparse(Sparse::Sp)]), Use::Qualifier(MX_FP4)],
        since: PtxVersion::new(8, 6),
        targets: ARCHITECTURE_TARGETS,
    },
    Gate {
        feature: "`.scale_vec::NX`",
        uses: &[Use::Qualifier(&[
            Qualifier::ScaleVectorSize(ScaleVectorSize::X1),
            Qualifier::ScaleVectorSize(ScaleVectorSize::X2),
            Qualifier::ScaleVectorSize(ScaleVectorSize::X4),
        ])],
        since: PtxVersion::new(8, 6),
        targets: ARCHITECTURE_TARGETS,
    },
    Gate {
        feature: "`.scale_vec::4X`",
        uses: &[Use::Qualifier(&[Qualifier::ScaleVectorSize(ScaleVectorSize::X4)])],
        since: PtxVersion::new(8, 7),
        targets: ARCHITECTURE_TARGETS,
    },
    Gate {
        feature: "`.block16` and `.block32`",
        uses: &[Use::Qualifier(&[
            Qualifier::ScaleVectorSize(ScaleVectorSize::Block16),
            Qualifier::ScaleVectorSize(ScaleVectorSize::Block32),
        ])],
        since: PtxVersion::new(8, 8),
        targets: TENSOR_TARGETS,
    },
    Gate {
        feature: "`scale-input-d`",
        uses: &[Use::Operation(MMA), Use::Operand("scale-input-d")],
        since: PtxVersion::new(8, 6),
        targets: &[
            Target::a(100),
            Target::f(100),
            Target::a(103),
            Target::f(103),
            Target::a(107),
            Target::f(107),
        ],
    },
    Gate {
        feature: "`.exclusive`",
        uses: &[Use::Qualifier(&[Qualifier::Exclusive(Exclusive::Exclusive)])],
        since: PtxVersion::new(9, 4),
        targets: TENSOR_TARGETS,
    },
    Gate {
        feature: "`.multicast::cluster::16b`",
        uses: &[Use::Qualifier(&[Qualifier::Multicast(Multicast::Cluster16b)])],
        since: PtxVersion::new(9, 4),
        targets: TENSOR_TARGETS,
    },
    Gate {
        feature: "`.multicast::cluster::32b`",
        uses: &[Use::Qualifier(&[Qualifier::Multicast(Multicast::Cluster32b)])],
        since: PtxVersion::new(9, 4),
        targets: RUBIN,
    },
    Gate {
        feature: "`.sync_restrict::shared::read::mma::a`",
        uses: &[Use::Qualifier(&[Qualifier::SyncRestrict(SyncRestrict::SharedReadMmaA)])],
        since: PtxVersion::new(9, 4),
        targets: RUBIN,
    },
    Gate {
        feature: "`.collector::b::*`",
        uses: &[Use::Qualifier(&[
            Qualifier::CollectorB(CollectorB::Fill),
            Qualifier::CollectorB(CollectorB::Use),
            Qualifier::CollectorB(CollectorB::LastUse),
            Qualifier::CollectorB(CollectorB::Discard),
        ])],
        since: PtxVersion::new(9, 4),
        targets: RUBIN,
    },
    Gate {
        feature: "`.decompress::lut::b`",
        uses: &[Use::Qualifier(&[Qualifier::Decompress(Decompress::LutB)])],
        since: PtxVersion::new(9, 4),
        targets: RUBIN,
    },
];

/// Why something is not available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unavailable {
    /// The target lacks it under every version.
    Target,
    /// The version is too old; this one has it.
    Version(PtxVersion),
}

/// Whether `target` under `version` has something with these `targets` that came with `since`.
pub fn available(
    targets: &[Target],
    since: PtxVersion,
    target: Target,
    version: PtxVersion,
) -> Result<(), Unavailable> {
    if !targets.contains(&target) {
        return Err(Unavailable::Target);
    }
    // A target that the version does not know is the business of `target-needs-newer-version`.
    if version < since {
        return Err(Unavailable::Version(since));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for &(target, since) in TARGETS {
            assert_eq!(target.to_string().parse(), Ok(target));
            assert_eq!(target.since(), Some(since));
            assert!(since.exists(), "{target}");
        }
        for text in ["sm_", "sm_a", "100a", "sm_100b", "sm_1000000", ""] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }

    #[test]
    fn gates_name_targets_that_have_tcgen05() {
        for gate in GATES {
            assert!(gate.since.exists(), "{}", gate.feature);
            for target in gate.targets {
                assert!(TENSOR_TARGETS.contains(target), "{}", gate.feature);
            }
        }
    }
}
