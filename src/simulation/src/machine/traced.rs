//! What a machine tells a [`Trace`]: who writes the bytes that it looks out for. Nothing of this runs without one.

use smallvec::SmallVec;

use super::Machine;
use super::boxes::{Boxed, Reduces};
use super::operation::{Operation, Transfer};
use super::places::Place;
use super::product::Product;
use super::warp::{Strand, lanes};
use crate::arithmetic::Lanes;
use crate::isa::mma_fragments::{Element, Factor};
use crate::program::{Fragments, Mma, Operand, Passed, Slice};
use crate::provenance::{Cell, Computed, Factors, Source, Space, Thread, Trace};

/// Bytes of a register.
const REGISTER: u32 = 8;

impl Machine<'_> {
    fn thread(&self, warp: u32, lane: usize) -> Thread {
        Thread { cluster: self.cluster_of_trace(), warp, lane: lane as u32 }
    }

    fn cluster_of_trace(&self) -> u32 {
        self.trace.as_ref().map_or(0, |trace| trace.cluster())
    }

    /// A register of a thread.
    fn register_of(&self, strand: &Strand, operand: Operand, lane: usize) -> Option<Cell> {
        let (Operand::Register(number) | Operand::Not(number)) = operand else { return None };
        let at = u64::from(strand.base + number) * u64::from(REGISTER);
        Some(Cell { space: Space::Registers(self.thread(strand.warp, lane)), at, bytes: REGISTER })
    }

    /// Some bytes of the shared memory of a CTA.
    fn shared_cell(&self, cta: u32, offset: u32, bytes: u32) -> Cell {
        Cell::shared(self.cluster_of_trace(), cta, offset, bytes)
    }

    fn tensor_space(&self, cta: u32) -> Space {
        Space::Tensor { cluster: self.cluster_of_trace(), cta }
    }

    /// Bytes at a place; nothing if these never change.
    fn cell_at(&self, strand: &Strand, place: Place, lane: usize, bytes: u32) -> Result<Cell, &'static str> {
        Ok(match place {
            Place::Global(at) => Cell::global(at, bytes),
            Place::Shared { cta, offset } => self.shared_cell(cta, offset, bytes),
            Place::Local(at) => Cell { space: Space::Local(self.thread(strand.warp, lane)), at, bytes },
            Place::Const(_) => return Err("constant memory"),
            Place::Parameter(_) => return Err("a parameter of the kernel"),
        })
    }

    /// Tells the trace of bytes that are written.
    fn traced(&mut self, by: (u32, u32), cell: Cell, source: impl FnMut(u32, u32) -> (Source, Option<u64>)) {
        if let Some(trace) = &mut self.trace {
            trace.write(by, cell, source);
        }
    }

    /// Tells the trace of what a thread writes, if it looks out for that.
    fn trace_write(&mut self, strand: &Strand, to: Cell, source: &Source) {
        if self.is_traced(to) {
            self.traced((strand.step, strand.warp), to, |at, bytes| (source.part(at, bytes), None));
        }
    }

    fn is_traced(&self, cell: Cell) -> bool {
        self.trace.as_ref().is_some_and(|trace| trace.wants(cell))
    }

    /// Arithmetic, before it is executed.
    pub(super) fn trace_arithmetic(
        &mut self,
        strand: &Strand,
        arithmetic: u32,
        (sources, destinations): (Slice, Slice),
        active: u32,
    ) {
        let program = self.program;
        let (from, to) = (&program.operands[sources.range()], &program.operands[destinations.range()]);
        for (position, destination) in to.iter().enumerate() {
            for lane in lanes(active) {
                let Some(cell) = self.register_of(strand, *destination, lane) else { continue };
                if !self.is_traced(cell) {
                    continue;
                }
                let source = if program.arithmetics[arithmetic as usize].is_exchange() {
                    self.exchanged(strand, arithmetic, (from, to.len()), (position, lane), active)
                } else {
                    let known = |source: &Operand| {
                        let value = self.value(strand, *source).0[lane];
                        (self.register_of(strand, *source, lane), value)
                    };
                    Source::Computed(Computed {
                        arithmetic,
                        position: position as u32,
                        destinations,
                        sources: from.iter().map(known).collect(),
                        from: 0,
                    })
                };
                self.traced((strand.step, strand.warp), cell, |_, _| (source.clone(), None));
            }
        }
    }

    /// Which registers of other threads a result of an exchange depends on.
    fn exchanged(
        &self,
        strand: &Strand,
        arithmetic: u32,
        (sources, count): (&[Operand], usize),
        (position, lane): (usize, usize),
        active: u32,
    ) -> Source {
        let arithmetic = &self.program.arithmetics[arithmetic as usize];
        let mut values: SmallVec<[Lanes; 4]> =
            sources.iter().map(|source| self.value(strand, *source).0).collect();
        let result = |values: &[Lanes]| {
            let mut results = vec![[0; 32]; count];
            let values: SmallVec<[&Lanes; 4]> = values.iter().collect();
            arithmetic.execute(
                active,
                &values,
                &mut results.iter_mut().collect::<SmallVec<[&mut Lanes; 2]>>(),
            );
            results.get(position).map_or(0, |all| all[lane])
        };
        let now = result(&values);
        let mut from = Vec::new();
        // What is exchanged comes first; the other sources say between whom.
        for other in lanes(active) {
            let Some(first) = values.first_mut() else { break };
            first[other] ^= u64::MAX;
            let is_other = result(&values) != now;
            values[0][other] ^= u64::MAX;
            if is_other {
                from.extend(self.register_of(strand, sources[0], other));
            }
        }
        match from.as_slice() {
            [one] => Source::Copied(*one),
            _ => Source::Combined(from),
        }
    }

    /// A register gets bytes of a place.
    pub(super) fn trace_load(
        &mut self,
        strand: &Strand,
        to: Operand,
        lane: usize,
        (place, bytes): (Place, u32),
    ) {
        let Some(cell) = self.register_of(strand, to, lane) else { return };
        if self.is_traced(cell) {
            let source = match self.cell_at(strand, place, lane, bytes) {
                Ok(from) => Source::Copied(from),
                Err(what) => Source::End(what),
            };
            self.traced((strand.step, strand.warp), cell, |_, _| (source.clone(), None));
        }
    }

    /// A place gets bytes of a register.
    pub(super) fn trace_store(
        &mut self,
        strand: &Strand,
        from: Operand,
        lane: usize,
        (place, bytes): (Place, u32),
    ) {
        let Ok(cell) = self.cell_at(strand, place, lane, bytes) else { return };
        if self.is_traced(cell) {
            let source = match self.register_of(strand, from, lane) {
                Some(register) => Source::Copied(register),
                None => Source::End("a constant"),
            };
            self.traced((strand.step, strand.warp), cell, |at, bytes| (source.part(at, bytes), None));
        }
    }

    /// An atomic operation puts a register into a place, or reduces it into what is there, and gives the old value. One
    /// that compares may put nothing there.
    pub(super) fn trace_atomic(
        &mut self,
        strand: &Strand,
        (from, to): (Option<Operand>, Option<Operand>),
        lane: usize,
        (place, bytes, reduces): (Place, u32, bool),
    ) {
        // The lanes come one after the other.
        if let Some(trace) = &mut self.trace {
            trace.tick();
        }
        if let Some(to) = to {
            self.trace_load(strand, to, lane, (place, bytes));
        }
        let Some(from) = from else { return };
        let Ok(cell) = self.cell_at(strand, place, lane, bytes) else { return };
        if self.is_traced(cell) {
            let register = self.register_of(strand, from, lane);
            let source = match register {
                register if reduces => Source::Reduced(register.map(|it| it.part(0, bytes))),
                Some(register) => Source::Copied(register),
                None => Source::End("a constant"),
            };
            self.traced((strand.step, strand.warp), cell, |at, bytes| (source.part(at, bytes), None));
        }
    }

    /// `ldmatrix`, `stmatrix`: rows of matrices, which start at `starts`.
    pub(super) fn trace_matrix(
        &mut self,
        strand: &Strand,
        store: bool,
        (operands, fragments): (&[Operand], Fragments),
        starts: &[Option<(u32, u32)>; 32],
    ) {
        for (register, operand) in operands.iter().enumerate() {
            for lane in 0..32_usize {
                let Some(cell) = self.register_of(strand, *operand, lane) else { continue };
                let mut moved: SmallVec<[(Cell, Cell); 4]> = SmallVec::new();
                fragments.each(lane as u32, register as u32, |place| {
                    let Some((cta, offset)) = starts.get(place.row as usize).copied().flatten() else {
                        return;
                    };
                    let memory = self.shared_cell(cta, offset + place.byte, place.bytes);
                    let bytes = if matches!(fragments, Fragments::Expanded { .. }) { 1 } else { place.bytes };
                    moved.push((memory, cell.part(place.bit / 8, bytes)));
                });
                for (memory, register) in moved {
                    let (to, from) = if store { (memory, register) } else { (register, memory) };
                    let source = if matches!(fragments, Fragments::Expanded { .. }) {
                        Source::Combined(vec![from])
                    } else {
                        Source::Copied(from)
                    };
                    self.trace_write(strand, to, &source);
                }
            }
        }
    }

    /// Bytes are copied by something that was started before; `reduces` into what is there.
    pub(super) fn trace_copy(&mut self, operation: &Operation, to: Cell, from: Option<Cell>, reduces: bool) {
        self.traced((operation.step, operation.warp), to, |at, bytes| {
            let source = match from {
                Some(from) if reduces => Source::Reduced(Some(from.part(at, bytes))),
                Some(from) => Source::Copied(from.part(at, bytes)),
                None => Source::End("out of bounds, filled"),
            };
            (source, None)
        });
    }

    /// `cp.async` of a lane.
    pub(super) fn trace_small_copy(
        &mut self,
        operation: &Operation,
        (cta, offset): (u32, u32),
        from: Option<Place>,
        (bytes, read): (u32, u32),
    ) {
        let from = match from {
            Some(Place::Global(at)) if read > 0 => Some(Cell::global(at, read)),
            _ => None,
        };
        let to = self.shared_cell(cta, offset, if from.is_some() { read } else { bytes });
        self.trace_copy(operation, to, from, false);
    }

    /// A copy in bulk without a tensor map.
    pub(super) fn trace_bulk(&mut self, operation: &Operation, transfer: &Transfer) {
        let bytes = transfer.bytes.unwrap_or(0);
        let from = match (transfer.from, transfer.reads.first()) {
            (Some(at), _) => Some(Cell::global(at, bytes)),
            (None, Some((cta, offset, _))) => Some(self.shared_cell(*cta, *offset, bytes)),
            (None, None) => None,
        };
        let reduces = transfer.reduces.is_some();
        for (cta, offset, _) in &transfer.writes {
            let to = self.shared_cell(*cta, *offset, bytes);
            self.trace_copy(operation, to, from, reduces);
        }
        if let Some(at) = transfer.to {
            self.trace_copy(operation, Cell::global(at, bytes), from, reduces);
        }
    }

    /// A box of a tensor comes to a place in shared memory, or goes from there.
    pub(super) fn trace_box(
        &mut self,
        operation: &Operation,
        boxed: &Boxed,
        (cta, offset): (u32, u32),
        (loads, reduces): (bool, Reduces),
    ) {
        let mut moved = Vec::new();
        boxed.each(offset, |global, shared, bytes| moved.push((global, shared, bytes)));
        for (global, shared, bytes) in moved {
            let shared = self.shared_cell(cta, shared, bytes);
            let global = global.map(|at| Cell::global(at, bytes));
            match (loads, global) {
                (true, _) => self.trace_copy(operation, shared, global, false),
                (false, Some(global)) => self.trace_copy(operation, global, Some(shared), reduces.is_some()),
                (false, None) => {}
            }
        }
    }

    /// A cell of Tensor Memory goes to a register, or comes from there; `half` is the half of the register if that
    /// has two cells.
    pub(super) fn trace_cell(
        &mut self,
        strand: &Strand,
        store: bool,
        (operand, thread, half): (Operand, usize, Option<u32>),
        (cta, lane, column): (u32, u32, u32),
    ) {
        let Some(register) = self.register_of(strand, operand, thread) else { return };
        let memory = Cell::tensor(self.tensor_space(cta), lane, column);
        let (register, memory) = match half {
            Some(half) => (register.part(2 * half, 2), memory.part(0, 2)),
            None => (register.part(0, 4), memory),
        };
        let (to, from) = if store { (memory, register) } else { (register, memory) };
        self.trace_write(strand, to, &Source::Copied(from));
    }

    /// `tcgen05.ld.red` reduces what each thread loads: `cells` says from which lanes and columns.
    pub(super) fn trace_reduced(
        &mut self,
        strand: &Strand,
        result: Operand,
        active: u32,
        cta: u32,
        cells: impl Fn(u32) -> Vec<(u32, u32)>,
    ) {
        let space = self.tensor_space(cta);
        for thread in lanes(active) {
            let register = self.register_of(strand, result, thread);
            let Some(register) = register.filter(|it| self.is_traced(*it)) else { continue };
            let from =
                cells(thread as u32).into_iter().map(|(lane, column)| Cell::tensor(space, lane, column));
            let source = Source::Combined(from.collect());
            self.traced((strand.step, strand.warp), register, |_, _| (source.clone(), None));
        }
    }

    /// `tcgen05.cp` brings bytes of shared memory to a cell: four, or what four elements take that it decompresses.
    pub(super) fn trace_row(
        &mut self,
        operation: &Operation,
        cta: u32,
        (offset, bytes): (u32, u32),
        (lane, column): (u32, u32),
    ) {
        let to = Cell::tensor(self.tensor_space(cta), lane, column);
        if self.is_traced(to) {
            let from = self.shared_cell(cta, offset, bytes);
            let source = if bytes == 4 { Source::Copied(from) } else { Source::Combined(vec![from]) };
            self.traced((operation.step, operation.warp), to, |at, bytes| (source.part(at, bytes), None));
        }
    }

    /// A cell gets what the next lane has in its column.
    pub(super) fn trace_shifted(&mut self, operation: &Operation, cta: u32, lane: u32, column: u32) {
        let space = self.tensor_space(cta);
        let source = Source::Copied(Cell::tensor(space, lane + 1, column));
        let to = Cell::tensor(space, lane, column);
        if self.is_traced(to) {
            self.traced((operation.step, operation.warp), to, |at, bytes| (source.part(at, bytes), None));
        }
    }

    /// Elements of D are computed, and are there now.
    pub(super) fn trace_product(&mut self, operation: &Operation, product: &Product) {
        let Self { trace, ctas, .. } = self;
        let Some(trace) = trace else { return };
        let cluster = trace.cluster();
        for cta in 0..ctas.len() as u32 {
            let space = Space::Tensor { cluster, cta };
            let mut cells: Vec<(u64, u64)> =
                trace.cells_in(space).into_iter().map(Cell::lane_and_column).collect();
            cells.dedup();
            for (lane, column) in cells {
                let (lane, column) = (lane as u32, column as u32);
                let Some(element) = product.element_at(cta, lane, column) else { continue };
                let factors = Box::new(product.factors(ctas, cluster, element));
                let value = ctas[cta as usize].tensor.cells.get(lane, column).map(u64::from);
                let cell = Cell::tensor(space, lane, column);
                trace.write((operation.step, operation.warp), cell, |_, _| {
                    (Source::Multiplied(factors.clone()), value)
                });
            }
        }
    }

    /// `mma`, before it is executed. Of a sparse one, all of a column of B.
    pub(super) fn trace_mma(&mut self, strand: &Strand, mma: &Mma) {
        let (count, bits) = mma.parts_of_d();
        let bytes = bits / 8;
        let c = self.operands(mma.c);
        for (register, operand) in self.operands(mma.d).iter().enumerate() {
            for (lane, part) in (0..32).flat_map(|lane| (0..count).map(move |part| (lane, part))) {
                let Some(cell) = self.register_of(strand, *operand, lane) else { continue };
                let cell = cell.part(part * bytes, bytes);
                if !self.is_traced(cell) {
                    continue;
                }
                let element = mma.sum.place(lane as u32, register as u32 * count + part);
                let Element { row, column } = element;
                let a = self.line(strand, mma.a, mma.factors[0], row);
                let b = self.line(strand, mma.b, mma.factors[1], mma.sum.line_of_b(element));
                let old = c.get(register).and_then(|operand| self.register_of(strand, *operand, lane));
                let old = old.map(|cell| cell.part(part * bytes, bytes));
                let factors = Factors { row, column, a, b, adds: old.is_some(), old, ..Factors::default() };
                let source = Source::Multiplied(Box::new(factors));
                self.traced((strand.step, strand.warp), cell, |_, _| (source.clone(), None));
            }
        }
    }

    /// Where the elements of a row of A or a column of B are, along K.
    fn line(&self, strand: &Strand, registers: Slice, factor: Factor, wanted: u32) -> Vec<Cell> {
        let mut all = Vec::new();
        for (register, operand) in self.operands(registers).iter().enumerate() {
            for (lane, at) in (0..32).flat_map(|lane| (0..factor.per_register()).map(move |at| (lane, at))) {
                let (line, along) = factor.place(lane, register as u32, at);
                if line == wanted
                    && let Some(cell) = self.register_of(strand, *operand, lane as usize)
                {
                    all.push((along, cell.part(at * factor.bits / 8, factor.bits.div_ceil(8))));
                }
            }
        }
        all.sort_unstable();
        all.into_iter().map(|(_, cell)| cell).collect()
    }

    /// Some bytes of a register go to a place, or come from there.
    pub(super) fn trace_piece(
        &mut self,
        strand: &Strand,
        store: bool,
        (operand, lane, (first, bytes)): (Operand, usize, (u32, u32)),
        place: Place,
    ) {
        let Some(register) = self.register_of(strand, operand, lane) else { return };
        let (register, memory) = (register.part(first, bytes), self.cell_at(strand, place, lane, bytes));
        let (to, source) = match (store, memory) {
            (true, Ok(memory)) => (memory, Source::Copied(register)),
            (true, Err(_)) => return,
            (false, Ok(memory)) => (register, Source::Copied(memory)),
            (false, Err(what)) => (register, Source::End(what)),
        };
        self.trace_write(strand, to, &source);
    }

    /// Something is passed to a function, or back from it.
    pub(super) fn trace_passed(
        &mut self,
        (reader, from): (&Strand, Passed),
        (writer, to): (&Strand, Passed),
    ) {
        for lane in lanes(writer.mask) {
            let cell = |strand: &Strand, passed: Passed| match passed {
                Passed::Value(operand) => self.register_of(strand, operand, lane),
                Passed::Memory { offset, bytes } => {
                    let place = Place::Local((strand.local + offset).into());
                    self.cell_at(strand, place, lane, bytes).ok()
                }
            };
            let (from, to) = (cell(reader, from), cell(writer, to));
            if let Some(to) = to {
                self.trace_write(writer, to, &from.map_or(Source::End("a constant"), Source::Copied));
            }
        }
    }

    /// The trace, where the clusters hand it on.
    pub(crate) fn trace_with(&mut self, trace: &mut Option<Box<Trace>>) {
        std::mem::swap(&mut self.trace, trace);
        if let Some(trace) = &mut self.trace {
            trace.enter(self.shape.index);
        }
    }
}
