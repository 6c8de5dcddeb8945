//! Tensor maps in memory: reading them, and what kernels change in them.

use super::places::Place;
use super::warp::{Strand, lanes};
use super::{Machine, Stop};
use crate::isa::generic::TensormapField;
use crate::program::{Address, Operand, Where, windows};
use crate::tensor_map::{self, TensorMap};

impl Machine<'_> {
    /// The tensor map at a generic address; nothing if it is not known.
    pub(super) fn tensor_map(&mut self, strand: &Strand, address: u64) -> Option<TensorMap> {
        let (window, within) = (address >> windows::BITS, address & ((1 << windows::BITS) - 1));
        let bytes = match window {
            windows::PARAM => self.parameters.known(within, tensor_map::BYTES).map(<[u8]>::to_vec),
            windows::CONST => self.constants.known(within, tensor_map::BYTES).map(<[u8]>::to_vec),
            windows::GLOBAL
                if self.is_assumed || self.global.locate(address, tensor_map::BYTES as u64).is_ok() =>
            {
                self.note_global_read((address, tensor_map::BYTES as u32));
                self.global.known(address, tensor_map::BYTES)
            }
            _ => {
                self.outside(strand, &format!("there is no tensor map at the address {address:#x}"));
                None
            }
        };
        bytes.and_then(|bytes| TensorMap::decode(&bytes))
    }

    /// `tensormap.replace`
    pub(super) fn replace_tensor_map(
        &mut self,
        strand: &Strand,
        (space, address): (Where, Address),
        (field, ordinal): (TensormapField, u32),
        value: Operand,
        active: u32,
    ) -> Result<(), Stop> {
        for lane in lanes(active) {
            let Some(address) = self.address_at(strand, address, lane) else {
                return Err(Self::stop(strand, "the address of a tensor map is not known"));
            };
            let value = self.value_at(strand, value, lane);
            let Some(place) = self.place(strand, space, address, tensor_map::BYTES as u32, true) else {
                continue;
            };
            // What others have left there, and nobody has said, is any map. Where nobody was, there are zeros: so
            // kernels begin that set all fields.
            let old = self.map_bytes(place).filter(|_| !self.is_assumed_at(place, tensor_map::BYTES as u32));
            let fresh = || self.is_fresh(place).then_some([0; tensor_map::BYTES]);
            let mut bytes: Option<[u8; tensor_map::BYTES]> =
                old.and_then(|bytes| bytes.try_into().ok()).or_else(fresh);
            // Where the tensor is matters less than how it is cut.
            let is_known = value.is_some() || field == TensormapField::GlobalAddress;
            let fits = bytes
                .as_mut()
                .is_some_and(|bytes| TensorMap::replace(bytes, field, ordinal, value.unwrap_or(0)));
            self.write_map(strand, place, bytes.as_ref().filter(|_| is_known && fits), 1 << lane);
        }
        Ok(())
    }

    /// `tensormap.cp_fenceproxy`
    pub(super) fn copy_tensor_map(
        &mut self,
        strand: &Strand,
        destination: Address,
        source: Address,
        active: u32,
    ) -> Result<(), Stop> {
        let lane = active.trailing_zeros() as usize & 31;
        let (Some(to), Some(from)) =
            (self.address_at(strand, destination, lane), self.address_at(strand, source, lane))
        else {
            return Err(Self::stop(strand, "the address of a tensor map is not known"));
        };
        let size = tensor_map::BYTES as u32;
        let Some(from) = self.place(strand, Where::Shared, from, size, false) else { return Ok(()) };
        let bytes = self.map_bytes(from).and_then(|bytes| bytes.try_into().ok());
        self.write_map(strand, Place::Global(to), bytes.as_ref(), 1 << lane);
        Ok(())
    }

    /// Whether nobody has written where a tensor map is to be.
    fn is_fresh(&self, place: Place) -> bool {
        match place {
            Place::Shared { cta, offset } => {
                self.ctas[cta as usize].shared.is_fresh(offset.into(), tensor_map::BYTES)
            }
            Place::Global(_) | Place::Local(_) | Place::Const(_) | Place::Parameter(_) => false,
        }
    }

    pub(super) fn map_bytes(&self, place: Place) -> Option<Vec<u8>> {
        match place {
            Place::Global(address) => self.global.known(address, tensor_map::BYTES),
            Place::Shared { cta, offset } => {
                let bytes = self.ctas[cta as usize].shared.known(offset.into(), tensor_map::BYTES);
                bytes.map(<[u8]>::to_vec)
            }
            Place::Local(_) | Place::Const(_) | Place::Parameter(_) => None,
        }
    }

    pub(super) fn write_map(
        &mut self,
        strand: &Strand,
        place: Place,
        bytes: Option<&[u8; tensor_map::BYTES]>,
        mask: u32,
    ) {
        match place {
            Place::Shared { cta, offset } => {
                let data = bytes.map(|bytes| &bytes[..]);
                self.ctas[cta as usize].shared.fill(offset.into(), tensor_map::BYTES, data);
                let places = [(cta, offset, tensor_map::BYTES as u32)];
                self.touch(strand, &places, (true, false), None, mask);
            }
            Place::Global(address) => {
                for at in (0..tensor_map::BYTES).step_by(8) {
                    let piece =
                        bytes.and_then(|bytes| bytes[at..at + 8].try_into().ok()).map(u64::from_le_bytes);
                    // What is outside is found when the map is used.
                    let _ = self.global.write(address + at as u64, 8, piece.unwrap_or(0), piece.is_none());
                }
            }
            Place::Local(_) | Place::Const(_) | Place::Parameter(_) => {}
        }
        self.epoch += 1;
    }
}
