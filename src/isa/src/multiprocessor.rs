//! Multiprocessors: what the CTAs that run on one share.

use super::hierarchy::REGISTERS_OF_SM;
use super::targets::Target;

/// A multiprocessor of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiprocessor {
    /// Threads that it has room for.
    pub threads: u64,
    /// CTAs that it has room for.
    pub ctas: u64,
    /// Bytes of shared memory.
    pub shared_memory: u64,
}

impl Multiprocessor {
    /// Threads of a warp.
    const WARP: u64 = 32;
    /// Parts of it, each with a scheduler and with its share of the warps and of the registers.
    const PARTS: u64 = 4;
    /// Registers are given to threads in units of so many.
    const UNIT_OF_REGISTERS: u64 = 8;
    /// The most registers that a thread can have.
    pub const MOST_REGISTERS: u64 = 255;
    /// Bytes of shared memory that the system takes for each CTA.
    pub const RESERVED: u64 = 1024;

    /// The multiprocessor of a target with `setmaxnreg`. The assembler of CUDA 13.5 counts with these numbers;
    /// `fixtures/ptxas/setmaxnreg.tsv` has its answers.
    pub const fn of(target: Target) -> Option<Self> {
        let (threads, ctas, kilobytes) = match target.sm {
            90 | 100 | 103 => (2048, 32, 228),
            107 => (1024, 16, 328),
            101 | 110 => (1536, 24, 228),
            120 | 121 => (1536, 24, 100),
            _ => return None,
        };
        Some(Self { threads, ctas, shared_memory: kilobytes * 1024 })
    }

    /// Whether it has room for so many CTAs of so many threads.
    pub const fn fits_threads(self, ctas: u64, threads: u64) -> bool {
        let Some(rounded) = threads.checked_next_multiple_of(Self::WARP) else { return ctas == 0 };
        ctas <= self.ctas && ctas.saturating_mul(rounded) <= self.threads
    }

    /// Registers that each thread can have where so many CTAs of so many threads shall run at once.
    pub const fn registers(ctas: u64, threads: u64) -> u64 {
        let warps = threads.div_ceil(Self::WARP).saturating_mul(ctas).div_ceil(Self::PARTS);
        let of_part = REGISTERS_OF_SM / Self::PARTS / Self::WARP;
        let each = of_part / if warps == 0 { 1 } else { warps };
        let each = each / Self::UNIT_OF_REGISTERS * Self::UNIT_OF_REGISTERS;
        if each < Self::MOST_REGISTERS { each } else { Self::MOST_REGISTERS }
    }

    /// Whether it has room for so many CTAs with so many bytes of shared memory.
    pub const fn fits_shared_memory(self, ctas: u64, bytes: u64) -> bool {
        ctas.saturating_mul(bytes.saturating_add(Self::RESERVED)) <= self.shared_memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_are_whole() {
        let multiprocessor = Multiprocessor::of(Target::a(100)).unwrap();
        assert!(multiprocessor.fits_threads(32, 33));
        assert!(!multiprocessor.fits_threads(32, 65));
        assert!(!multiprocessor.fits_threads(33, 32));
        assert!(!multiprocessor.fits_threads(1, u64::MAX));
    }

    #[test]
    fn warps_share_the_registers_of_their_part() {
        assert_eq!(Multiprocessor::registers(1, 128), 255);
        assert_eq!(Multiprocessor::registers(1, 384), 168);
        assert_eq!(Multiprocessor::registers(2, 288), 96);
        assert_eq!(Multiprocessor::registers(3, 256), 80);
        assert_eq!(Multiprocessor::registers(1, 1024), 64);
        assert_eq!(Multiprocessor::registers(0, 0), 255);
        assert_eq!(Multiprocessor::registers(u64::MAX, u64::MAX), 0);
    }

    #[test]
    fn the_system_takes_some_shared_memory() {
        let multiprocessor = Multiprocessor::of(Target::a(100)).unwrap();
        assert!(multiprocessor.fits_shared_memory(2, 113 * 1024));
        assert!(!multiprocessor.fits_shared_memory(2, 113 * 1024 + 1));
        assert!(!multiprocessor.fits_shared_memory(2, u64::MAX));
    }
}
