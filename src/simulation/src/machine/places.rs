//! Where addresses lead, in which memory and of which CTA, and what people call that.

use super::memory::Outside;
use super::warp::{Strand, lanes};
use super::{Machine, Stop};
use crate::arithmetic::Lanes;
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::program::{Operand, Where, windows};

/// CTAs of a cluster (PTX ISA, "Cluster of Cooperative Thread Arrays", and what GPUs allow).
const MOST_CTAS: u32 = 16;

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Global(u64),
    Shared { cta: u32, offset: u32 },
    Local(u64),
    Const(u64),
    Parameter(u64),
}

impl Machine<'_> {
    /// Where an address leads; what leads nowhere is a finding.
    pub(super) fn place(
        &mut self,
        strand: &Strand,
        space: Where,
        address: u64,
        bytes: u32,
        writes: bool,
    ) -> Option<Place> {
        let (window, within) = (address >> windows::BITS, address & ((1 << windows::BITS) - 1));
        Some(match space {
            Where::Generic => match window {
                windows::GLOBAL => Place::Global(address),
                windows::SHARED => {
                    let (cta, offset) = self.shared_place(strand, space, address, bytes, writes)?;
                    Place::Shared { cta, offset }
                }
                windows::LOCAL => Place::Local(within),
                windows::CONST => Place::Const(within),
                windows::PARAM => Place::Parameter(within),
                _ if self.is_assumed => Place::Global(address),
                _ => {
                    self.outside(strand, &format!("there is nothing at the address {address:#x}"));
                    return None;
                }
            },
            Where::Global => Place::Global(address),
            Where::Shared | Where::SharedCluster => {
                let (cta, offset) = self.shared_place(strand, space, address, bytes, writes)?;
                Place::Shared { cta, offset }
            }
            Where::Local => Place::Local(address),
            Where::Const => Place::Const(address),
            Where::Param => Place::Parameter(address),
        })
    }

    /// Reports an access outside all memory.
    pub(super) fn outside(&mut self, strand: &Strand, what: &str) {
        let role = self.role_of(strand, strand.mask);
        let finding = Finding::new(
            Code::OutOfBounds,
            strand.step,
            "an access reaches past the memory that exists",
            format!("{role}: {what}"),
        );
        self.report(finding);
    }

    /// Reports what a copy accesses in global memory outside of its buffers.
    pub(super) fn within_global(&mut self, strand: &Strand, address: u64, bytes: u32) -> Result<(), Stop> {
        match self.global.locate(address, bytes.into()) {
            Ok(_) => Ok(()),
            Err(why) => self.outside_global(strand, address, bytes, why),
        }
    }

    pub(super) fn outside_global(
        &mut self,
        strand: &Strand,
        address: u64,
        bytes: u32,
        why: Outside,
    ) -> Result<(), Stop> {
        match why {
            Outside::Limit if self.is_assumed => Ok(()),
            Outside::Limit => Err(Self::stop(strand, "the kernel writes more of global memory than is kept")),
            Outside::Bounds(Some(slot), at) => {
                if let Some(buffer) = self.global.buffer(slot).filter(|_| !self.is_assumed) {
                    let what =
                        format!("{bytes} bytes at {at} of {}, which has {}", buffer.name, buffer.bytes);
                    self.outside(strand, &what);
                }
                Ok(())
            }
            // It was computed from what was assumed.
            Outside::Bounds(None, _) if self.is_assumed => Ok(()),
            Outside::Bounds(None, _) => {
                self.outside(strand, &format!("there is no buffer at the address {address:#x}"));
                Ok(())
            }
        }
    }

    /// What people call a place in shared memory: the variable that it is in.
    pub(super) fn place_name(&self, cta: u32, offset: u32) -> String {
        let found = self.program.shared_names.iter().find(|(start, end, _)| (*start..*end).contains(&offset));
        let at = match found {
            Some((start, _, name)) if *start == offset => format!("`{name}`"),
            Some((start, _, name)) => format!("`{name}+{}`", offset - start),
            None if offset >= self.dynamic_start => {
                format!("dynamic shared memory + {}", offset - self.dynamic_start)
            }
            None => format!("shared memory at {offset}"),
        };
        if self.ctas.len() > 1 { format!("{at} of CTA {cta}") } else { at }
    }

    /// The CTA and the offset of an address in shared memory; what is outside is a finding.
    pub(super) fn shared_place(
        &mut self,
        strand: &Strand,
        space: Where,
        address: u64,
        bytes: u32,
        writes: bool,
    ) -> Option<(u32, u32)> {
        let own = self.warps[strand.warp as usize].cta;
        let address = match space {
            Where::Generic if address >> windows::BITS == windows::SHARED => address & u64::from(u32::MAX),
            Where::Generic => {
                self.outside(strand, &format!("the generic address {address:#x} is not in shared memory"));
                return None;
            }
            _ => address,
        };
        let (rank, offset) = Self::split_shared(address);
        let size = self.shared_bytes;
        if rank < MOST_CTAS {
            self.address_ctas(1 << rank);
        }
        if rank as usize >= self.ctas.len()
            || offset.saturating_add(bytes) > size
            || offset < windows::RESERVED
        {
            let verb = if writes { "written" } else { "read" };
            let what = if rank as usize >= self.ctas.len() {
                format!("there is no CTA {rank} in the cluster: the address is {address:#x}")
            } else {
                let none = if size == self.dynamic_start && self.program.uses_dynamic() {
                    ": the launch gives it no dynamic shared memory"
                } else {
                    ""
                };
                format!(
                    "{bytes} bytes at {offset} are {verb}, but the shared memory of the CTA ends at {size}{none}"
                )
            };
            self.outside(strand, &what);
            return None;
        }
        if space == Where::Shared && rank != own {
            self.outside(
                strand,
                &format!("the address {address:#x} is in the shared memory of CTA {rank}, not of CTA {own}"),
            );
            return None;
        }
        Some((rank, offset))
    }

    /// An address in another window.
    pub(super) fn convert(
        &mut self,
        strand: &Strand,
        (to_generic, space): (bool, Where),
        (source, destination): (Operand, Operand),
        active: u32,
    ) {
        let (mut value, unknown) = self.value(strand, source);
        let window = match space {
            Where::Generic | Where::Global => windows::GLOBAL,
            Where::Shared | Where::SharedCluster => windows::SHARED,
            Where::Local => windows::LOCAL,
            Where::Const => windows::CONST,
            Where::Param => windows::PARAM,
        };
        if window != windows::GLOBAL {
            for lane in lanes(active) {
                let within = value[lane] & ((1 << windows::BITS) - 1);
                value[lane] = if to_generic { windows::generic(window, within) } else { within };
            }
        }
        self.set(strand, destination, active, &value, unknown);
    }

    /// Whether an address is in a window.
    pub(super) fn is_in_space(
        &mut self,
        strand: &Strand,
        space: Where,
        (source, destination): (Operand, Operand),
        active: u32,
    ) {
        let (value, unknown) = self.value(strand, source);
        let own = self.warps[strand.warp as usize].cta;
        let results: Lanes = std::array::from_fn(|lane| {
            let window = value[lane] >> windows::BITS;
            u64::from(match space {
                Where::Generic => true,
                Where::Global => window == windows::GLOBAL,
                Where::Shared => window == windows::SHARED && Self::split_shared(value[lane]).0 == own,
                Where::SharedCluster => window == windows::SHARED,
                Where::Local => window == windows::LOCAL,
                Where::Const => window == windows::CONST,
                Where::Param => window == windows::PARAM,
            })
        });
        self.set(strand, destination, active, &results, unknown);
    }

    /// The address of the same place in another CTA.
    pub(super) fn map_address(
        &mut self,
        strand: &Strand,
        (source, rank): (Operand, Operand),
        destination: Operand,
        active: u32,
    ) {
        let (value, unknown) = self.value(strand, source);
        let (rank, rank_unknown) = self.value(strand, rank);
        let results: Lanes = std::array::from_fn(|lane| {
            let high = value[lane] >> 32 << 32;
            high | (rank[lane] & 0xFF) << windows::RANK_SHIFT | value[lane] & ((1 << windows::RANK_SHIFT) - 1)
        });
        self.set(strand, destination, active, &results, unknown | rank_unknown);
    }

    /// The rank of the CTA that an address is in.
    pub(super) fn rank_of(
        &mut self,
        strand: &Strand,
        (source, destination): (Operand, Operand),
        active: u32,
    ) {
        let (value, unknown) = self.value(strand, source);
        let results: Lanes = std::array::from_fn(|lane| u64::from(Self::split_shared(value[lane]).0));
        self.set(strand, destination, active, &results, unknown);
    }
}

/// The space of an address that an `alloc` or a `commit` is given. Both take the low 32 bits for one in shared memory,
/// so that kernels also work which name no space and convert nothing.
pub(super) fn if_not_converted(space: Where, address: u64) -> Where {
    match space {
        Where::Generic if u32::try_from(address).is_ok() => Where::SharedCluster,
        _ => space,
    }
}

pub(super) fn words(place: Place) -> &'static str {
    match place {
        Place::Global(_) => "global memory",
        Place::Shared { .. } => "shared memory",
        Place::Local(_) => "the thread's memory",
        Place::Const(_) => "the constants",
        Place::Parameter(_) => "the parameters",
    }
}

pub(super) fn behind(place: Place, by: u64) -> Place {
    match place {
        Place::Global(at) => Place::Global(at.wrapping_add(by)),
        Place::Shared { cta, offset } => Place::Shared { cta, offset: offset + by as u32 },
        Place::Local(at) => Place::Local(at.wrapping_add(by)),
        Place::Const(at) => Place::Const(at.wrapping_add(by)),
        Place::Parameter(at) => Place::Parameter(at.wrapping_add(by)),
    }
}
