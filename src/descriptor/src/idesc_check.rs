//! What is wrong with an instruction descriptor, given the multiply that uses it.

use smallvec::SmallVec;

use super::field::{Field, Known, Layout};
use super::instruction::{
    A, B, DTYPE, Format, K, M, MAX_SHIFT, N, NEGATE_A, NEGATE_B, SATURATE, SCALE, SCALE_IDS, SELECTOR,
    SPARSE, TRANSPOSE_A, TRANSPOSE_B,
};
use super::{Check, Features, Generation, Problem, Reason, check_fields};
use crate::isa::element_types::{AccumulatorType, ElementType, ScaleType};
use crate::isa::mma_shapes::{self, Variant};
use crate::isa::scale_vectors;
use crate::isa::vocabulary::{CtaGroup, Kind, ScaleVectorSize};

/// What is known of a multiply besides its descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiply {
    /// Its kind.
    pub kind: Kind,
    /// Whether it is weight-stationary (`.ws`).
    pub ws: Option<bool>,
    /// Its CTA group.
    pub cta_group: Option<CtaGroup>,
    /// Whether A is sparse (`.sp`).
    pub sparse: Option<bool>,
    /// Whether it has `.ashift`; `false` when that is not known.
    pub ashift: bool,
    /// Its scale vector size; `None` when it is not stated or not known.
    pub scale_vector_size: Option<ScaleVectorSize>,
    /// What the target has.
    pub features: Features,
}

impl Multiply {
    /// A multiply of which nothing but the kind is known.
    pub const fn any(kind: Kind, features: Features) -> Self {
        Self {
            kind,
            ws: None,
            cta_group: None,
            sparse: None,
            ashift: false,
            scale_vector_size: None,
            features,
        }
    }
}

/// What a word says about the matrices, as far as it is known and means something.
///
/// Other checks need it: the lanes and columns of D follow from M and N, the swizzling of A and B
/// from their types and majorness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Rows of A and D, over both CTAs of a pair.
    pub m: Option<u32>,
    /// Columns of B and D.
    pub n: Option<u32>,
    /// K in elements, where the descriptor chooses it.
    pub k: Option<u32>,
    /// The type of the elements of A.
    pub a: Option<ElementType>,
    /// The type of the elements of B.
    pub b: Option<ElementType>,
    /// Whether A is M-major.
    pub transpose_a: Option<bool>,
    /// Whether B is N-major.
    pub transpose_b: Option<bool>,
    /// Whether A is sparse.
    pub sparse: Option<bool>,
    /// The type of D; of block-scaled kinds, it is f32.
    pub d: Option<AccumulatorType>,
    /// Whether A is negated.
    pub negate_a: Option<bool>,
    /// Whether B is negated.
    pub negate_b: Option<bool>,
    /// Whether an integer sum is clamped to 32 bits.
    pub saturates: Option<bool>,
    /// The type of the scale factors.
    pub scale: Option<ScaleType>,
    /// Which half of the columns the sparsity metadata is in, where that is chosen.
    pub selector: Option<u32>,
    /// The scale factor ids of A and B.
    pub scale_ids: Option<(u32, u32)>,
}

/// What the known bits of a word say.
pub fn facts(kind: Kind, generation: Generation, word: Known) -> Facts {
    let layout = Format::of(kind, generation, word).layout();
    let known = |name: &str| layout.known(name, word).filter(|(field, raw)| field.permits(*raw));
    let number =
        |name: &str| known(name).and_then(|(field, raw)| field.number_of(raw)).map(|number| number as u32);
    let element = |name: &str| known(name).and_then(|(field, raw)| field.name_of(raw)?.parse().ok());
    let flag = |name: &str| known(name).map(|(_, raw)| raw != 0);
    let sparse = flag(SPARSE);
    Facts {
        m: number(M),
        n: number(N),
        // Which K a value means depends on the sparsity.
        k: sparse.and_then(|_| number(K)),
        a: element(A),
        b: element(B),
        transpose_a: flag(TRANSPOSE_A),
        transpose_b: flag(TRANSPOSE_B),
        sparse,
        d: match layout.field(DTYPE) {
            Some(_) => known(DTYPE).and_then(|(field, raw)| field.name_of(raw)?.parse().ok()),
            None => Some(AccumulatorType::F32),
        },
        negate_a: flag(NEGATE_A),
        negate_b: flag(NEGATE_B),
        saturates: flag(SATURATE),
        scale: known(SCALE).and_then(|(field, raw)| field.name_of(raw)?.parse().ok()),
        selector: known(SELECTOR).map(|(_, raw)| raw as u32),
        scale_ids: number(SCALE_IDS[0]).zip(number(SCALE_IDS[1])),
    }
}

impl Facts {
    /// Bits that an element of A takes in shared memory, where its type or the kind alone says it.
    pub fn a_bits(&self, kind: Kind) -> Option<u32> {
        bits(self.a, kind)
    }

    /// The same of B.
    pub fn b_bits(&self, kind: Kind) -> Option<u32> {
        bits(self.b, kind)
    }
}

fn bits(element: Option<ElementType>, kind: Kind) -> Option<u32> {
    let fixed = match kind {
        Kind::F16 | Kind::Ti16 => Some(16),
        Kind::Tf32 => Some(32),
        Kind::I8 => Some(8),
        Kind::F8f6f4 | Kind::Mxf8f6f4 | Kind::Mxf4 | Kind::Mxf4nvf4 => None,
    };
    element.map(|element| element.container_bits(kind)).or(fixed)
}

/// What is wrong with the known bits of a word, in the order of the bits.
pub fn check(multiply: &Multiply, word: Known) -> Vec<Problem> {
    let Multiply { kind, features: Features { generation, .. }, .. } = *multiply;
    let said = Format::of(kind, generation, word);
    let sparse_bit = said.layout().known(SPARSE, word).map(|(_, raw)| raw != 0);
    let sparse = multiply.sparse.or(sparse_bit);
    let layout = Format { sparse: sparse.unwrap_or(false), ..said }.layout();
    let mut judge = Judge { multiply, sparse, layout, word, problems: check_fields(layout, word) };
    judge.sparsity();
    judge.depth();
    judge.shape();
    judge.accumulator();
    judge.max_shift();
    judge.selector();
    judge.scale_type();
    judge.scale_ids();
    let mut problems = judge.problems;
    problems.sort_by_key(|problem| problem.bits().iter().map(|bits| bits.low).min());
    problems
}

struct Judge<'a> {
    multiply: &'a Multiply,
    /// Whether A is sparse, as far as the instruction or else the word says.
    sparse: Option<bool>,
    layout: &'static Layout,
    word: Known,
    problems: Vec<Problem>,
}

impl Judge<'_> {
    /// A field and its bits, when the bits are known and mean something.
    fn known(&self, name: &str) -> Option<(&'static Field, u64)> {
        self.layout.known(name, self.word).filter(|(field, raw)| field.permits(*raw))
    }

    fn number(&self, name: &str) -> Option<(&'static Field, u32)> {
        self.known(name).and_then(|(field, raw)| Some((field, field.number_of(raw)? as u32)))
    }

    fn report(&mut self, check: Check, field: &'static Field, reason: Reason, reference: &'static str) {
        let raw = field.get(self.word.value);
        self.problems.push(Problem { check, field, raw, reason, reference });
    }

    fn sparsity(&mut self) {
        if let (Some((field, raw)), Some(sparse)) = (self.known(SPARSE), self.multiply.sparse)
            && (raw != 0) != sparse
        {
            self.report(Check::Sparsity, field, Reason::SparsityDiffers, self.layout.table);
        }
    }

    /// The field that chooses K.
    fn depth(&mut self) {
        // Whether a value means anything depends on the sparsity.
        self.problems.retain(|problem| problem.check != Check::K96 || self.sparse.is_some());
        for problem in &mut self.problems {
            if problem.check == Check::K96 {
                problem.reason = Reason::KOfSparsity;
            }
        }
        if let Some((field, 96)) = self.number(K)
            && !self.multiply.features.k96
        {
            self.report(Check::K96, field, Reason::KOfTarget, "9.7.16.2.1.1");
        }
    }

    /// The variants of Table 39 that the multiply can be, each with its K if that is settled.
    fn variants(&self) -> SmallVec<[(Variant, Option<u32>); 4]> {
        let Multiply { kind, .. } = *self.multiply;
        let either = |known: Option<bool>| {
            [false, true].into_iter().filter(move |it| known.is_none_or(|known| known == *it))
        };
        let groups = [CtaGroup::One, CtaGroup::Two];
        let groups = groups.into_iter().filter(|it| self.multiply.cta_group.is_none_or(|group| group == *it));
        let chosen = self.layout.field(K).map(|_| self.number(K).map(|(_, k)| k));
        let mut variants = SmallVec::new();
        for ws in either(self.multiply.ws) {
            for cta_group in groups.clone() {
                for sparse in either(self.sparse) {
                    let k = match chosen {
                        // With the sparsity in doubt, the field's value may mean another K.
                        Some(k) => k.filter(|_| self.sparse.is_some()),
                        None => mma_shapes::k(kind, sparse),
                    };
                    variants.push((Variant { kind, ws, cta_group, sparse }, k));
                }
            }
        }
        variants
    }

    fn shape(&mut self) {
        const TABLE: &str = "Table 39";
        let variants = self.variants();
        let fits = |m: Option<u32>, n: Option<u32>| {
            variants
                .iter()
                .flat_map(|&(variant, k)| mma_shapes::shapes(variant, k))
                .any(|shape| m.is_none_or(|m| shape.m.contains(&m)) && n.is_none_or(|n| shape.n.contains(n)))
        };
        if !fits(None, None) {
            // The combination of qualifiers itself is impossible, which the word cannot help.
            return;
        }
        // Lists are made only for messages: nearly all words are right.
        let union = |sizes: &dyn Fn(Variant, Option<u32>) -> Vec<u32>| {
            let mut all: Vec<u32> = variants.iter().flat_map(|&(variant, k)| sizes(variant, k)).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let mut m = None;
        if let Some((field, found)) = self.number(M) {
            if fits(Some(found), None) {
                m = Some(found);
            } else {
                let allowed = union(&mma_shapes::allowed_m);
                let k = self.number(K).map(|(_, k)| k);
                self.report(Check::Shape, field, Reason::M { allowed, k }, TABLE);
            }
            if self.multiply.ashift && !matches!(found, 128 | 256) {
                self.report(Check::AshiftM, field, Reason::AshiftM, "9.7.16.10.9.1");
            }
        }
        let Some((field, n)) = self.number(N) else { return };
        if !fits(m, Some(n)) {
            let allowed = union(&|variant, k| mma_shapes::allowed_n(variant, m, k));
            let m = m.filter(|_| allowed != union(&|variant, k| mma_shapes::allowed_n(variant, None, k)));
            self.report(Check::Shape, field, Reason::N { allowed, m }, TABLE);
        } else if mma_shapes::has_8_bit_containers(self.multiply.kind)
            && self.known(TRANSPOSE_B).is_some_and(|(_, raw)| raw != 0)
        {
            let step = mma_shapes::transposed_n_step(self.multiply.cta_group.unwrap_or(CtaGroup::One));
            if !n.is_multiple_of(step) {
                self.report(Check::TransposeNegate, field, Reason::TransposedN { step }, "Table 50");
            }
        }
    }

    /// Table 39 has f16 accumulators of `.kind::f16` for f16 elements only.
    fn accumulator(&mut self) {
        let Some((dtype, accumulator)) = self
            .known(DTYPE)
            .and_then(|(field, raw)| Some((field, field.name_of(raw)?.parse::<AccumulatorType>().ok()?)))
        else {
            return;
        };
        let wrong = [A, B].map(|name| {
            let (field, raw) = self.known(name)?;
            let element = field.name_of(raw).and_then(|name| name.parse::<ElementType>().ok())?;
            (!mma_shapes::accumulates(self.multiply.kind, element, accumulator)).then_some((field, element))
        });
        // Where it is the wrong one for both, it is the accumulator that is wrong.
        if let [Some((_, element)), Some((_, other))] = wrong
            && element == other
        {
            let elements = element.name();
            let reason = Reason::Elements { elements, accumulator: AccumulatorType::F32.name() };
            self.report(Check::Types, dtype, reason, "Table 39");
            return;
        }
        for (field, _) in wrong.into_iter().flatten() {
            let reason = Reason::Accumulator { accumulator: accumulator.name() };
            self.report(Check::Types, field, reason, "Table 39");
        }
    }

    fn max_shift(&mut self) {
        if let Some((field, 1..)) = self.known(MAX_SHIFT)
            && self.multiply.ws == Some(false)
        {
            self.report(Check::SaturateShift, field, Reason::ShiftWithoutWs, self.layout.table);
        }
    }

    /// The selector has no say in a dense multiply, whatever it holds.
    fn selector(&mut self) {
        if let Some((field, 1..)) = self.known(SELECTOR)
            && self.sparse == Some(true)
            && matches!(self.multiply.kind, Kind::I8 | Kind::F8f6f4)
        {
            self.report(Check::SparsitySelector, field, Reason::Selector, "9.7.16.10.8.4");
        }
    }

    /// The scale vector sizes that the multiply can have.
    fn scale_vector_sizes(&self) -> Vec<ScaleVectorSize> {
        let allowed = scale_vectors::allowed(self.multiply.kind);
        match self.multiply.scale_vector_size {
            Some(size) if allowed.contains(&size) => vec![size],
            // A size that the kind lacks is no fault of the word.
            Some(_) | None => allowed.to_vec(),
        }
    }

    /// Table 55; `sm_107` takes every type with every size.
    fn scale_type(&mut self) {
        let Some((field, raw)) = self.known(SCALE) else { return };
        let blocks_of_32 = self
            .scale_vector_sizes()
            .iter()
            .all(|size| matches!(size, ScaleVectorSize::X2 | ScaleVectorSize::Block32));
        if self.multiply.kind == Kind::Mxf4nvf4
            && self.multiply.features.generation == Generation::Blackwell
            && blocks_of_32
            && field.name_of(raw) != Some(ScaleType::Ue8m0.name())
        {
            self.report(Check::Scale, field, Reason::ScaleTypeOfSize, "Table 55");
        }
    }

    fn scale_ids(&mut self) {
        if SCALE_IDS.iter().all(|name| self.number(name).is_none()) {
            return;
        }
        let depths: Vec<u32> = match self.layout.field(K) {
            Some(field) => match self.number(K) {
                Some((_, k)) => vec![k],
                None => field.choices().iter().filter_map(|name| name.parse().ok()).collect(),
            },
            None => mma_shapes::k(self.multiply.kind, self.sparse.unwrap_or(false)).into_iter().collect(),
        };
        let mut allowed = Vec::new();
        for size in self.scale_vector_sizes() {
            for &k in &depths {
                match scale_vectors::ids(self.multiply.kind, size, k, self.sparse.unwrap_or(false)) {
                    Some(ids) => allowed.extend_from_slice(ids),
                    None => return,
                }
            }
        }
        allowed.sort_unstable();
        allowed.dedup();
        for name in SCALE_IDS {
            if let Some((field, id)) = self.number(name)
                && !allowed.contains(&id)
            {
                let allowed = allowed.clone();
                self.report(Check::Scale, field, Reason::ScaleId { allowed }, "9.7.16.10.7");
            }
        }
    }
}
