//! What each operand is for, and what may stand there.

use crate::generic::{
    Access, Flag, Form, Modifier, Numbers, OperandSlot, Operation, Presence, Role, Row, Space, SpaceRule,
    Type, TypeRule, Wanted,
};

impl Row {
    /// What an operand is for: a phrase without a full stop.
    pub fn operand_purpose(&self, slot: &OperandSlot) -> &'static str {
        special(self.operation, slot.name)
            .or_else(|| common(slot.name))
            .unwrap_or_else(|| by_role(self, slot))
    }

    /// What may stand there, with an article.
    pub fn operand_noun(&self, slot: &OperandSlot, wanted: &Wanted) -> String {
        let ty = wanted.ty.map(|ty| format!(" of type `.{}`", <&str>::from(ty)));
        let ty = ty.unwrap_or_else(|| slot.ty.noun().to_owned());
        let numbers = slot.numbers.in_words().map(|numbers| format!(", {numbers}")).unwrap_or_default();
        let registers = || match wanted.count {
            Some(1) => "a vector of one register".to_owned(),
            Some(count) => format!("a vector of {count} registers"),
            None => "a vector of registers".to_owned(),
        };
        match (slot.role, slot.form) {
            (Role::Address(access, _), _) => {
                let access = match access {
                    Access::None => "",
                    Access::Read => ", read",
                    Access::Write => ", written",
                    Access::ReadWrite => ", read and written",
                };
                format!("an address{}{access}", self.place_of(slot))
            }
            (Role::Accumulator, _) => format!("{}, read and written", registers()),
            (Role::Label, _) => "a label".to_owned(),
            (Role::Callee, _) => "a function, or a register with its address".to_owned(),
            (Role::Results | Role::Arguments, _) => "a list in parentheses".to_owned(),
            (Role::Prototype, _) => "a `.callprototype` or `.calltargets`".to_owned(),
            (Role::Destination, Form::Sink) => "nothing: the result is left out".to_owned(),
            (Role::Destination, Form::Packed) => format!("a register or vector{ty}, written"),
            (Role::Destination, Form::Vector) if wanted.count.is_none() => format!("a register{ty}, written"),
            (Role::Destination, Form::Vector | Form::Fragment | Form::Elements(_)) => {
                format!("{}{ty}, written", registers())
            }
            (Role::Destination, _) if slot.ty == TypeRule::Fixed(Type::Pred) => {
                "a predicate, written".to_owned()
            }
            (Role::Destination, _) => format!("a register{ty}, written"),
            (Role::Source, Form::Predicate) => "a predicate, possibly negated".to_owned(),
            (Role::Source, Form::Immediate) => format!("an immediate{ty}{numbers}"),
            (Role::Source, Form::Packed) => format!("a value or vector{ty}"),
            (Role::Source, Form::Vector) if wanted.count.is_none() => format!("a register or immediate{ty}"),
            (Role::Source, Form::Vector | Form::Fragment | Form::Elements(_)) => {
                format!("{}{ty}", registers())
            }
            (Role::Source, _) => format!("a register or immediate{ty}{numbers}"),
        }
    }

    /// What the second destination is, the `p` of `d|p`.
    pub fn second_purpose(&self) -> &'static str {
        use Operation as O;
        match self.operation {
            O::Shfl | O::ShflSync => "whether the lane that is read is in range; a predicate, written",
            O::ElectSync => "whether this lane is the elected one; a predicate, written",
            O::MatchAllSync => "whether all lanes have the same value; a predicate, written",
            O::Setp => "the opposite outcome; a predicate, written",
            O::Lop3Predicate => "whether the result is not 0, joined with `q`; a predicate, written",
            O::Tex | O::Tld4 => "whether the texels are resident; a predicate, written",
            _ => "a second outcome; a predicate, written",
        }
    }

    /// Where an address points, as far as the row says.
    fn place_of(&self, slot: &OperandSlot) -> &'static str {
        let Role::Address(_, rule) = slot.role else { return "" };
        let in_space = |space: Space| match space {
            Space::Const => " in constant memory",
            Space::Global => " in global memory",
            Space::Local => " in local memory",
            Space::Param | Space::ParamEntry | Space::ParamFunc => " of parameters",
            Space::Shared | Space::SharedCta => " in shared memory",
            Space::SharedCluster => " in shared memory of the cluster",
        };
        match rule {
            SpaceRule::Fixed(space) => in_space(space),
            SpaceRule::Opaque => " of a texture or surface",
            SpaceRule::Fabric => " in the memory of another GPU",
            SpaceRule::Nth(_) if matches!(slot.name, "mbar" | "bar") => " in shared memory",
            SpaceRule::Nth(nth) => {
                let is_space =
                    |group: &&crate::generic::Group| matches!(group.words.first(), Some(Modifier::Space(_)));
                let group = self.modifiers.iter().filter(is_space).nth(usize::from(nth));
                match group.map(|group| group.words) {
                    // All of them are shared memory.
                    Some(words) if words.iter().all(|word| is_shared(*word)) => " in shared memory",
                    Some([Modifier::Space(only)]) => in_space(*only),
                    _ => "",
                }
            }
        }
    }
}

impl OperandSlot {
    /// When it is there, where it is not always.
    pub fn presence_in_words(&self) -> Option<String> {
        let list = |modifiers: &[Modifier]| {
            let words: Vec<String> = modifiers.iter().map(|it| format!("`.{}`", it.spelling())).collect();
            words.join(", ")
        };
        match self.presence {
            Presence::Always => None,
            Presence::Optional => Some("optional".to_owned()),
            Presence::When(modifiers) => Some(format!("with {}", list(modifiers))),
            Presence::OptionalUnless(modifiers) => Some(format!("optional, without {}", list(modifiers))),
            Presence::Unless(modifiers) => Some(format!("without {}", list(modifiers))),
        }
    }
}

fn is_shared(word: Modifier) -> bool {
    matches!(word, Modifier::Space(space) if space.is_shared())
}

impl TypeRule {
    fn noun(self) -> &'static str {
        match self {
            Self::Product => " of the type, or twice as wide with `.wide`",
            Self::Pointer => " of 32 or 64 bits",
            Self::Nth(_) | Self::Fixed(_) | Self::Integer(_) | Self::Fragment | Self::Any => "",
        }
    }
}

impl Numbers {
    /// Which integers may be written, where not all may.
    pub fn in_words(self) -> Option<String> {
        match self {
            Self::All => None,
            Self::ByWords(_) => Some("as its modifiers say".to_owned()),
            Self::From(first, last) => Some(format!("from {first} to {last}")),
            Self::Multiples(of, first, last) if last > i64::from(u32::MAX) => {
                Some(format!("a multiple of {of} from {first} on"))
            }
            Self::Multiples(of, first, last) => Some(format!("a multiple of {of} from {first} to {last}")),
            Self::These([only]) => Some(format!("only {only}")),
            Self::These(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(ToString::to_string).collect();
                Some(format!("one of {}", numbers.join(", ")))
            }
        }
    }
}

/// The operands of particular instructions.
fn special(operation: Operation, name: &str) -> Option<&'static str> {
    use Operation as O;
    Some(match (operation, name) {
        (O::Shfl | O::ShflSync, "a") => "the value that other lanes read",
        (O::Shfl | O::ShflSync, "b") => "the lane, the distance or the mask that says which lane is read",
        (O::Shfl | O::ShflSync, "c") => {
            "bits 0-4: the last lane that can be read; bits 8-12: which bits of the lane's number make a segment"
        }
        (O::Bfe, "a") => "the value that the field is taken from",
        (O::Bfe, "b") => "the position of the field's lowest bit",
        (O::Bfe, "c") => "the number of bits",
        (O::Bfi, "f") => "the result",
        (O::Bfi, "a") => "the value whose low bits are inserted",
        (O::Bfi, "b") => "the value that they are inserted into",
        (O::Bfi, "c") => "the position of the field's lowest bit",
        (O::Bfi, "d") => "the number of bits",
        (O::Bmsk, "a") => "the position of the lowest one",
        (O::Bmsk, "b") => "the number of ones",
        (O::Szext, "b") => "the number of bits that count",
        (O::Prmt, "c") => "four digits of 4 bits, each the number of a byte; its top bit replicates the sign",
        (O::Shf, "a") => "the low 32 bits",
        (O::Shf, "b") => "the high 32 bits",
        (O::Shl | O::Shr | O::Shf, "b" | "c") => "by how many bits",
        (O::Shl | O::Shr, "a") => "the value that is shifted",
        (O::Selp, "c") => "which of the two is the result: `a` if it is true",
        (O::Slct, "c") => "which of the two is the result: `a` if it is not negative",
        (O::Set | O::Setp, "c") => "the predicate that the outcome is joined with",
        (O::Mapa, "b") => "the rank of the CTA in the cluster",
        (O::BarrierSync | O::BarrierArrive | O::BarrierPopc | O::BarrierPredicate, "a") => {
            "the number of the barrier"
        }
        (O::BarrierSync | O::BarrierArrive | O::BarrierPopc | O::BarrierPredicate, "b") => {
            "the number of threads that take part"
        }
        (O::Atom, "d") => "what stood there before",
        (O::Atom | O::Red | O::RedAsync | O::RedAsyncRelease, "b") => "the value that is combined with it",
        (O::Atom, "c") => "what is stored if `b` stood there",
        (O::ElectSync, "d") => "the elected lane; `p` is whether it is this one",
        (O::Mad | O::MadFloat | O::Fma | O::FmaHalf | O::FmaMixed | O::Mad24 | O::FmaNarrow, "c") => {
            "what is added to the product"
        }
        (O::Ldmatrix | O::LdmatrixUnpack | O::LdmatrixSigned | O::Stmatrix, "p") => {
            "the address of a row: lanes 0-7 hold those of the first matrix, 8-15 those of the second, and so on"
        }
        (O::Ldmatrix | O::LdmatrixUnpack | O::LdmatrixSigned, "r") => "the registers, one for each matrix",
        (O::Stmatrix, "r") => "the registers, one for each matrix",
        (O::FenceProxyTensormap, "addr") => "the address of the tensor map",
        (O::FenceProxyTensormap | O::TensormapCpFenceproxy, "size") => "the bytes of a tensor map, 128",
        (O::MbarrierInit, "count") => "the number of arrivals that each phase expects",
        (O::MbarrierPendingCount, "count") => "the number of arrivals that were left",
        (O::ClusterlaunchcontrolTryCancel, "addr") => "where the answer of 16 bytes goes",
        (O::CpAsyncMbarrierArrive, "addr") => "the mbarrier",
        (O::TensormapReplace, "addr") | (O::TensormapQueryAllocClassLarge, "a") => "the tensor map",
        (O::MmaSp, "e") => "the metadata: which elements of A are not zero",
        (O::MmaSp, "f") => "the sparsity selector: which threads hold the metadata",
        (O::CpAsync, "src-size") => {
            "how many bytes are copied, the rest is zeros; or a predicate that ignores the source"
        }
        (O::BrxIdx, "tlist") => "the label of the `.branchtargets`",
        (O::Nanosleep, "t") => "nanoseconds",
        (O::Alloca, "size") => "the number of bytes",
        (O::StBulk, "size") => "the number of bytes, a multiple of 8",
        (O::StBulk, "initval") => "the value, 0",
        (O::Discard | O::Applypriority, "size") => "128, the number of bytes",
        (O::WmmaLoad | O::WmmaStore, "p") => "the address of the matrix",
        (O::WmmaLoad | O::WmmaStore, "stride") => "the distance of rows or columns, in elements",
        (
            O::AddMixed
            | O::SubMixed
            | O::AddPacked
            | O::SubPacked
            | O::AddDown
            | O::SubDown
            | O::MulDown
            | O::MulHalves,
            "c",
        ) => "the second source",
        (O::Tex | O::Tld4, "e") => "the offset in texels",
        (O::Tex | O::Tld4, "f") => "the depth that is compared with",
        (O::Lop3Predicate, "q") => "the predicate that the outcome is joined with",
        (O::BarrierPopc, "c") => "the predicate that is counted",
        (O::BarrierPredicate, "c") => "the predicate that is reduced",
        (O::WmmaMma | O::Mma | O::MmaSp | O::WgmmaMmaAsync | O::WgmmaMmaAsyncSp, "a") => "the matrix A",
        (O::WmmaMma | O::Mma | O::MmaSp, "b") => "the matrix B",
        (O::WmmaMma | O::Mma | O::MmaSp, "c") => "the matrix C, which is added to the product",
        (O::MultimemRed | O::MultimemRedAsync | O::Sured, "b" | "c") => "the value that is combined with it",
        (O::Testp | O::Isspacep | O::Istypep, "p") => "whether it is so",
        (O::Fns, "mask") => "the mask",
        (O::Fns, "base") => "the bit to start from",
        (O::Fns, "offset") => "which set bit: positive upwards, negative downwards",
        _ => return None,
    })
}

/// Operands that are called what they are.
fn common(name: &str) -> Option<&'static str> {
    Some(match name {
        "membermask" => "the mask of the lanes that take part; each of them has to execute the instruction",
        "cache-policy" => "the cache policy that `createpolicy` made",
        "ctaMask" => "the mask of CTAs: a bit for each CTA of the cluster",
        "txCount" => "the number of bytes",
        "count" => "the number of arrivals, 1 without it",
        "state" => "the state of the phase, from an arrival",
        "phaseParity" => "the parity of the phase that is waited for: 0 or 1",
        "suspendTimeHint" => "for how many nanoseconds the thread may be suspended",
        "waitComplete" => "whether the phase is complete",
        "reportValue" => "what was reported of the data",
        "addr" => "the mbarrier",
        "mbar" | "bar" => "the mbarrier that counts the bytes",
        "size" | "sizeBytes" => "the number of bytes, a multiple of 16",
        "dstMem" => "where the data goes",
        "srcMem" => "where the data comes from",
        "dst" => "where it goes",
        "src" => "where it comes from",
        "cp-size" => "the number of bytes: 4, 8 or 16",
        "tensorMap" => "the tensor map, and the coordinates of the box",
        "im2colInfo" => "the offsets of the im2col box",
        "byteMask" | "bytemask" => "the bytes of each 16 that are copied",
        "ignoreBytesLeft" => "how many bytes at the start are ignored",
        "ignoreBytesRight" => "how many bytes at the end are ignored",
        "n" | "N" => "how many of the latest groups may still be incomplete",
        "immLut" => "the truth table: the function of 0xF0, 0xCC and 0xAA",
        "scale-factor" => "the scale",
        "rbits" => "the random bits",
        "b-desc" => "the shared-memory descriptor of B",
        "scale-d" => "whether D is added: false for `D = A * B`",
        "imm-scale-a" => "1, or -1 to negate A",
        "imm-scale-b" => "1, or -1 to negate B",
        "imm-trans-a" => "1 to transpose A, else 0",
        "imm-trans-b" => "1 to transpose B, else 0",
        "sp-meta" => "the metadata: which elements of A are not zero",
        "sp-sel" => "the sparsity selector: which threads hold the metadata",
        "scale-a-data" => "the scales of A",
        "scale-b-data" => "the scales of B",
        "selector-a" => "which byte, and which threads, hold the scales of A",
        "selector-b" => "which byte, and which threads, hold the scales of B",
        "imm-reg-count" => "the number of registers of each thread, from 24 to 256, a multiple of 8",
        "try_cancel_response" => "the answer to the request",
        "pred" => "whether it is so",
        "ord" => "the dimension",
        "new_val" => "the new value",
        "primary-size" | "total-size" => "a number of bytes",
        "fraction" => "the fraction of accesses, 1.0 without it",
        "access-property" => "the access property",
        "immAlign" => "the alignment",
        "lod" => "the mipmap level",
        "dPdx" => "the gradient in x",
        "dPdy" => "the gradient in y",
        "tgt" => "where execution continues",
        "index" => "which label, counted from 0",
        "func" => "the function",
        "ret-param" => "what it returns",
        "param-list" => "what it is given",
        "flist" => "what may be called, for a call through a register",
        "mdata" => "the metadata",
        "cdata" => "the compressed elements",
        "data" => "the elements",
        _ => return None,
    })
}

fn by_role(row: &Row, slot: &OperandSlot) -> &'static str {
    match (slot.role, slot.name) {
        (Role::Address(..), _) if row.has_group_word(Modifier::Flag(Flag::Tensormap)) => "the tensor map",
        (Role::Address(Access::Read, _), _) => "where it reads",
        (Role::Address(Access::Write, _), _) => "where it writes",
        (Role::Address(Access::ReadWrite, _), _) => "what it changes",
        (Role::Address(Access::None, _), _) => "the place",
        (Role::Destination, _) if slot.ty == TypeRule::Fixed(Type::Pred) => "the outcome",
        (Role::Destination, _) => "the result",
        (Role::Accumulator, _) => "the matrix that is added to, and the result",
        (Role::Source, "b" | "c") if row.operands.first().is_some_and(is_written_place) => {
            "the value that is stored"
        }
        (Role::Source, "a") if row.operands.iter().filter(|it| it.role == Role::Source).count() == 1 => {
            "the source"
        }
        (Role::Source, "a") => "the first source",
        (Role::Source, "b") => "the second source",
        (Role::Source, "c") => "the third source",
        (Role::Source, _) => "a source",
        (Role::Label, _) => "a label",
        (Role::Callee, _) => "the function",
        (Role::Results, _) => "what it returns",
        (Role::Arguments, _) => "what it is given",
        (Role::Prototype, _) => "what may be called",
    }
}

fn is_written_place(slot: &OperandSlot) -> bool {
    matches!(slot.role, Role::Address(Access::Write, _))
}

impl Row {
    fn has_group_word(&self, word: Modifier) -> bool {
        self.modifiers.iter().any(|group| group.words.contains(&word))
    }
}

#[cfg(test)]
mod tests {
    use crate::generic::{Wanted, Words, rows};

    fn told(name: &str, nth: usize) -> Vec<String> {
        let row = rows().filter(|row| row.names.contains(&name)).nth(nth).unwrap();
        let slots = row.operands.iter();
        slots
            .map(|slot| {
                let words = Words { operation: row.operation, name, modifiers: &[] };
                let noun = row.operand_noun(slot, &Wanted::new(slot, &words));
                format!("{}: {}; {noun}", slot.name, row.operand_purpose(slot))
            })
            .collect()
    }

    #[test]
    fn operands_are_told_by_their_roles() {
        assert_eq!(
            told("mbarrier.arrive", 0)[2..4],
            [
                "addr: the mbarrier; an address in shared memory, read and written",
                "txCount: the number of bytes; a register or immediate of type `.b32`",
            ]
        );
        assert_eq!(
            told("cp.async.bulk", 0)[..2],
            [
                "dstMem: where the data goes; an address in shared memory, written",
                "srcMem: where the data comes from; an address in global memory, read",
            ]
        );
        assert_eq!(told("setp", 0)[0], "p: the outcome; a predicate, written");
    }

    #[test]
    fn every_operand_is_told() {
        for row in rows() {
            for slot in row.operands {
                let noun = row.operand_noun(slot, &Wanted::ANYTHING);
                assert!(!row.operand_purpose(slot).ends_with('.') && !noun.ends_with(' '), "{noun}");
            }
        }
    }
}
