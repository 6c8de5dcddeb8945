//! Tables 54 and 55: which scale vector sizes a kind has.

use super::vocabulary::{Kind, ScaleVectorSize};

/// The sizes that go with `kind`, as the tables list them; none for kinds that do not scale.
pub const fn allowed(kind: Kind) -> &'static [ScaleVectorSize] {
    match kind {
        Kind::Mxf8f6f4 => &[ScaleVectorSize::X1, ScaleVectorSize::Block32],
        Kind::Mxf4 => &[ScaleVectorSize::X2, ScaleVectorSize::Block32],
        Kind::Mxf4nvf4 => {
            &[ScaleVectorSize::X2, ScaleVectorSize::X4, ScaleVectorSize::Block16, ScaleVectorSize::Block32]
        }
        Kind::F16 | Kind::Tf32 | Kind::F8f6f4 | Kind::I8 | Kind::Ti16 => &[],
    }
}

/// The name of the same size that family-specific targets know, too.
pub const fn portable(size: ScaleVectorSize) -> Option<ScaleVectorSize> {
    match size {
        ScaleVectorSize::X1 | ScaleVectorSize::X2 => Some(ScaleVectorSize::Block32),
        ScaleVectorSize::X4 => Some(ScaleVectorSize::Block16),
        ScaleVectorSize::Block16 | ScaleVectorSize::Block32 => None,
    }
}

/// Whether the size has to be written: mxf4nvf4 has no default (9.7.16.10.9.1).
pub const fn must_be_stated(kind: Kind) -> bool {
    matches!(kind, Kind::Mxf4nvf4)
}
