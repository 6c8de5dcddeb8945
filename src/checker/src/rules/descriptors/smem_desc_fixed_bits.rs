use super::report;
use crate::descriptor::Check;
use crate::rules::rule;

rule! {
    /// ## What it does
    /// Finds fixed bits of a shared-memory descriptor that have the wrong value.
    ///
    /// ## Why is this bad?
    /// Bits 46 to 48 are 0b001 and bits 53 to 60 are zero on Blackwell. A descriptor for Hopper does not
    /// have them. Strides in bytes instead of units of 16 overflow into them.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b64 adesc, 0x4000004000010040;
    /// tcgen05.cp.cta_group::1.128x256b [taddr], adesc;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b64 adesc, 0x4000404000010040;
    /// tcgen05.cp.cta_group::1.128x256b [taddr], adesc;
    /// ```
    ///
    /// ## References
    /// PTX ISA, Table 40
    SmemDescFixedBits Statement |checker, findings| report(checker, Check::FixedBits, findings)
}
