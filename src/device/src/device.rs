//! The memory of a device.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use ptx_simulation::memory::{Memory, MemoryError};

use crate::module::{Inner, Module};

/// A device: the memory that kernels run in. Launches on one device wait for each other; two devices have nothing to do
/// with each other.
#[derive(Debug, Default)]
pub struct Device {
    memory: Mutex<Memory>,
    /// The modules whose variables are in its memory.
    modules: Mutex<Vec<(u64, Weak<Inner>)>>,
}

/// A buffer of a device. It stays until [`Device::free`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Buffer {
    /// Where it starts.
    pub address: u64,
    /// How many bytes it has.
    pub bytes: u64,
}

impl Device {
    /// A device with empty memory.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        // After a panic, memory is as it was before the launch.
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the variables of a module into the memory, and frees those of modules that were dropped.
    pub(crate) fn load(&self, module: &Module, memory: &mut Memory) {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let id = module.inner.id;
        if !modules.iter().any(|(known, _)| *known == id) {
            modules.retain(|(id, module)| {
                let is_alive = module.strong_count() > 0;
                if !is_alive {
                    memory.forget(*id);
                }
                is_alive
            });
            modules.push((id, Arc::downgrade(&module.inner)));
        }
        memory.enter(id);
    }

    /// Makes a buffer, whose contents are not known. The name is what findings call it, until it is an argument.
    ///
    /// # Errors
    /// When it has more than [`Memory::MOST_BYTES`], or there are [`Memory::MOST_BUFFERS`].
    pub fn allocate(&self, name: &str, bytes: u64) -> Result<Buffer, MemoryError> {
        let address = self.memory().allocate(name, bytes)?;
        Ok(Buffer { address, bytes })
    }

    /// Makes a buffer that holds these bytes.
    ///
    /// # Errors
    /// As [`Device::allocate`].
    pub fn allocate_with(&self, name: &str, data: &[u8]) -> Result<Buffer, MemoryError> {
        let mut memory = self.memory();
        let address = memory.allocate(name, data.len() as u64)?;
        memory.write(address, data)?;
        Ok(Buffer { address, bytes: data.len() as u64 })
    }

    /// Writes bytes, from an address in a buffer on.
    ///
    /// # Errors
    /// When they leave the buffer.
    pub fn write(&self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        self.memory().write(address, data)
    }

    /// Reads bytes into `data`, and returns the ranges of those that are not known: they are left as they are there.
    ///
    /// # Errors
    /// When they leave the buffer.
    pub fn read(&self, address: u64, data: &mut [u8]) -> Result<Vec<Range<usize>>, MemoryError> {
        self.memory().read(address, data)
    }

    /// The same for what kernels have written. Where none wrote, some of the bytes are left as they are: for arrays that
    /// the buffer was filled from.
    ///
    /// # Errors
    /// When they leave the buffer.
    pub fn read_written(&self, address: u64, data: &mut [u8]) -> Result<Vec<Range<usize>>, MemoryError> {
        self.memory().read_written(address, data)
    }

    /// Whether a kernel has written to the buffer that has an address.
    pub fn is_written(&self, address: u64) -> bool {
        self.memory().is_written(address)
    }

    /// Frees the buffer that starts at an address. A kernel that still uses it has a finding.
    ///
    /// # Errors
    /// When none starts there.
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        self.memory().free(address)
    }
}
