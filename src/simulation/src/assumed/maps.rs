//! Tensor maps that are assumed: with boxes as the kernel shows them.
//!
//! A run under an assumed launch takes each load of a tensor copy for as large as its barrier expects. That hides a count
//! that is wrong, and a load that is missing. So one more launch has tensor maps, whose boxes are what multiplies read and
//! barriers expect; and where no boxes explain what a kernel does, it is not called clean.

use super::hypothesis::Hypothesis;
use super::judgement;
use crate::addresses;
use crate::diagnostic::Code;
use crate::launch::{Argument, LaunchError};
use crate::machine::{BoxSize, BoxSizes, Contradiction, Extents};
use crate::program::windows;
use crate::report::{Reason, TriedLaunch, verdict};
use crate::run::Run;
use crate::tensor_map::{self, ElementType, Fill, Interleave, Swizzle, TensorMap};
use crate::{Kernel, KernelReport, Settings, Verdict};

/// Elements of a box along each dimension (`cuTensorMapEncodeTiled`).
const MOST_OF_BOX: u32 = 256;
/// Elements of a tensor along its first two dimensions, and along the others: more than a box, and few bytes.
const ELEMENTS: u32 = 1024;
const OTHER_ELEMENTS: u32 = 8;
/// Which part of the budget the launch has: as large a part as the first one that is tried.
const PART: u64 = 8;

impl Kernel<'_> {
    /// The launch of a run with tensor maps, if it shows the boxes of some.
    pub(super) fn with_maps(&self, run: &Run) -> Option<Hypothesis> {
        let mut hypothesis = run.hypothesis.clone()?;
        let BoxSizes { sizes, .. } = &run.boxes;
        let mut any = false;
        for (address, size) in sizes {
            let (window, within) = (address >> windows::BITS, address & ((1 << windows::BITS) - 1));
            let is_it = |parameter: &crate::program::Parameter| {
                u64::from(parameter.offset) == within && parameter.bytes as usize == tensor_map::BYTES
            };
            let parameter = self.program.parameters.iter().position(is_it);
            let (windows::PARAM, Some(index)) = (window, parameter) else { continue };
            let Some(map) = assumed_map(*size) else { continue };
            let bytes = map.dims.iter().map(|dim| u64::from(*dim)).product::<u64>()
                * u64::from(map.element.bits())
                / 8;
            if let Some(argument) = hypothesis.launch.arguments.get_mut(index) {
                *argument = Argument::TensorMap { map, base: None, bytes, data: None };
                any = true;
            }
        }
        any.then_some(hypothesis)
    }

    /// Tries the launch with tensor maps, and adds what it shows.
    pub(super) fn try_maps(
        &self,
        hypothesis: &Hypothesis,
        missing: Option<(u32, u32)>,
        settings: &Settings,
        report: &mut KernelReport,
        tried: &mut Vec<TriedLaunch>,
    ) -> Result<(), LaunchError> {
        let settings = Settings { budget: settings.budget / PART, records: false, ..*settings };
        let run =
            self.run(&hypothesis.launch, &settings, Some(hypothesis.assumption), &mut Extents::new())?;
        report.warp_instructions += run.report.warp_instructions;
        report.operations += run.report.operations;
        let number = tried.len() + 1;
        let launch = self.tried([&run]);
        let alone = judgement::alone(run);
        let shows = |code: Code| alone.diagnostics.iter().any(|finding| finding.code == code);
        let is_clean = alone.diagnostics.is_empty() && alone.reasons.is_empty();
        let fits = match report.diagnostics.first() {
            Some(first) => {
                alone
                    .diagnostics
                    .iter()
                    .all(|it| report.diagnostics.iter().any(|known| known.code == it.code))
                    && shows(first.code)
            }
            None if report.reasons.is_empty() => is_clean,
            None => false,
        };
        if fits {
            tried.extend(launch);
            report.shown_by = Some(number);
            return Ok(());
        }
        if report.verdict != Verdict::Clean {
            return Ok(());
        }
        // Too few bytes may be meant: the results of some rows of a matrix may be unused.
        let Some(finding) = alone.diagnostics.into_iter().next() else { return Ok(()) };
        let what = match missing.filter(|_| finding.code == Code::TransactionMismatch) {
            Some((read, expected)) => {
                format!("these read {read} bytes, and the mbarrier expects {expected}")
            }
            None => finding.primary.message.clone(),
        };
        tried.extend(launch);
        report.shown_by.get_or_insert(number);
        report.reasons.push(Reason {
            span: Some(finding.primary.span),
            text: format!(
                "{} shows if the tensor maps have boxes as large as what the multiplies read: {what}",
                finding.code
            ),
            help: Some(format!(
                "`{}` writes that launch; give the real boxes there, and run with `--launch launch.toml`",
                self.command(&format!("--print-launch --launch-number {number} > launch.toml"))
            )),
        });
        report.verdict = verdict(&report.diagnostics, &report.reasons);
        Ok(())
    }
}

impl Kernel<'_> {
    /// Adds why no boxes explain what the runs did, if nothing else is wrong.
    pub(super) fn add_contradiction(&self, contradiction: Contradiction, report: &mut KernelReport) {
        if report.verdict != Verdict::Clean {
            return;
        }
        let (step, text) = match contradiction {
            Contradiction::Expected([(step, one), (_, other)]) if one == other => (
                step,
                format!("no boxes have the {one} bytes that an mbarrier expects of this load and those beside it"),
            ),
            Contradiction::Expected([(step, one), (_, other)]) => (
                step,
                format!(
                    "no boxes fit what mbarriers expect: {one} bytes of this load and those beside it, {other} bytes of \
                     others with the same tensor maps"
                ),
            ),
            Contradiction::BothMatrices(step) => (
                step,
                "this load would have to bring both matrices of a multiply, as no other load brings the second one"
                    .to_owned(),
            ),
            Contradiction::Unread(step, (read, expected)) => (
                step,
                format!(
                    "an mbarrier expects {expected} bytes of this load and those beside it, and multiplies read {read} of \
                     them"
                ),
            ),
        };
        report.reasons.push(Reason {
            span: self.program.spans.get(step as usize).copied(),
            text,
            help: Some(format!(
                "a load may be missing, or a count of bytes, an address or a descriptor be wrong; if not, `{}` writes a \
                 launch: give the real tensor maps there, and run with `--launch launch.toml`",
                self.command("--print-launch > launch.toml")
            )),
        });
        report.verdict = verdict(&report.diagnostics, &report.reasons);
    }
}

/// A tensor map whose boxes have so many bytes; nothing if no box has.
fn assumed_map(size: BoxSize) -> Option<TensorMap> {
    let BoxSize { dimensions, bytes, swizzle, bits } = size;
    // The type of elements of 16 bits matters in multiplies only.
    let (element_bits, shared_bits) = bits.unwrap_or((16, 16));
    let swizzle = swizzle.unwrap_or(addresses::Swizzle::None);
    let elements = bytes.checked_mul(8)? / element_bits;
    let row_bytes = swizzle.span().unwrap_or(128);
    let rank = dimensions as usize;
    let mut box_dims = vec![1; rank];
    if rank == 1 {
        box_dims[0] = elements;
    } else {
        box_dims[0] = (row_bytes * 8 / shared_bits).min(elements);
        let rows = elements / box_dims[0];
        box_dims[1] = rows.min(MOST_OF_BOX);
        if rank > 2 {
            box_dims[2] = rows.div_ceil(MOST_OF_BOX);
        }
    }
    let whole = box_dims.iter().product::<u32>() == elements
        && u64::from(elements) * u64::from(element_bits) == u64::from(bytes) * 8;
    if !whole || box_dims.iter().any(|dim| !(1..=MOST_OF_BOX).contains(dim)) {
        return None;
    }
    let dims: Vec<u32> = (0..rank).map(|axis| if axis < 2 { ELEMENTS } else { OTHER_ELEMENTS }).collect();
    let mut strides = Vec::new();
    let mut pitch = u64::from(dims[0]) * u64::from(element_bits) / 8;
    for dim in &dims[1..] {
        strides.push(pitch);
        pitch *= u64::from(*dim);
    }
    Some(TensorMap {
        element: ElementType::of_bits(element_bits, shared_bits),
        base: 0,
        steps: vec![1; dims.len()],
        fill: Fill::default(),
        window: None,
        dims,
        strides,
        box_dims,
        swizzle: match swizzle {
            addresses::Swizzle::None => Swizzle::None,
            addresses::Swizzle::Bytes32 => Swizzle::Bytes32,
            addresses::Swizzle::Bytes64 => Swizzle::Bytes64,
            addresses::Swizzle::Bytes128 => Swizzle::Bytes128,
            addresses::Swizzle::Bytes128Atom32 => Swizzle::Bytes128Atom32,
            addresses::Swizzle::Bytes128Atom32Flip8 => Swizzle::Bytes128Atom32Flip8,
            addresses::Swizzle::Bytes128Atom64 => Swizzle::Bytes128Atom64,
        },
        interleave: Interleave::None,
    })
}
