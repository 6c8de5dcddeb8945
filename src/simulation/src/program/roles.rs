//! What instructions read their operands for.
//!
//! Lowering says it once. Whether a value is used, what depends on assumed values, and what is in doubt
//! for that, is asked of the role.

use super::{
    Action, Address, BarrierKind, Callee, Matrix, Mbarrier, MbarrierKind, Multiply, Operand, Program, Read,
    ScaleFactors, Slice, Tensor, Where,
};

/// What an operand says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Where something is in the memory of the cluster: an address, a descriptor, or which CTA.
    Near,
    /// Where something is in global, constant, local or parameter memory.
    Far,
    /// How many come, or how much: arrivals, threads, bytes, columns.
    Count,
    /// Who takes part: CTAs of the cluster, lanes of the warp, or which barrier.
    Mask,
    /// Which phase, or which part of a response.
    State,
    /// Whether a multiply adds to what was there.
    Addition,
    /// Which way is taken.
    Way,
    /// What is computed with, or stored.
    Data,
}

/// Hands on what is read.
struct Reader<'r> {
    operands: &'r [Operand],
    each: &'r mut dyn FnMut(Role, Operand),
}

impl Program {
    /// Calls `each` with all that an instruction reads, beside its guard, and what for.
    pub(crate) fn each_read(&self, action: &Action, each: &mut dyn FnMut(Role, Operand)) {
        Reader { operands: &self.operands, each }.action(action);
    }
}

impl Reader<'_> {
    fn one(&mut self, role: Role, operand: Operand) {
        (self.each)(role, operand);
    }

    fn maybe(&mut self, role: Role, operand: Option<Operand>) {
        if let Some(operand) = operand {
            self.one(role, operand);
        }
    }

    fn all(&mut self, role: Role, slice: Slice) {
        for operand in &self.operands[slice.range()] {
            (self.each)(role, *operand);
        }
    }

    fn near(&mut self, address: Address) {
        self.one(Role::Near, address.base);
    }

    fn address(&mut self, space: Where, address: Address) {
        match space {
            Where::Global | Where::Const | Where::Param | Where::Local => self.one(Role::Far, address.base),
            Where::Generic | Where::Shared | Where::SharedCluster => self.near(address),
        }
    }

    fn action(&mut self, action: &Action) {
        match action {
            Action::Compute { sources, .. } => self.all(Role::Data, *sources),
            Action::Mma(mma) => {
                for matrix in [mma.a, mma.b, mma.c] {
                    self.all(Role::Data, matrix);
                }
                self.maybe(Role::Data, mma.metadata.map(|metadata| metadata.register));
                for ScaleFactors { register, byte, thread, .. } in mma.scales.into_iter().flat_map(|it| it.0)
                {
                    for operand in [register, byte, thread] {
                        self.one(Role::Data, operand);
                    }
                }
            }
            Action::WarpMatrix(matrix) => {
                self.address(matrix.space, matrix.address);
                self.maybe(Role::Data, matrix.stride);
                if matrix.store {
                    self.all(Role::Data, matrix.registers);
                }
            }
            Action::Convert { source, .. }
            | Action::IsInSpace { source, .. }
            | Action::RankOf { source, .. } => self.one(Role::Data, *source),
            Action::MapAddress { source, rank, .. } => {
                self.one(Role::Data, *source);
                self.one(Role::Data, *rank);
            }
            Action::IndexedBranch { index, .. } => self.one(Role::Way, *index),
            // What is passed is only copied: the function that is called reads it.
            Action::Call { callee: Callee::Address(address), .. } => self.one(Role::Way, *address),
            Action::Load(access) => self.address(access.space, access.address),
            Action::Store(access) => {
                self.address(access.space, access.address);
                self.all(Role::Data, access.registers);
            }
            Action::Atomic(atomic) => {
                self.address(atomic.space, atomic.address);
                self.all(Role::Data, atomic.sources);
            }
            Action::Matrix { store, address, space, registers, .. } => {
                self.address(*space, *address);
                if *store {
                    self.all(Role::Data, *registers);
                }
            }
            Action::Barrier { id, count, kind, .. } => {
                self.one(Role::Mask, *id);
                self.maybe(Role::Count, *count);
                match kind {
                    BarrierKind::Arrive | BarrierKind::Sync => {}
                    BarrierKind::Count { value, .. }
                    | BarrierKind::And { value, .. }
                    | BarrierKind::Or { value, .. } => self.one(Role::Data, *value),
                }
            }
            Action::WarpBarrier { mask } => self.one(Role::Mask, *mask),
            Action::Mbarrier(mbarrier) => self.mbarrier(mbarrier),
            Action::CopyAsync { destination, source, read, .. } => {
                self.near(*destination);
                self.one(Role::Far, source.base);
                match *read {
                    Read::All => {}
                    Read::Bytes(bytes) => self.one(Role::Count, bytes),
                    Read::Unless(is_ignored) => self.one(Role::Mask, is_ignored),
                }
            }
            Action::CopyArrive { space, address, .. } => self.address(*space, *address),
            Action::StoreAsync { address, barrier, registers, .. } => {
                self.near(*address);
                self.near(*barrier);
                self.all(Role::Data, *registers);
            }
            Action::Bulk(bulk) => {
                for (space, address) in [bulk.destination, bulk.source] {
                    self.address(space, address);
                }
                if let Some(barrier) = bulk.barrier {
                    self.near(barrier);
                }
                self.maybe(Role::Count, bulk.bytes);
                self.maybe(Role::Mask, bulk.mask);
                self.maybe(Role::Mask, bulk.byte_mask);
                if let Some(tensor) = &bulk.tensor {
                    self.all(Role::Far, tensor.coordinates);
                }
            }
            Action::TryCancel { destination, barrier, .. } => {
                self.near(*destination);
                self.near(*barrier);
            }
            Action::IsCanceled { response, .. } | Action::FirstCta { response, .. } => {
                self.all(Role::State, *response);
            }
            Action::ReplaceTensorMap { address, space, value, .. } => {
                self.address(*space, *address);
                self.one(Role::Data, *value);
            }
            Action::CopyTensorMap { destination, source } => {
                self.one(Role::Far, destination.base);
                self.near(*source);
            }
            Action::Fill { address, bytes } => {
                self.near(*address);
                self.one(Role::Count, *bytes);
            }
            Action::Tensor(tensor) => self.tensor(tensor),
            Action::Opaque { .. }
            | Action::Nothing
            | Action::Branch { .. }
            | Action::Call { callee: Callee::Known(_), .. }
            | Action::Print { .. }
            | Action::Assert { .. }
            | Action::Return
            | Action::Exit
            | Action::Trap
            | Action::ClusterArrive { .. }
            | Action::ClusterWait { .. }
            | Action::ProxyFence(_)
            | Action::InitFence
            | Action::Fence(_)
            | Action::CopyCommit
            | Action::CopyWait { .. }
            | Action::BulkCommit
            | Action::BulkWait { .. }
            | Action::SetRegisters { .. }
            | Action::Sleep
            | Action::Unknown(_) => {}
        }
    }

    fn mbarrier(&mut self, mbarrier: &Mbarrier) {
        self.address(mbarrier.space, mbarrier.address);
        self.maybe(Role::Mask, mbarrier.mask);
        match mbarrier.kind {
            MbarrierKind::Init { count } => self.one(Role::Count, count),
            MbarrierKind::Expect { bytes } | MbarrierKind::Complete { bytes } => {
                self.one(Role::Count, bytes);
            }
            MbarrierKind::Arrive { count, bytes, .. } => {
                self.maybe(Role::Count, count);
                self.maybe(Role::Count, bytes);
            }
            MbarrierKind::Wait { value, .. } => self.one(Role::State, value),
            MbarrierKind::PendingCount { state, .. } => self.one(Role::State, state),
            MbarrierKind::Invalidate => {}
        }
    }

    fn tensor(&mut self, tensor: &Tensor) {
        match tensor {
            Tensor::Alloc { destination, space, columns, .. } => {
                self.address(*space, *destination);
                self.one(Role::Count, *columns);
            }
            Tensor::Dealloc { address, columns } => {
                self.one(Role::Near, *address);
                self.one(Role::Count, *columns);
            }
            Tensor::Load { address, .. } | Tensor::Shift { address, .. } => self.near(*address),
            Tensor::Store { address, registers, .. } => {
                self.near(*address);
                self.all(Role::Data, *registers);
            }
            Tensor::Copy { address, descriptor, .. } => {
                self.near(*address);
                self.one(Role::Near, *descriptor);
            }
            Tensor::Multiply(multiply) => self.multiply(multiply),
            Tensor::Commit { space, barrier, mask } => {
                self.address(*space, *barrier);
                self.maybe(Role::Mask, *mask);
            }
            Tensor::Relinquish
            | Tensor::WaitLoad
            | Tensor::WaitStore
            | Tensor::FenceBefore
            | Tensor::FenceAfter => {}
        }
    }

    fn multiply(&mut self, multiply: &Multiply) {
        self.near(multiply.d);
        match multiply.a {
            Matrix::Shared(descriptor) => self.one(Role::Near, descriptor),
            Matrix::TensorMemory(address) => self.near(address),
        }
        self.one(Role::Near, multiply.b);
        // How far the matrices reach the instruction's descriptor says.
        self.one(Role::Near, multiply.idesc);
        for address in multiply.scales.iter().flatten().chain(&multiply.metadata) {
            self.near(*address);
        }
        self.maybe(Role::Data, multiply.zero_column_mask);
        self.one(Role::Addition, multiply.enable_input.0);
    }
}
