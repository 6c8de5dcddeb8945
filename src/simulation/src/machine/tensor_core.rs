//! The tensor core: multiplies, copies from shared memory, and commits.

use std::sync::Arc;

use ptx_numbers::OldD;

use super::cells::first_bit;
use super::layouts::{ReadAs, Reader};
use super::operation::{Kind, Operation};
use super::product::{self, Decoded, Part, Product, Where};
use super::tensor::{ALL, Region};
use super::warp::Strand;
use super::{Cta, Machine, Stop};
use crate::Checks;
use crate::addresses::{Operand as Place, Swizzle};
use crate::descriptor::idesc_check::{Facts, facts};
use crate::descriptor::zero_column_mask::ZeroColumnMask;
use crate::diagnostic::Code;
use crate::findings::Finding;
use crate::isa::asynchrony;
use crate::isa::datapath::{self, Organization};
use crate::isa::element_types::ElementType;
use crate::isa::mma_shapes;
use crate::isa::tensor_memory::TensorMemory as Sizes;
use crate::isa::vocabulary::{CpShape, CtaGroup, WarpMulticast};
use crate::program::{Address, Matrix, Multiply, Operand, windows};
use crate::shadow::{Access, Pipelined, Via};

/// What is said of a matrix that nothing wrote.
const UNWRITTEN: &str = "a matrix is read where nothing was written";
/// Bytes that lie together in every swizzling mode.
const SIXTEEN: u32 = 16;
/// Lanes of a quarter, those of a warp.
const QUARTER: u32 = Sizes::LANES / 4;
/// Columns that `tcgen05.shift` shifts: 32 bytes of each row (9.7.16.9.3).
const SHIFTED: u32 = 32 / 4;

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
    /// Bytes at which two elements lie that differ in their row or column: the first ones.
    pub(super) shared_by_two: Option<u32>,
}

/// A matrix in shared memory: what its place follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Extent {
    /// Its descriptor.
    word: u64,
    is_k_major: bool,
    /// The first row of A or column of B, and how many there are.
    lines: (u32, u32),
    /// Elements of each, and the bits that one takes.
    length: (u32, u32),
}

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
        /// Where `.ashift` moves the rows of A afterwards. No source says what this write is ordered with, so that nothing is
        /// said about races with it.
        moves: Vec<Region>,
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
    /// Rows of a matrix in shared memory: where it lies, how it is copied, and the first column.
    Rows(Place, Copied, u32),
    /// What is written moves by one row.
    Shifted,
}

/// How rows are copied: their shape, to which warps, and the bits of elements that become bytes.
pub(super) type Copied = (CpShape, Option<WarpMulticast>, Option<u32>);

impl Effect {
    /// How many products it takes.
    fn products(&self) -> u64 {
        match self {
            Self::Product(product) => product.products(),
            Self::Unknown | Self::Rows(..) | Self::Shifted => 0,
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
            Work::Compute { shared, reads, writes, updates, does, effect, moves } => {
                let ctas = writes.iter().map(|region| region.cta);
                self.unseen
                    .extend(ctas.map(|cta| ((cta, operation.agent), (operation.tick, operation.step))));
                for (cta, matrix, reader) in &shared {
                    self.note_read(*cta, matrix, *reader);
                    self.touch_matrix(operation, *cta, matrix);
                    self.check_written(operation, *cta, matrix, *reader);
                    self.check_layout(operation, *cta, matrix, *reader);
                    self.check_overlap(operation, *cta, matrix, *reader);
                }
                let clock = Some(&operation.clock);
                self.check_regions(operation.step, operation.warp, &reads, true, clock);
                self.check_regions(operation.step, operation.warp, &writes, updates, clock);
                let (does, accumulator) = does;
                self.note_result_read(&reads);
                if does == asynchrony::Access::MultiplyWritesD {
                    self.note_result(operation.step, &writes, updates);
                } else if !updates {
                    self.forget_results(&writes);
                }
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
                    product.compute(&self.ctas, matrices, self.specials)
                } else {
                    Vec::new()
                };
                if let Effect::Shifted = effect {
                    self.shift_rows(operation, &writes);
                } else {
                    self.mark_written(&writes);
                }
                if parts.iter().any(Part::is_computed) {
                    self.products += effect.products();
                }
                for part in &parts {
                    if let Some((row, column, special)) = part.made {
                        let (lane, column) = (part.lanes[row], part.column + column as u32);
                        let place = format!("lane {lane}, column {column} of Tensor Memory");
                        self.report_special(operation.step, special, &place);
                    }
                    self.put_part(part);
                }
                if let (Effect::Product(product), true) = (&effect, self.trace.is_some()) {
                    self.trace_product(operation, product);
                }
                if let Effect::Product(_) = effect {
                    self.shift_rows(operation, &moves);
                } else {
                    self.mark_written(&moves);
                }
                if let Effect::Rows(place, how, column) = effect {
                    self.copy_rows(&writes, place, how, column);
                    if self.trace.is_some() {
                        self.trace_rows(operation, &writes, place, how, column);
                    }
                }
            }
        }
    }

    /// What `tcgen05.shift` does at a lane and a column.
    pub(super) fn shift_work(&self, strand: &Strand, pair: bool, (first, column): (u32, u32)) -> Work {
        let region = |cta| Region { cta, groups: ALL, column, columns: SHIFTED };
        let writes = self.group(strand, pair).into_iter().map(region).collect();
        // The ISA can be read in several ways, and says nothing of addresses in another quarter of the lanes.
        let is_known = self.believes && first % Sizes::LANES == 0;
        Work::Compute {
            shared: Vec::new(),
            reads: Vec::new(),
            writes,
            updates: true,
            does: (asynchrony::Access::Shift, 0),
            effect: if is_known { Effect::Shifted } else { Effect::Unknown },
            moves: Vec::new(),
        }
    }

    /// Shifts rows. As CUTLASS says of `.ashift`, each gets what the next one has; the last one of each quarter of the lanes
    /// stays.
    fn shift_rows(&mut self, operation: &Operation, regions: &[Region]) {
        for Region { cta, column: first, columns, .. } in regions {
            let count = self.ctas[*cta as usize].tensor.sizes.columns;
            // Each row is read before it is written.
            for (lane, column) in
                (0..Sizes::LANES).flat_map(|lane| (*first..first + columns).map(move |it| (lane, it)))
            {
                if lane % QUARTER == QUARTER - 1 {
                    continue;
                }
                let cells = &mut self.ctas[*cta as usize].tensor.cells;
                let value = cells.get(lane + 1, column);
                cells.set(lane, column, value, count);
                if self.trace.is_some() {
                    self.trace_shifted(operation, *cta, lane, column);
                }
            }
        }
    }

    /// What a copy brings into the CTAs that it writes.
    fn copy_rows(
        &mut self,
        writes: &[Region],
        place: Place,
        (shape, multicast, decompressed): Copied,
        column: u32,
    ) {
        for Region { cta, .. } in writes {
            let Cta { shared, tensor, .. } = &mut self.ctas[*cta as usize];
            for (row, at) in (0..shape.rows()).flat_map(|row| (0..shape.columns()).map(move |at| (row, at))) {
                // Of sixteen elements, four to a cell.
                let bits = decompressed.unwrap_or(8);
                let start = place.address(row, at / 4 * SIXTEEN, 1) + at % 4 * bits / 2;
                let read = shared.read(start.into(), bits as usize / 2);
                let value = read.filter(|read| !read.unknown).map(|read| in_bytes(read.value, bits));
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
        (shape, multicast, decompressed): Copied,
        column: u32,
    ) {
        for Region { cta, .. } in writes {
            for (row, at) in (0..shape.rows()).flat_map(|row| (0..shape.columns()).map(move |at| (row, at))) {
                let bits = decompressed.unwrap_or(8);
                let start = place.address(row, at / 4 * SIXTEEN, 1) + at % 4 * bits / 2;
                for lane in shape.lanes(multicast, row).into_iter().flatten() {
                    self.trace_row(operation, *cta, (start, bits / 2), (lane, column + at));
                }
            }
        }
    }

    /// Writes a part of D, whose cells are not known before.
    fn put_part(&mut self, part: &Part) {
        let tensor = &mut self.ctas[part.cta as usize].tensor;
        let (count, first, columns) = (part.known.len(), part.column as usize, tensor.sizes.columns);
        let lanes = part.lanes.iter().fold(0_u128, |all, lane| all | 1 << lane);
        let is_whole = part.known.iter().all(|(known, _)| *known == lanes);
        for (values, lane) in part.values.chunks(count.max(1)).zip(&part.lanes) {
            let row = tensor.cells.row_mut(*lane, first..first + count, columns);
            if is_whole {
                row.copy_from_slice(&values[..row.len()]);
                continue;
            }
            for ((cell, value), (known, _)) in row.iter_mut().zip(values).zip(&part.known) {
                if known >> lane & 1 != 0 {
                    *cell = *value;
                }
            }
        }
        for (column, (known, kept)) in (part.column..).zip(&part.known) {
            if let Some(all) = tensor.cells.known_mut(column, columns) {
                *all |= known | kept;
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
                UNWRITTEN,
                format!("nothing was written to some of {bytes} bytes at {name}"),
            )
            .about(around.map(|bytes| (bytes.start as u32, bytes.end as u32)));
            self.report(finding);
        }
    }

    /// Looks whether a matrix has two elements in one place.
    fn check_overlap(&mut self, operation: &Operation, cta: u32, matrix: &Footprint, reader: Reader) {
        let Some(at) = matrix.shared_by_two.filter(|_| self.checks == Checks::All) else { return };
        let name = match reader.read_as {
            ReadAs::A => "A",
            ReadAs::B => "B",
            ReadAs::Copied => return,
        };
        let place = self.place_name(cta, at);
        let finding = Finding::new(
            Code::OperandOverlap,
            operation.step,
            format!("several rows or columns of {name} lie at the same address"),
            format!("its descriptor reads {place} for two of them"),
        )
        .help("the leading or stride dimension byte offset of the descriptor is too small");
        self.report(finding);
    }

    /// The run is over: rows that nothing wrote are no fault if no store depends on them, as where a tile has more rows
    /// than the matrix. Results that depend on them are not known.
    pub(super) fn forgive_unwritten(&mut self) {
        let is_complete = self.assumes.is_none() && self.stopped.is_none() && self.last.is_none();
        if !is_complete || !self.global.has_known_stores_only() {
            return;
        }
        let is_kept = |it: &Finding| it.code != Code::SharedMemoryUninitialized || it.message != UNWRITTEN;
        let kept: Vec<bool> = self.findings.iter().map(is_kept).collect();
        let mut of_shown = kept.iter();
        self.shown.retain(|_| of_shown.next().is_none_or(|it| *it));
        let mut of_findings = kept.iter();
        self.findings.retain(|_| of_findings.next().is_none_or(|it| *it));
    }

    pub(super) fn copy_work(
        &mut self,
        strand: &Strand,
        (pair, how): (bool, Copied),
        address: Address,
        operand: Operand,
        lane: usize,
    ) -> Result<Work, Stop> {
        let (shape, _, decompressed) = how;
        let (column, _) = self.tensor_address(strand, address, lane)?;
        let Some(descriptor) = self.value_at(strand, operand, lane) else {
            return Err(Self::stop(strand, "a descriptor is not known"));
        };
        self.judge_copy(strand, operand, lane);
        let groups = match shape {
            CpShape::S4x256b => 0b0101_0101,
            CpShape::S128x256b | CpShape::S128x128b | CpShape::S64x128b | CpShape::S32x128b => ALL,
        };
        let extent = Extent {
            word: descriptor,
            is_k_major: true,
            lines: (0, shape.rows()),
            length: (shape.columns() * 4, 8),
        };
        let (mut shared, mut writes) = (Vec::new(), Vec::new());
        for cta in self.group(strand, pair) {
            writes.push(Region { cta, groups, column, columns: shape.columns() });
            // The padding of what is decompressed is not read.
            let bits = decompressed.map_or((16, 16), |bits| (bits, 8));
            shared.extend(self.matrix_in(strand, cta, extent, (ReadAs::Copied, bits)));
        }
        let does = match shape {
            CpShape::S4x256b => asynchrony::Access::Copy4x256b,
            CpShape::S128x256b | CpShape::S128x128b | CpShape::S64x128b | CpShape::S32x128b => {
                asynchrony::Access::Copy
            }
        };
        let place = product::place_of(descriptor, false, self.features);
        let effect = place.map_or(Effect::Unknown, |place| Effect::Rows(place, how, column));
        let (reads, moves) = (Vec::new(), Vec::new());
        Ok(Work::Compute { shared, reads, writes, updates: false, does: (does, 0), effect, moves })
    }

    /// The pieces of a matrix, if they lie in shared memory.
    pub(super) fn matrix_in(
        &mut self,
        strand: &Strand,
        cta: u32,
        extent: Extent,
        (read_as, bits): (ReadAs, (u32, u32)),
    ) -> Option<(u32, Arc<Footprint>, Reader)> {
        let number = self.footprints.len() as u32;
        let footprint = self.footprints.entry(extent).or_insert_with(|| Arc::new(footprint(extent, number)));
        let footprint = Arc::clone(footprint);
        let Footprint { start, end, .. } = *footprint;
        // Where its descriptor cannot say where it is, that was judged.
        if footprint.pieces.is_empty() {
            return None;
        }
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
        let moved = extent.word >> 49 & 7;
        let swizzle = (moved == 0).then_some(Swizzle::of_descriptor(extent.word));
        Some((cta, footprint, Reader { read_as, swizzle, bits }))
    }

    pub(super) fn multiply_work(
        &mut self,
        strand: &Strand,
        multiply: &Multiply,
        lane: usize,
    ) -> Result<Work, Stop> {
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
        let Some(b_word) = self.value_at(strand, multiply.b, lane) else {
            return Err(Self::stop(strand, "a descriptor is not known"));
        };
        let a_place = match multiply.a {
            Matrix::Shared(operand) => match self.value_at(strand, operand, lane) {
                Some(word) => Where::Shared(word),
                None => return Err(Self::stop(strand, "a descriptor is not known")),
            },
            Matrix::TensorMemory(address) => {
                let (column, first) = self.tensor_address(strand, address, lane)?;
                Where::Tensor(first, column)
            }
        };
        // No source says what another lane of these means. The upper bits of that of scales may hold their id.
        let mut is_aligned =
            !multiply.ashift || matches!(a_place, Where::Tensor(first, _) if first % Sizes::LANES == 0);
        let metadata = match multiply.metadata {
            Some(address) => {
                let (column, first) = self.tensor_address(strand, address, lane)?;
                is_aligned &= first == d_lane;
                Some(column)
            }
            None => None,
        };
        let scales = match multiply.scales {
            Some(addresses) => {
                let mut columns = [0; 2];
                for (column, address) in columns.iter_mut().zip(addresses) {
                    let (found, first) = self.tensor_address(strand, address, lane)?;
                    is_aligned &= first % Sizes::LANES == 0;
                    *column = found;
                }
                Some(columns)
            }
            None => None,
        };
        let mask = multiply.zero_column_mask.map(|mask| self.value_at(strand, mask, lane));
        let decoded = || {
            let old = match (enabled?, multiply.scale_input) {
                (false, _) => OldD::Zero,
                (true, None) => OldD::Read { scale: 0 },
                (true, Some(scale)) => OldD::Read { scale: self.value_at(strand, scale, lane)? as u8 },
            };
            let mask = match mask {
                Some(mask) => Some(mask?),
                None => None,
            };
            Product::new(
                &Decoded {
                    multiply,
                    facts: &facts,
                    features,
                    target: self.target,
                    ctas: &group,
                    layout: layout?,
                    n,
                    k,
                    a: a_place,
                    b: b_word,
                    d: (d_lane, d_column),
                    old,
                    disabled: self.disabled_lanes(strand, multiply, lane)?,
                    mask,
                    metadata,
                    scales,
                },
                self.believes,
            )
        };
        let product = decoded().filter(|_| is_aligned);
        // Where nothing is computed, the first one they have always.
        let columns_of_scales = match &product {
            Some(product) => product.scale_columns(),
            None => scales.into_iter().flatten().map(|column| column..column + 1).collect(),
        };
        let effect = product.map_or(Effect::Unknown, |product| Effect::Product(Box::new(product)));

        let a_k = if multiply.sparse { k / 2 } else { k };
        let columns_of_a = (a_k * element(a) / 32).max(1);
        let mask = mask.flatten().and_then(|word| ZeroColumnMask::decode(Some(m), word).ok());
        let first_of_b = mask.map_or(0, |mask| mask.shift.into());
        let is_k_major = |is_transposed: Option<bool>| is_transposed != Some(true);
        let (mut shared, mut reads, mut writes) = (Vec::new(), Vec::new(), Vec::new());
        let mut moves = Vec::new();
        for cta in &group {
            writes.push(Region {
                cta: *cta,
                groups,
                column: d_column,
                columns: organization.columns(n).max(1),
            });
            match a_place {
                Where::Shared(word) => {
                    let matrix = Extent {
                        word,
                        is_k_major: is_k_major(transpose_a),
                        lines: (0, m / ctas),
                        length: (a_k, element(a)),
                    };
                    shared.extend(self.matrix_in(strand, *cta, matrix, (ReadAs::A, bits(a))));
                }
                Where::Tensor(_, column) => {
                    let region = Region { cta: *cta, groups, column, columns: columns_of_a };
                    reads.push(region);
                    moves.extend(multiply.ashift.then_some(region));
                }
            }
            let matrix = Extent {
                word: b_word,
                is_k_major: is_k_major(transpose_b),
                lines: (first_of_b, n / ctas),
                length: (k, element(b)),
            };
            shared.extend(self.matrix_in(strand, *cta, matrix, (ReadAs::B, bits(b))));
            // Each quarter of the lanes holds all scales (9.7.16.10.7), and the metadata of the rows that A has there: of
            // these, one column is looked at.
            let of_metadata = if half {
                groups
            } else if m >= 128 {
                ALL
            } else {
                0b11
            };
            let metadata = metadata.map(|column| (column..column + 1, of_metadata));
            let regions = metadata.into_iter().chain(columns_of_scales.iter().map(|it| (it.clone(), ALL)));
            reads.extend(regions.map(|(range, groups)| {
                let (column, columns) = (range.start, range.end - range.start);
                Region { cta: *cta, groups, column, columns }
            }));
        }
        let accumulator = u64::from(d_lane << 16 | d_column) << 32 | u64::from(m) << 16 | u64::from(n);
        let does = (asynchrony::Access::MultiplyWritesD, accumulator);
        // Where that is not known, nothing is said about what D holds.
        let updates = enabled.unwrap_or(false);
        Ok(Work::Compute { shared, reads, writes, updates, does, effect, moves })
    }
}

/// Four elements, each in a byte.
fn in_bytes(elements: u64, bits: u32) -> u32 {
    let element = |at: u32| (elements >> (at * bits)) as u32 & (u32::MAX >> (32 - bits));
    (0..4).fold(0, |all, at| all | element(at) << (at * 8 + first_bit(bits, 8)))
}

/// The bytes of shared memory that a matrix takes; none if its descriptor cannot say where it is.
fn footprint(matrix: Extent, number: u32) -> Footprint {
    let Extent { word, is_k_major, lines: (first, count), length: (k, bits) } = matrix;
    let place = Place::of_descriptor(word, is_k_major).into_iter();
    let sixteens = place.flat_map(|place| place.sixteens(first..first + count, k, bits));
    let mut starts: Vec<u32> = sixteens.map(|it| it.address).collect();
    starts.sort_unstable();
    let shared_by_two = starts.windows(2).find(|both| both[0] == both[1]).map(|both| both[0]);
    starts.dedup();
    let mut merged: Vec<(u32, u32)> = Vec::new();
    for start in starts {
        match merged.last_mut() {
            Some((first, len)) if *first + *len >= start => *len = (*len).max(start + SIXTEEN - *first),
            _ => merged.push((start, SIXTEEN)),
        }
    }
    Footprint {
        number,
        start: merged.first().map_or(0, |(start, _)| *start),
        end: merged.last().map_or(0, |(start, bytes)| start + bytes),
        pieces: merged.into(),
        shared_by_two,
    }
}
