use crate::diagnostic::{Diagnostic, Findings};
use crate::instruction::{Address, Instruction};
use crate::isa::datapath;
use crate::rules::{Checker, Code, Lane, rule};

rule! {
    /// ## What it does
    /// Finds matrices in Tensor Memory whose known lane violates the datapath table: it must be a multiple
    /// of 32, or 16 more if only half of the datapath is used. In that case A, D and the sparsity metadata
    /// must use the same half.
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
    /// PTX ISA, sections 9.7.16.10.5 and 9.7.16.10.8.5
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
        let matrices = std::iter::once(("d-tmem", &mma.d))
            .chain(mma.a.address().map(|address| ("a-tmem", address)))
            .chain(mma.sparsity_metadata.iter().map(|address| ("sp-meta-tmem", address)));
        let addresses = matrices
            .map(|(name, address)| (name, address, true))
            .chain(scales.map(|address| ("the scale matrix", address, false)));
        let mut first: Option<(&str, &Address<'_>, Lane)> = None;
        for (name, address, is_matrix) in addresses {
            let Some(lane) = Lane::of(checker, decoded, address) else { continue };
            if lanes.contains(&lane.in_warp) {
                // The metadata and A share the alignment of D; the scales do not.
                if is_matrix {
                    let (other, of, known) = *first.get_or_insert((name, address, lane));
                    if known.in_warp != lane.in_warp && !known.is_certain(checker, decoded) {
                        first = Some((name, address, lane));
                    } else if known.in_warp != lane.in_warp && lane.is_certain(checker, decoded) {
                        findings.push(
                            Diagnostic::new(
                                Code::LaneAlignment,
                                address.span,
                                format!("`{name}` must have the lane alignment of `{other}`"),
                                lane.found(),
                            )
                            .label(of.span, known.found())
                            .origins(&checker.address_origins(decoded, address))
                            .note(
                                "where half of the datapath is used, A, D and the sparsity metadata have \
                                 the same lane alignment (PTX ISA, 9.7.16.10.8.5)",
                            )
                            .help("put all of them at a multiple of 32, or all at 16 more"),
                        );
                    }
                }
                continue;
            }
            if !lane.is_certain(checker, decoded) {
                continue;
            }
            let due = if lanes.len() > 1 { "a multiple of 16" } else { "a multiple of 32" };
            findings.push(
                lane.explain(Diagnostic::new(
                    Code::LaneAlignment,
                    address.span,
                    format!("the lane of `{name}` must be {due}"),
                    lane.found(),
                ))
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
