//! Global memory that outlives a launch: several kernels may run in it, one after the other.

use std::collections::VecDeque;
use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::machine::{Buffer, Fill, Global, Outside, Slot};
use crate::program::windows;

/// Buffers at addresses, and the variables of modules. A copy shares what neither of both has written since.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    pub(crate) global: Global,
    /// Buffers that were freed, those first whose addresses are given to others first.
    freed: VecDeque<usize>,
    /// The module whose variables are in [`Global`].
    module: u64,
    /// The variables of other modules.
    variables: FxHashMap<u64, Vec<(u64, Buffer)>>,
}

/// Why memory cannot be accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryError {
    /// No buffer has this address.
    NoBuffer {
        /// The address.
        address: u64,
    },
    /// The bytes leave the buffer.
    Outside {
        /// What the buffer is called.
        buffer: String,
        /// The first byte in it.
        at: u64,
        /// How many bytes are meant.
        len: u64,
        /// Bytes of the buffer.
        bytes: u64,
    },
    /// So many bytes are too many for a buffer.
    TooLarge {
        /// How many bytes are meant.
        bytes: u64,
    },
    /// There are as many buffers as there can be.
    TooMany,
    /// The kernels have written to as many bytes as are kept.
    Full,
}

impl std::fmt::Display for MemoryError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoBuffer { address } => write!(formatter, "there is no buffer at the address {address:#x}"),
            Self::Outside { buffer, at, len, bytes } => {
                write!(formatter, "{len} bytes at {at} of {buffer}, which has {bytes}")
            }
            Self::TooLarge { bytes } => {
                write!(formatter, "a buffer has at most {} bytes, not {bytes}", Memory::MOST_BYTES)
            }
            Self::TooMany => write!(formatter, "there are at most {} buffers", Memory::MOST_BUFFERS),
            Self::Full => formatter.write_str("kernels have written to more bytes than are kept"),
        }
    }
}

impl std::error::Error for MemoryError {}

impl Memory {
    /// Bytes of the largest buffer.
    pub const MOST_BYTES: u64 = 1 << windows::BUFFER_BITS;
    /// Buffers that there can be at the same time.
    pub const MOST_BUFFERS: usize = (windows::VARIABLES >> windows::BUFFER_BITS) as usize - 1;
    /// Addresses that are given once before those of freed buffers are given again: who uses a pointer to a buffer that
    /// was freed is told so.
    const FRESH: usize = Self::MOST_BUFFERS / 2;

    /// Makes a buffer, whose contents are not known, and returns its address.
    ///
    /// # Errors
    /// When it is too large, or there are too many.
    pub fn allocate(&mut self, name: &str, bytes: u64) -> Result<u64, MemoryError> {
        if bytes > Self::MOST_BYTES {
            return Err(MemoryError::TooLarge { bytes });
        }
        let buffer = Buffer::new(name.to_owned(), bytes, Fill::Unknown);
        if self.global.count() < Self::FRESH {
            return Ok(self.global.add(buffer));
        }
        match self.freed.pop_front() {
            Some(index) => Ok(self.global.replace(index, buffer)),
            None if self.global.count() < Self::MOST_BUFFERS => Ok(self.global.add(buffer)),
            None => Err(MemoryError::TooMany),
        }
    }

    /// Frees the buffer that starts at an address.
    ///
    /// # Errors
    /// When none starts there.
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let Ok((Slot::Buffer(index), 0)) = self.global.locate(address, 0) else {
            return Err(MemoryError::NoBuffer { address });
        };
        self.global.remove(index).ok_or(MemoryError::NoBuffer { address })?;
        self.freed.push_back(index);
        Ok(())
    }

    /// Bytes from an address to the end of its buffer.
    ///
    /// # Errors
    /// When no buffer has the address.
    pub fn rest(&self, address: u64) -> Result<u64, MemoryError> {
        let (slot, at) = self.global.locate(address, 0).map_err(|why| self.error(address, 0, why))?;
        Ok(self.global.buffer(slot).map_or(0, |buffer| buffer.bytes - at))
    }

    /// Writes bytes.
    ///
    /// # Errors
    /// When they leave the buffer.
    pub fn write(&mut self, address: u64, data: &[u8]) -> Result<(), MemoryError> {
        self.global.store(address, data).map_err(|why| self.error(address, data.len() as u64, why))
    }

    /// Reads bytes into `data`, and returns which of them are not known: these stay as they are there.
    ///
    /// # Errors
    /// When they leave the buffer.
    pub fn read(&self, address: u64, data: &mut [u8]) -> Result<Vec<Range<usize>>, MemoryError> {
        self.global.load(address, data, true).map_err(|why| self.error(address, data.len() as u64, why))
    }

    /// The same for what kernels have written; whole pages that none wrote to are left out.
    ///
    /// # Errors
    /// When they leave the buffer.
    pub fn read_written(&self, address: u64, data: &mut [u8]) -> Result<Vec<Range<usize>>, MemoryError> {
        self.global.load(address, data, false).map_err(|why| self.error(address, data.len() as u64, why))
    }

    /// Whether a kernel has written to the buffer that has an address, since all of it was written at once.
    pub fn is_written(&self, address: u64) -> bool {
        self.global.has_pages(address)
    }

    /// The same with what its buffers and the variables of the module hold after a launch.
    pub(crate) fn with(&self, global: Global) -> Self {
        Self { global, ..self.clone() }
    }

    /// The variables of this module are what follows is about.
    pub fn enter(&mut self, module: u64) {
        if module != self.module {
            let own = self.variables.remove(&module).unwrap_or_default();
            let others = self.global.exchange_variables(own);
            self.variables.insert(self.module, others);
            self.module = module;
        }
    }

    /// Forgets the variables of a module, which does not run any more.
    pub fn forget(&mut self, module: u64) {
        self.variables.remove(&module);
        if module == self.module {
            self.global.exchange_variables(Vec::new());
        }
    }

    fn error(&self, address: u64, len: u64, why: Outside) -> MemoryError {
        match why {
            Outside::Bounds(Some(slot), at) => match self.global.buffer(slot) {
                Some(buffer) => {
                    MemoryError::Outside { buffer: buffer.name.clone(), at, len, bytes: buffer.bytes }
                }
                None => MemoryError::NoBuffer { address },
            },
            Outside::Bounds(None, _) => MemoryError::NoBuffer { address },
            Outside::Limit => MemoryError::Full,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut memory = Memory::default();
        let one = memory.allocate("one", 10_000).unwrap();
        let two = memory.allocate("two", 3).unwrap();
        let mut back = vec![7; 10_000];
        let unknown = memory.read(one, &mut back).unwrap();
        assert_eq!((unknown.len(), unknown[0].clone()), (1, 0..10_000));
        assert!(back.iter().all(|byte| *byte == 7));
        let data: Vec<u8> = (0..5_000).map(|it| it as u8).collect();
        memory.write(one + 3_000, &data).unwrap();
        assert_eq!(memory.read(one, &mut back), Ok(vec![0..3_000, 8_000..10_000]));
        assert_eq!(back[3_000..8_000], data);
        // A copy keeps what it was.
        let copy = memory.clone();
        memory.write(one + 3_000, &[99]).unwrap();
        copy.read(one, &mut back).unwrap();
        assert_eq!(back[3_000], data[0]);
        memory.read(one, &mut back).unwrap();
        assert_eq!(back[3_000], 99);
        // The whole of a buffer.
        memory.write(two, &[1, 2, 3]).unwrap();
        assert_eq!(memory.read(two, &mut back[..3]), Ok(vec![]));
        assert_eq!(back[..3], [1, 2, 3]);
        assert!(matches!(memory.write(two, &[0; 4]), Err(MemoryError::Outside { bytes: 3, .. })));
        assert!(matches!(memory.read(5, &mut back), Err(MemoryError::NoBuffer { address: 5 })));
    }

    #[test]
    fn freed_memory_is_used_again_late() {
        let mut memory = Memory::default();
        let first = memory.allocate("first", 8).unwrap();
        memory.free(first).unwrap();
        assert_eq!(memory.free(first), Err(MemoryError::NoBuffer { address: first }));
        assert_eq!(memory.write(first, &[1]), Err(MemoryError::NoBuffer { address: first }));
        let mut seen = std::collections::BTreeSet::from([first]);
        for _ in 0..10_000 {
            let address = memory.allocate("next", 8).unwrap();
            memory.write(address + 1, &[1]).unwrap();
            seen.insert(address);
            memory.free(address).unwrap();
        }
        assert!((100..=Memory::MOST_BUFFERS).contains(&seen.len()), "{}", seen.len());
        let live: Vec<_> = (0..).map_while(|_| memory.allocate("live", 1).ok()).collect();
        assert_eq!(live.len(), Memory::MOST_BUFFERS);
        assert_eq!(memory.allocate("more", 1), Err(MemoryError::TooMany));
        assert!(matches!(memory.allocate("large", 1 << 40), Err(MemoryError::TooLarge { .. })));
    }
}
