//! The tensor core: multiplies, copies from shared memory, and commits.

use std::sync::Arc;

use ptx_numbers::OldD;

use super::layouts::Reader;
use super::operation::{Kind, Operation};
use super::product::{self, Part, Product};
use super::tensor::{ALL, Region};
use super::warp::Strand;
use super::{Cta, Machine, Stop};
use crate::Checks;
use crate::addresses::{Operand as Place, Swizzle};
use crate::descriptor::idesc_check::{Facts, facts};
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::isa::asynchrony;
use crate::isa::datapath::{self, Organization};
use crate::isa::element_types::ElementType;
use crate::isa::mma_shapes;
use crate::isa::vocabulary::{CpShape, CtaGroup, WarpMulticast};
use crate::program::{Address, Matrix, Multiply, Operand, windows};
use crate::shadow::{Access, Pipelined, Via};

/// The bytes of shared memory that a matrix takes.
#[derive(Debug)]
pub(super) struct Footprint {
    /// Others have other numbers.
    pub(super) number: u32,
    /// Starts and lengths, in order.
    pub(super) pieces: Box<[(u32, u32)]>,
    /// The first byte, and the one after the last.
    pub(super) start: u32,
    pub(super) end: u32,
}

/// What the place of a matrix follows from: a descriptor, its rows and the bytes of each; for one that
/// is not K-major the bits of an element and K.
pub(super) type Extent = (u64, u32, u32, Option<(u32, u32)>);

/// What the tensor core does.
#[derive(Debug)]
pub(super) enum Work {
    /// Reads shared and Tensor Memory, and writes or updates Tensor Memory.
    Compute {
        shared: Vec<(u32, Arc<Footprint>, Reader)>,
        reads: Vec<Region>,
        writes: Vec<Region>,
        updates: bool,
        /// What it does to what it writes, and of which shape that is.
        does: (asynchrony::Access, u64),
        effect: Effect,
    },
    /// Arrives at mbarriers.
    Commit(Vec<u32>),
}

/// What is written.
#[derive(Debug)]
pub(super) enum Effect {
    /// That is not computed.
    Unknown,
    Product(Box<Product>),
    /// Rows of a matrix in shared memory: where it lies, their shape, and the first column.
    Rows(Place, (CpShape, Option<WarpMulticast>), u32),
}

impl Effect {
    /// How many products it takes.
    fn products(&self) -> u64 {
        match self {
            Self::Product(product) => product.products(),
            Self::Unknown | Self::Rows(..) => 0,
        }
    }
}

/// The copies that a multiply reads are over before it, and it is over before the next copies: how many
/// columns scales and metadata take depends on much, so each multiply that has some reads all of them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chain {
    /// The last operation.
    tick: u32,
    /// Copies and shifts among those up to it; it is the lowest bit.
    copies: u64,
    /// The last multiply that reads scales or metadata, and what it follows.
    reader: Option<(u32, u64)>,
}

impl Chain {
    /// What the next operation follows.
    fn advance(&mut self, tick: u32, access: asynchrony::Access, reads: bool) -> u64 {
        let distance = tick - self.tick;
        self.copies = self.copies.checked_shl(distance).unwrap_or(0);
        self.tick = tick;
        if access == asynchrony::Access::MultiplyWritesD {
            // The lowest bit is the operation itself.
            let follows = if reads { self.copies >> 1 } else { 0 };
            if reads {
                self.reader = Some((tick, follows));
            }
            return follows;
        }
        self.copies |= 1;
        self.reader.map_or(0, |(reader, follows)| {
            let distance = tick - reader;
            let own = 1_u64.checked_shl(distance - 1).unwrap_or(0);
            own | follows.checked_shl(distance).unwrap_or(0)
        })
    }
}

impl Machine<'_> {
    /// Gives the tensor core something to do, in the order of a thread.
    pub(super) fn submit(&mut self, strand: &Strand, work: Work, lane: usize) {
        let known =
            self.warps[strand.warp as usize].tensor.queues.iter().find(|(other, _)| *other == lane as u32);
        let queue = if let Some((_, queue)) = known {
            *queue
        } else {
            let queue = self.new_queue();
            self.warps[strand.warp as usize].tensor.queues.push((lane as u32, queue));
            queue
        };
        let mut own = strand.clone();
        own.mask = 1 << lane;
        self.start(&own, Kind::Tensor(work), Some(queue));
    }

    /// What the tensor core does takes effect.
    pub(super) fn perform_tensor(&mut self, operation: &Operation, work: Work) {
        match work {
            Work::Commit(mbarriers) => self.perform_arrivals(operation, &mbarriers),
            Work::Compute { shared, reads, writes, updates, does, effect } => {
                let ctas = writes.iter().map(|region| region.cta);
                self.unseen
                    .extend(ctas.map(|cta| ((cta, operation.agent), (operation.tick, operation.step))));
                for (cta, matrix, reader) in &shared {
                    self.note_read(*cta, matrix, *reader);
                    self.touch_matrix(operation, *cta, matrix);
                    self.check_written(operation, *cta, matrix, *reader);
                    self.check_layout(operation, *cta, matrix, *reader);
                }
                let clock = Some(&operation.clock);
                self.check_regions(operation.step, operation.warp, &reads, true, clock);
                self.check_regions(operation.step, operation.warp, &writes, updates, clock);
                let (does, accumulator) = does;
                let chain = self.chains.entry(operation.agent).or_default();
                let follows = chain.advance(operation.tick, does, !reads.is_empty());
                let mut how =
                    Pipelined { access: asynchrony::Access::MultiplyReadsOperand, accumulator, follows };
                if !reads.is_empty() {
                    let access = self.access_of_operation(operation, Via::Async, false);
                    let access = Access { does: Some(how), ..access };
                    how.follows = self.visit_tensor(access, &operation.clock, &reads);
                }
                how.access = does;
                let access = self.access_of_operation(operation, Via::Async, true);
                let access = Access { does: Some(how), ..access };
                self.visit_tensor(access, &operation.clock, &writes);
                let parts = if let Effect::Product(product) = &effect {
                    let matrices = shared.iter().map(|(cta, matrix, _)| (*cta, matrix.start, matrix.end));
                    product.compute(&self.ctas, matrices)
                } else {
                    Vec::new()
                };
                self.mark_written(&writes);
                if parts.iter().any(Part::is_computed) {
                    self.products += effect.products();
                }
                for part in &parts {
                    self.put_part(part);
                }
                if let (Effect::Product(product), true) = (&effect, self.trace.is_some()) {
                    self.trace_product(operation, product);
                }
                if let Effect::Rows(place, shape, column) = effect {
                    self.copy_rows(&writes, place, shape, column);
                    if self.trace.is_some() {
                        self.trace_rows(operation, &writes, place, shape, column);
                    }
                }
            }
        }
    }

    /// What a copy brings into the CTAs that it writes.
    fn copy_rows(
        &mut self,
        writes: &[Region],
        place: Place,
        (shape, multicast): (CpShape, Option<WarpMulticast>),
        column: u32,
    ) {
        for Region { cta, .. } in writes {
            let Cta { shared, tensor, .. } = &mut self.ctas[*cta as usize];
            for (row, at) in (0..shape.rows()).flat_map(|row| (0..shape.columns()).map(move |at| (row, at))) {
                let read = shared.read(place.address(row, at * 4, 1).into(), 4);
                let value = read.filter(|read| !read.unknown).map(|read| read.value as u32);
                for lane in shape.lanes(multicast, row).into_iter().flatten() {
                    tensor.cells.set(lane, column + at, value, tensor.sizes.columns);
                }
            }
        }
    }

    /// Tells the trace of what a copy brings.
    fn trace_rows(
        &mut self,
        operation: &Operation,
        writes: &[Region],
        place: Place,
        (shape, multicast): (CpShape, Option<WarpMulticast>),
        column: u32,
    ) {
        for Region { cta, .. } in writes {
            for (row, at) in (0..shape.rows()).flat_map(|row| (0..shape.columns()).map(move |at| (row, at))) {
                let from = place.address(row, at * 4, 1);
                for lane in shape.lanes(multicast, row).into_iter().flatten() {
                    self.trace_row(operation, *cta, from, (lane, column + at));
                }
            }
        }
    }

    /// Writes a part of D, whose cells are not known before.
    fn put_part(&mut self, part: &Part) {
        let tensor = &mut self.ctas[part.cta as usize].tensor;
        let count = part.known.len();
        for (at, (known, kept)) in part.known.iter().enumerate() {
            if known | kept == 0 {
                continue;
            }
            let column = part.column + at as u32;
            let Some((values, all)) = tensor.cells.column_mut(column, tensor.sizes.columns) else { return };
            *all |= known | kept;
            for (row, lane) in part.lanes.iter().enumerate() {
                if known >> lane & 1 != 0 {
                    values[*lane as usize] = part.values[row * count + at];
                }
            }
        }
    }

    /// Looks whether something was written where the tensor core reads.
    fn check_written(&mut self, operation: &Operation, cta: u32, matrix: &Footprint, reader: Reader) {
        let elements = reader.bytes_of_sixteen() as usize;
        if self.checks == Checks::None {
            return;
        }
        // What is written stays so.
        if self.written_matrices.contains(&(cta, matrix.number, elements)) {
            return;
        }
        let shared = &self.ctas[cta as usize].shared;
        let is_written = |(offset, bytes): (u32, u32)| match elements {
            16 => shared.is_written(offset.into(), bytes as usize),
            // Nobody reads the padding.
            _ => (offset..offset + bytes).step_by(16).all(|at| shared.is_written(at.into(), elements)),
        };
        let missing = matrix.pieces.iter().find(|piece| !is_written(**piece));
        if missing.is_none() {
            self.written_matrices.insert((cta, matrix.number, elements));
        }
        // Copies of unknown size write less than they do.
        if let Some((offset, bytes)) = missing.copied()
            && !self.has_open_copies
        {
            let name = self.place_name(cta, offset);
            let around = self.ctas[cta as usize].shared.unwritten(offset.into(), bytes as usize);
            let finding = Finding::new(
                Code::SharedMemoryUninitialized,
                operation.step,
                "a matrix is read where nothing was written",
                format!("nothing was written to some of {bytes} bytes at {name}"),
            )
            .about(around.map(|bytes| (bytes.start as u32, bytes.end as u32)));
            self.report(finding);
        }
    }

    pub(super) fn copy_work(
        &mut self,
        strand: &Strand,
        (pair, (shape, multicast, is_decompressed)): (bool, (CpShape, Option<WarpMulticast>, bool)),
        address: Address,
        operand: Operand,
        lane: usize,
    ) -> Result<Work, Stop> {
        let (column, _) = self.tensor_address(strand, address, lane)?;
        let Some(descriptor) = self.value_at(strand, operand, lane) else {
            return Err(Self::stop(strand, "a descriptor is not known"));
        };
        self.judge_copy(strand, operand, lane);
        let (rows, bytes, groups) = match shape {
            CpShape::S128x256b => (128, 32, ALL),
            CpShape::S4x256b => (4, 32, 0b0101_0101),
            CpShape::S128x128b => (128, 16, ALL),
            CpShape::S64x128b => (64, 16, ALL),
            CpShape::S32x128b => (32, 16, ALL),
        };
        let (mut shared, mut writes) = (Vec::new(), Vec::new());
        for cta in self.group(strand, pair) {
            writes.push(Region { cta, groups, column, columns: shape.columns() });
            shared.extend(self.matrix_in(strand, cta, (descriptor, rows, bytes, None), (16, 16)));
        }
        let does = match shape {
            CpShape::S4x256b => asynchrony::Access::Copy4x256b,
            CpShape::S128x256b | CpShape::S128x128b | CpShape::S64x128b | CpShape::S32x128b => {
                asynchrony::Access::Copy
            }
        };
        let effect = match product::place_of(descriptor, false) {
            Some(place) if !is_decompressed => Effect::Rows(place, (shape, multicast), column),
            Some(_) | None => Effect::Unknown,
        };
        Ok(Work::Compute { shared, reads: Vec::new(), writes, updates: false, does: (does, 0), effect })
    }

    /// The pieces of a matrix, if they lie in shared memory.
    pub(super) fn matrix_in(
        &mut self,
        strand: &Strand,
        cta: u32,
        matrix: Extent,
        bits: (u32, u32),
    ) -> Option<(u32, Arc<Footprint>, Reader)> {
        let number = self.footprints.len() as u32;
        let footprint = self.footprints.entry(matrix).or_insert_with(|| Arc::new(footprint(matrix, number)));
        let footprint = Arc::clone(footprint);
        let Footprint { start, end, .. } = *footprint;
        let size = self.shared_bytes;
        if end > size || start < windows::RESERVED {
            let finding = Finding::new(
                Code::DescriptorOutOfBounds,
                strand.step,
                "a matrix reaches past the shared memory of the CTA",
                format!(
                    "its bytes are {start} to {}, but the shared memory of the CTA ends at {size}",
                    end.max(1) - 1
                ),
            );
            self.report(finding);
            return None;
        }
        // Where the pattern starts elsewhere, nothing is compared.
        let moved = matrix.0 >> 49 & 7;
        Some((
            cta,
            footprint,
            Reader { swizzle: (moved == 0).then_some(Swizzle::of_descriptor(matrix.0)), bits },
        ))
    }

    pub(super) fn multiply_work(
        &mut self,
        strand: &Strand,
        multiply: &Multiply,
        lane: usize,
    ) -> Result<Option<Work>, Stop> {
        let Some(idesc) = self.value_at(strand, multiply.idesc, lane) else {
            return Err(Self::stop(strand, "an instruction descriptor is not known"));
        };
        let features = self.features;
        let facts = facts(multiply.kind, features.generation, u64::from(idesc as u32).into());
        self.judge_multiply(strand, multiply, lane, &facts);
        let Facts { m, n, k, a, b, transpose_a, transpose_b, .. } = facts;
        let (Some(m), Some(n)) = (m, n) else {
            return Err(Self::stop(strand, "an instruction descriptor without a shape"));
        };
        let k = k.or_else(|| mma_shapes::k(multiply.kind, multiply.sparse)).unwrap_or(16);
        let group = self.group(strand, multiply.pair);
        let ctas = group.len() as u32;
        let cta_group = if multiply.pair { CtaGroup::Two } else { CtaGroup::One };
        let layout = datapath::layout(m, cta_group, multiply.sparse, multiply.weight_stationary);
        let (d_column, d_lane) = self.tensor_address(strand, multiply.d, lane)?;
        let organization = layout.map_or(Organization::FourByOne, |layout| layout.organization);
        let half = layout.is_some_and(|layout| layout.lanes_of_group() == 16);
        let groups = if !half {
            ALL
        } else if d_lane % 32 < 16 {
            0b0101_0101
        } else {
            0b1010_1010
        };
        let (operand, negated) = multiply.enable_input;
        let enabled = self.value_at(strand, operand, lane).map(|value| (value & 1 != 0) != negated);
        let element = |ty: Option<ElementType>| ty.map_or(16, |ty| ty.container_bits(multiply.kind));
        let bits = |ty: Option<ElementType>| (ty.map_or(16, ElementType::bits), element(ty));
        let mut shared = Vec::new();
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let product = layout.and_then(|layout| {
            let target = (features.generation, self.target);
            Product::new(multiply, &facts, target, (layout, n, k), &group)
        });
        let mut product = product.and_then(|product| {
            let old = match (enabled?, multiply.scale_input) {
                (false, _) => OldD::Zero,
                (true, None) => OldD::Read { scale: 0 },
                (true, Some(scale)) => OldD::Read { scale: self.value_at(strand, scale, lane)? as u8 },
            };
            let disabled = self.disabled_lanes(strand, multiply, lane)?;
            Some(product.d_at((d_lane, d_column), old, disabled))
        });
        // Of A's and B's scale factors.
        let mut last_columns = (0, 0);
        let mut metadata_column = None;
        let Some(b_word) = self.value_at(strand, multiply.b, lane) else {
            return Err(Self::stop(strand, "a descriptor is not known"));
        };
        let a_k = if multiply.sparse { k / 2 } else { k };
        let a_bytes = a_k * element(a) / 8;
        let b_bytes = k * element(b) / 8;
        let transposed = |is: Option<bool>, bits: u32, k: u32| is.filter(|is| *is).map(|_| (bits, k));
        for cta in &group {
            writes.push(Region {
                cta: *cta,
                groups,
                column: d_column,
                columns: organization.columns(n).max(1),
            });
            match multiply.a {
                Matrix::Shared(operand) => {
                    let Some(word) = self.value_at(strand, operand, lane) else {
                        return Err(Self::stop(strand, "a descriptor is not known"));
                    };
                    let matrix = (word, m / ctas, a_bytes, transposed(transpose_a, element(a), a_k));
                    product = product.and_then(|it| it.a_at(word, transpose_a?, bits(a)));
                    shared.extend(self.matrix_in(strand, *cta, matrix, bits(a)));
                }
                Matrix::TensorMemory(address) => {
                    let (column, first) = self.tensor_address(strand, address, lane)?;
                    product = product.and_then(|it| it.a_in((first, column), bits(a)));
                    reads.push(Region { cta: *cta, groups, column, columns: (a_bytes / 4).max(1) });
                }
            }
            let matrix = (b_word, n / ctas, b_bytes, transposed(transpose_b, element(b), k));
            shared.extend(self.matrix_in(strand, *cta, matrix, bits(b)));
            // How many columns these have depends on much; the first one they have always. Each quarter of the lanes
            // holds all scales (9.7.16.10.7), and the metadata of the rows that A has there.
            let of_metadata = if half {
                groups
            } else if m >= 128 {
                ALL
            } else {
                0b11
            };
            let metadata = multiply.metadata.into_iter().map(|address| (address, of_metadata));
            let scales = multiply.scales.into_iter().flatten().map(|address| (address, ALL));
            for (address, groups) in metadata.chain(scales).collect::<Vec<_>>() {
                let (column, _) = self.tensor_address(strand, address, lane)?;
                if multiply.metadata.is_some() && metadata_column.is_none() {
                    metadata_column = Some(column);
                }
                last_columns = (last_columns.1, column);
                reads.push(Region { cta: *cta, groups, column, columns: 1 });
            }
        }
        let accumulator = u64::from(d_lane << 16 | d_column) << 32 | u64::from(m) << 16 | u64::from(n);
        let does = (asynchrony::Access::MultiplyWritesD, accumulator);
        let scales = multiply.scales.map(|_| last_columns);
        let product = product.and_then(|it| it.b_at(b_word, transpose_b?, bits(b)));
        let product = product.and_then(|it| it.scaled(scales, multiply, &facts));
        let product = product.map(|it| it.sparse(metadata_column, facts.selector));
        let product = product.filter(|it| self.believes || it.is_vouched(multiply));
        let effect = product.map_or(Effect::Unknown, |product| Effect::Product(Box::new(product)));
        // Where that is not known, nothing is said about what D holds.
        let updates = enabled.unwrap_or(false);
        Ok(Some(Work::Compute { shared, reads, writes, updates, does, effect }))
    }
}

/// The bytes of shared memory that a matrix takes.
fn footprint((word, rows, bytes, transposed): Extent, number: u32) -> Footprint {
    let Place { start, leading, stride, swizzle, .. } = Place::of_descriptor(word, transposed.is_none());
    let span = swizzle.span().unwrap_or(16);
    let mut pieces: Vec<(u32, u32)> = Vec::new();
    if let Some((bits, k)) = transposed {
        let width = (rows * bits / 8).max(1);
        for i in 0..width.div_ceil(span) {
            for j in 0..k.div_ceil(8) {
                let by = if span == 16 { i * stride + j * leading } else { i * leading + j * stride };
                pieces.push((start + by, 8 * span));
            }
        }
    } else if span == 16 {
        for group in 0..rows.div_ceil(8) {
            for chunk in 0..bytes.div_ceil(16) {
                let rows = (rows - group * 8).min(8);
                pieces.push((start + group * stride + chunk * leading, rows * 16));
            }
        }
    } else {
        for row in 0..rows {
            for chunk in 0..bytes.div_ceil(16) {
                let plain = start + row / 8 * stride + row % 8 * span + chunk * 16;
                pieces.push((swizzle.apply(plain), 16));
            }
        }
    }
    pieces.sort_unstable();
    pieces.dedup();
    let mut merged: Vec<(u32, u32)> = Vec::new();
    for (start, bytes) in pieces {
        match merged.last_mut() {
            Some((first, len)) if *first + *len >= start => *len = (*len).max(start + bytes - *first),
            _ => merged.push((start, bytes)),
        }
    }
    Footprint {
        number,
        start: merged.first().map_or(0, |(start, _)| *start),
        end: merged.last().map_or(0, |(start, bytes)| start + bytes),
        pieces: merged.into(),
    }
}
