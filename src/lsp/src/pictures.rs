//! Pictures in hovers, as images whose data stand in the address.
//!
//! Only some editors show such images; others would show the address. So they are for clients of which that is known.

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use ptx_check::analysis::description::{Description, Word};
use ptx_check::instruction::Instruction;
use ptx_check::isa::vocabulary::SrcFormat;
use ptx_draw::copies::{self, Copied};
use ptx_draw::mma::{self, Multiply, Shown};
use ptx_draw::registers::{self, Moved};
use ptx_draw::window::Window;
use ptx_draw::{Picture, svg, words};

/// What an address in Markdown cannot have.
const SPECIAL: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'(')
    .add(b')')
    .add(b'<')
    .add(b'>')
    .add(b'[')
    .add(b']')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Columns of a fragment that are drawn.
const COLUMNS: u32 = 8;

/// Clients that show images in hovers.
pub(crate) fn are_shown_by(client: &str) -> bool {
    ["Visual Studio Code", "VSCodium", "Cursor", "Windsurf"].iter().any(|name| client.starts_with(name))
}

/// What a load, store or copy moves where, or where D of a multiply lies.
pub(crate) fn of_instruction(
    instruction: &Instruction<'_>,
    description: impl FnOnce() -> Option<Description>,
) -> Option<String> {
    let window = Window { lanes: None, columns: Some(0..COLUMNS) };
    let picture = match instruction {
        Instruction::Ld(ld) => {
            let (shape, num, packed) = (ld.shape.value, ld.num.value, ld.pack.is_some());
            registers::picture(&Moved { shape, num, packed, store: false, split: None }, &window)
        }
        Instruction::St(st) => {
            let (shape, num, packed) = (st.shape.value, st.num.value, st.unpack.is_some());
            registers::picture(&Moved { shape, num, packed, store: true, split: None }, &window)
        }
        Instruction::Cp(cp) => {
            let decompressed = cp.src_format.map(|source| match source.value {
                SrcFormat::B4x16P64 => 4,
                SrcFormat::B6x16P32 => 6,
            });
            let copied = Copied {
                shape: cp.shape.value,
                multicast: cp.multicast.map(|it| it.value),
                decompressed,
                cta_group: cp.cta_group.value,
            };
            copies::picture(&copied, &Window::default())
        }
        Instruction::Mma(mma) => {
            let multiply = description()?.multiply?;
            let multiply = Multiply {
                kind: mma.kind.value,
                cta_group: mma.cta_group.value,
                ws: mma.weight_stationary,
                sparse: mma.sparse.is_some(),
                m: multiply.m?,
                n: multiply.n?,
                k: multiply.k,
                a: None,
                scale_vector_size: None,
                scale_ids: (0, 0),
                selector: 0,
                lane: 0,
            };
            mma::picture(&multiply, Some(Shown::D), &Window::default())
        }
        Instruction::Alloc(_)
        | Instruction::Dealloc(_)
        | Instruction::RelinquishAllocPermit(_)
        | Instruction::Shift(_)
        | Instruction::Wait(_)
        | Instruction::Commit(_)
        | Instruction::Fence(_) => return None,
    };
    // What does not exist was found elsewhere.
    picture.ok().map(image)
}

/// The bits of a descriptor, if all of them are known.
pub(crate) fn of_word(word: &Word) -> Option<String> {
    word.is_known_from(0).then(|| image(words::bits_only(word.layout, word.known.value)))
}

fn image(mut picture: Picture) -> String {
    // The hover says it in words.
    picture.notes.clear();
    let title = picture.title.replace(['[', ']', '\n'], " ");
    let data = svg::render(&picture);
    format!("![{title}](data:image/svg+xml;utf8,{})\n", utf8_percent_encode(&data, SPECIAL))
}
