//! A device without a card: kernels of PTX run on the CPU, in memory that outlives a launch.
//!
//! ```
//! use ptx_device::{Argument, Config, Device, Module, Options};
//!
//! let module = Module::from_text("scale.ptx", "
//!     .version 9.0
//!     .target sm_100a
//!     .entry scale(.param .u64 data, .param .f32 by) .reqntid 32 {
//!         .reg .b32 t; .reg .f32 x, f; .reg .b64 p, at;
//!         ld.param.b64 p, [data];
//!         ld.param.f32 f, [by];
//!         mov.u32 t, %tid.x;
//!         mad.wide.u32 at, t, 4, p;
//!         ld.global.f32 x, [at];
//!         mul.f32 x, x, f;
//!         st.global.f32 [at], x;
//!         ret;
//!     }")?;
//! let device = Device::new();
//! let data: Vec<u8> = (0..32).flat_map(|it| (it as f32).to_le_bytes()).collect();
//! let buffer = device.allocate_with("data", &data)?;
//!
//! let kernel = module.kernel("scale")?;
//! let arguments = [Argument::from(&buffer), Argument::Float(1.5)];
//! let run = kernel.launch(&device, &Config::default(), &arguments, &Options::default())?;
//! assert!(run.is_clean(), "{:?}", run.report.diagnostics);
//!
//! let mut result = vec![0; data.len()];
//! let unknown = device.read(buffer.address, &mut result)?;
//! assert!(unknown.is_empty());
//! assert_eq!(f32::from_le_bytes(result[12..16].try_into()?), 4.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Module`] is parsed once, and a [`Kernel`] of it is lowered once. A [`Device`] has the memory: buffers, and the
//! variables of the modules whose kernels ran on it. [`Kernel::launch`] runs a grid in that memory and returns a
//! [`Run`]: the verdict, and what was found. Nothing here borrows: all of it can be kept, and sent to other threads.
//!
//! Without arguments at hand, [`Kernel::assume`] runs a kernel under several launches and reports what shows whatever is
//! assumed. [`Kernel::file_launch`] takes the launch files of `ptx-tc simulate --launch`.
//!
//! ```
//! # use ptx_device::{Config, Module, Options, Progress, Verdict};
//! let module = Module::from_text("hang.ptx", "
//!     .version 9.0
//!     .target sm_100a
//!     .entry hang() .reqntid 32 {
//!         .reg .pred over;
//!         .shared .align 8 .b64 bar;
//!         mbarrier.init.shared::cta.b64 [bar], 1;
//!     wait:
//!         mbarrier.try_wait.parity.shared::cta.b64 over, [bar], 0;
//!         @!over bra wait;
//!         ret;
//!     }")?;
//! let report = module.kernel("hang")?.assume(&Config::default(), &Options::default(), &Progress::default())?;
//! assert_eq!(report.verdict, Verdict::Findings);
//! assert_eq!(report.diagnostics[0].code.name(), "deadlock");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The arithmetic is that of the card as far as it is known (`docs/numbers.md` of the repository says how far). What a
//! run cannot know (memory that nothing wrote, arithmetic that no source describes) is marked: [`Device::read`] says
//! which bytes it is.

#![warn(missing_docs)]

mod argument;
mod device;
mod error;
mod file;
mod module;
mod run;

pub use argument::{Argument, Field, Map};
pub use device::{Buffer, Device};
pub use error::{KernelError, LaunchError, ModuleError};
pub use file::FileLaunch;
pub use module::{Kernel, Module, named};
pub use ptx_simulation::array::Dtype;
pub use ptx_simulation::memory::{Memory, MemoryError};
pub use ptx_simulation::state::CtaState;
pub use ptx_simulation::tensor_map::{
    ElementType, Fill, Interleave, Swizzle, TensorMap, Unfit, Wide, Window,
};
pub use ptx_simulation::{
    Checks, KernelReport, ParameterInfo, Progress, Reason, Schedule, Verdict, Word, WordKind,
};
pub use run::{Config, Options, Run};
