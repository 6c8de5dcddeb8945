use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::{Address, Instruction};
use crate::isa::datapath;
use crate::rules::{Checker, Code, rule};

rule! {
    /// ## What it does
    /// Finds matrices in Tensor Memory whose known lane breaks the datapath table: a multiple of
    /// 32, or 16 more where only half of the datapath is used.
    ///
    /// ## Why is this bad?
    /// The multiply is an illegal instruction.
    ///
    /// ## Example
    /// ```ptx
    /// mov.b32 taddr, 0x100000;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// mov.b32 taddr, 0;
    /// tcgen05.mma.cta_group::1.kind::f16 [taddr], adesc, bdesc, 0x08200490, p;
    /// ```
    ///
    /// ## References
    /// PTX ISA, section 9.7.16.10.5
    LaneAlignment Statement check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    for multiply in checker.descriptors {
        let decoded = &checker.instructions[multiply.instruction];
        let Some(Instruction::Mma(mma)) = &decoded.instruction else { continue };
        let sparse = mma.sparse.is_some();
        // Where M is not known, the most lenient layout counts.
        let layouts = |m: u32| datapath::layout(m, mma.cta_group.value, sparse, mma.weight_stationary);
        let lanes: &[u32] = match multiply.facts.m {
            Some(m) => match layouts(m) {
                Some(layout) => layout.lanes,
                None => continue,
            },
            None => [32, 64, 128, 256]
                .into_iter()
                .filter_map(layouts)
                .map(|layout| layout.lanes)
                .max_by_key(|lanes| lanes.len())
                .unwrap_or(&[0, 16]),
        };
        let scales = mma.scales.iter().flat_map(|scales| scales.iter());
        let addresses: Vec<(&str, &Address<'_>)> = std::iter::once(("d-tmem", &mma.d))
            .chain(mma.a.address().map(|address| ("a-tmem", address)))
            .chain(mma.sparsity_metadata.iter().map(|address| ("sp-meta-tmem", address)))
            .chain(scales.map(|address| ("the scale matrix", address)))
            .collect();
        for (name, address) in addresses {
            let Some(known) = checker.address(decoded, address) else { continue };
            // The lane modulo 32: bits 16 to 20 of the address.
            let Some(lane) = known.shifted_right(16).constant(5) else { continue };
            if lanes.iter().any(|allowed| u64::from(*allowed) == lane) {
                continue;
            }
            let due = if lanes.len() > 1 { "a multiple of 16" } else { "a multiple of 32" };
            findings.push(
                Diagnostic::new(
                    Code::LaneAlignment,
                    address.span,
                    format!("the lane of `{name}` must be {due}"),
                    format!("the lane is {lane} over a multiple of 32"),
                )
                .origins(&checker.address_origins(decoded, address))
                .label(
                    mma.idesc.span(),
                    multiply.facts.m.map_or("the descriptor".to_owned(), |m| format!("M is {m}")),
                )
                .help("lanes are bits 16 to 31 of the address"),
            );
        }
    }
}
