//! Where the matrices of a multiply lie in Tensor Memory: D, A, metadata and scale factors (9.7.16.10.5, .7 and .8).

use crate::error::DrawError;
use crate::isa::datapath::{self, DatapathLayout};
use crate::isa::element_types::ElementType;
use crate::isa::mma_shapes::{self, Variant};
use crate::isa::scale_vectors;
use crate::isa::sparsity::{BITS_OF_CHUNK, Granularity, metadata_cell};
use crate::isa::vocabulary::{CtaGroup, Kind, ScaleVectorSize};
use crate::map::{Content, LANES, Map, WARP};
use crate::picture::{Block, Picture};
use crate::window::Window;

/// A multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiply {
    /// Its kind.
    pub kind: Kind,
    /// The CTAs that multiply.
    pub cta_group: CtaGroup,
    /// Whether it is weight-stationary.
    pub ws: bool,
    /// Whether A is sparse.
    pub sparse: bool,
    /// Rows of A and D, over both CTAs of a pair.
    pub m: u32,
    /// Columns of B and D.
    pub n: u32,
    /// K in elements; without it, that of the kind.
    pub k: Option<u32>,
    /// The type of the elements of A, if A lies in Tensor Memory.
    pub a: Option<ElementType>,
    /// The scale vector size, where it is written.
    pub scale_vector_size: Option<ScaleVectorSize>,
    /// The scale factor ids of A and B.
    pub scale_ids: (u32, u32),
    /// The sparsity selector.
    pub selector: u32,
    /// The lane of the addresses: 16 moves what uses half of the lanes to the other half.
    pub lane: u32,
}

/// One of the matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The accumulator.
    D,
    /// A in Tensor Memory.
    A,
    /// The metadata of a sparse A.
    Metadata,
    /// The scale factors of A.
    ScalesA,
    /// Those of B.
    ScalesB,
}

impl Shown {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::D, Self::A, Self::Metadata, Self::ScalesA, Self::ScalesB];

    /// Its name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::D => "d",
            Self::A => "a",
            Self::Metadata => "metadata",
            Self::ScalesA => "scales-a",
            Self::ScalesB => "scales-b",
        }
    }
}

/// What is known of a multiply that exists.
struct Layouts<'a> {
    multiply: &'a Multiply,
    layout: &'static DatapathLayout,
    k: u32,
    notes: Vec<String>,
}

/// The picture of all matrices that lie in Tensor Memory, or of one.
///
/// # Errors
/// When there is no such multiply or matrix, or the window shows nothing or too much.
pub fn picture(multiply: &Multiply, shown: Option<Shown>, window: &Window) -> Result<Picture, DrawError> {
    let (layout, k) = check(multiply)?;
    let mut layouts = Layouts { multiply, layout, k, notes: Vec::new() };
    let mut blocks = Vec::new();
    for which in Shown::ALL {
        if shown.is_some_and(|shown| shown != which) {
            continue;
        }
        for cta in 0..layout.ctas() {
            match layouts.map(which, cta)? {
                Some((title, map)) => {
                    let title =
                        if layout.ctas() == 1 { title } else { format!("CTA {cta} of the pair: {title}") };
                    blocks.push(Block::Grid(map.grid(title, window)?));
                }
                None if shown.is_some() => return Err(layouts.lacks(which)),
                None => {}
            }
        }
    }
    let mut notes = vec![format!(
        "Layout {} (9.7.16.10.5). Lanes and columns count from the address of each matrix.",
        layout.id
    )];
    if layout.lanes_of_group() < WARP {
        notes.push(format!(
            "Half of the lanes are used: 16 of each 32, those from lane {} on. A, D and metadata take the same half.",
            multiply.lane % WARP
        ));
    }
    if layout.parts() > 1 {
        notes.push(format!(
            "The columns of D are divided into {} parts, each in lanes of its own; A is held once for each of them.",
            layout.parts()
        ));
    }
    notes.append(&mut layouts.notes);
    let Multiply { kind, cta_group, ws, sparse, m, n, .. } = *multiply;
    let name = format!(
        "tcgen05.mma{}{}.{cta_group}.{kind}",
        if ws { ".ws" } else { "" },
        if sparse { ".sp" } else { "" },
    );
    Ok(Picture {
        title: format!("{name}, M = {m}, N = {n}, K = {k}: Tensor Memory"),
        blocks,
        legend: Vec::new(),
        notes,
    })
}

/// The layout and K, if there is such a multiply.
fn check(multiply: &Multiply) -> Result<(&'static DatapathLayout, u32), DrawError> {
    let Multiply { kind, cta_group, ws, sparse, m, n, k, lane, .. } = *multiply;
    let variant = Variant { kind, ws, cta_group, sparse };
    if mma_shapes::shapes(variant, None).next().is_none() {
        return Err(DrawError::helped(
            format!(
                "there is no {}{}multiply of `.{kind}` with `.{cta_group}`",
                if sparse { "sparse " } else { "" },
                if ws { "weight-stationary " } else { "" }
            ),
            "Table 39 has the combinations",
        ));
    }
    let ks: Vec<u32> = mma_shapes::shapes(variant, None).map(|shape| shape.k).collect();
    let k = k.or_else(|| ks.first().copied()).unwrap_or(0);
    if !ks.contains(&k) {
        return Err(refused("K", k, &sorted(ks)));
    }
    let allowed = mma_shapes::allowed_m(variant, Some(k));
    if !allowed.contains(&m) {
        return Err(refused("M", m, &allowed));
    }
    let allowed = mma_shapes::allowed_n(variant, Some(m), Some(k));
    if !allowed.contains(&n) {
        return Err(refused("N", n, &allowed));
    }
    let Some(layout) = datapath::layout(m, cta_group, sparse, ws) else {
        return Err(DrawError::new(format!("no layout of 9.7.16.10.5 has M = {m} here")));
    };
    if !layout.lanes.contains(&lane) {
        return Err(refused("the lane", lane, layout.lanes));
    }
    Ok((layout, k))
}

fn sorted(mut sizes: Vec<u32>) -> Vec<u32> {
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

#[cold]
fn refused(name: &str, value: u32, allowed: &[u32]) -> DrawError {
    DrawError::helped(
        format!("{name} cannot be {value} here"),
        format!("{name} is {}", mma_shapes::list(allowed)),
    )
}

impl Layouts<'_> {
    #[cold]
    fn lacks(&self, which: Shown) -> DrawError {
        match which {
            Shown::D => DrawError::new("every multiply has D"),
            Shown::A => {
                DrawError::helped("A lies in shared memory", "add `a=TYPE` if it lies in Tensor Memory")
            }
            Shown::Metadata if self.multiply.sparse => {
                DrawError::new("the ISA does not say how metadata lie where half of the lanes are used")
            }
            Shown::Metadata => DrawError::helped("a dense multiply has no metadata", "add `sp=yes`"),
            Shown::ScalesA | Shown::ScalesB => {
                DrawError::new(format!("`.{}` has no scale factors", self.multiply.kind))
            }
        }
    }

    /// A matrix in the Tensor Memory of a CTA of the group, if it lies there.
    fn map(&mut self, which: Shown, cta: u32) -> Result<Option<(String, Map)>, DrawError> {
        Ok(match which {
            Shown::D => Some(("D".to_owned(), self.d(cta))),
            Shown::A => match self.multiply.a {
                Some(element) => Some((format!("A, elements of {}", element.name()), self.a(element, cta)?)),
                None => None,
            },
            Shown::Metadata if self.multiply.sparse => self.metadata(cta),
            Shown::ScalesA | Shown::ScalesB if self.multiply.kind.is_block_scaled() => {
                Some(self.scales(which == Shown::ScalesA, cta)?)
            }
            Shown::Metadata | Shown::ScalesA | Shown::ScalesB => None,
        })
    }

    fn d(&self, cta: u32) -> Map {
        let Layouts { layout, multiply, .. } = self;
        let columns = multiply.n / layout.parts();
        let mut map = Map::new(columns, 1, ["row", "column"]);
        for part in 0..layout.parts() {
            for row in 0..layout.rows() {
                let lane = multiply.lane + layout.lane(row, part);
                for column in 0..columns {
                    let content = Content {
                        row: cta * layout.rows() + row,
                        first: part * columns + column,
                        count: 1,
                        tone: tone(row, part),
                    };
                    map.put(lane, (column, 0), content);
                }
            }
        }
        map
    }

    fn a(&mut self, element: ElementType, cta: u32) -> Result<Map, DrawError> {
        let Layouts { layout, multiply, k, .. } = *self;
        let bits = element.container_bits(multiply.kind);
        let k_of_a = if multiply.sparse { k / 2 } else { k };
        let each = 32 / bits;
        if !(k_of_a * bits).is_multiple_of(32) {
            return Err(DrawError::new(format!("{k_of_a} elements of {} fill no columns", element.name())));
        }
        if multiply.sparse && cta == 0 {
            self.notes.push(format!("A is sparse: {k_of_a} of {k} elements of a row are stored."));
        }
        if bits > element.bits() && cta == 0 {
            self.notes.push(format!(
                "Each element of A takes a byte; its {} bits stand in the middle of it (9.7.16.10.4.3).",
                element.bits()
            ));
        }
        let columns = k_of_a / each;
        let mut map = Map::new(columns, 1, ["row", "k"]);
        for part in 0..layout.parts() {
            for row in 0..layout.rows() {
                let lane = multiply.lane + layout.lane(row, part);
                for column in 0..columns {
                    let content = Content {
                        row: cta * layout.rows() + row,
                        first: column * each,
                        count: each,
                        tone: tone(row, 0),
                    };
                    map.put(lane, (column, 0), content);
                }
            }
        }
        Ok(map)
    }

    fn metadata(&mut self, cta: u32) -> Option<(String, Map)> {
        let Layouts { layout, multiply, k, .. } = *self;
        if layout.lanes_of_group() < WARP {
            if cta == 0 {
                self.notes.push(
                    "The ISA does not say how metadata lie where half of the lanes are used; they are not drawn."
                        .to_owned(),
                );
            }
            return None;
        }
        let of_row = Granularity::of_kind(multiply.kind).bits_of_row(k);
        // Of a pair of columns, the selector says which one if one is enough.
        let (columns, first) = if of_row > 32 { (of_row / 32, 0) } else { (2, multiply.selector.min(1)) };
        let chunks = 32 / BITS_OF_CHUNK;
        let mut map = Map::new(columns, chunks, ["row", "chunk"]);
        for part in 0..layout.parts() {
            for row in 0..layout.rows() {
                for chunk in 0..of_row / BITS_OF_CHUNK {
                    let (lane, column, bit) = metadata_cell(row, chunk, of_row);
                    let content = Content {
                        row: cta * layout.rows() + row,
                        first: chunk,
                        count: 1,
                        tone: row / 8 % 2 + 2 * (chunk / 4 % 2),
                    };
                    map.put(lane + part * layout.rows(), (first + column, bit / BITS_OF_CHUNK), content);
                }
            }
        }
        if cta == 0 {
            let chunk = Granularity::of_kind(multiply.kind).chunk();
            self.notes.push(format!(
                "Four bits of metadata say which elements of a chunk of {chunk} are stored. {}",
                if of_row > 32 { "" } else { "The sparsity selector chooses the column." }
            ));
        }
        Some(("metadata".to_owned(), map))
    }

    fn scales(&mut self, of_a: bool, cta: u32) -> Result<(String, Map), DrawError> {
        let Layouts { layout, multiply, k, .. } = *self;
        let kind = multiply.kind;
        let Some(size) = multiply.scale_vector_size.or_else(|| scale_vectors::default(kind)) else {
            let names: Vec<String> =
                scale_vectors::allowed(kind).iter().map(|it| format!("`.{it}`")).collect();
            return Err(DrawError::helped(
                format!("`.{kind}` needs a scale vector size"),
                format!("it is one of {}", names.join(", ")),
            ));
        };
        if !scale_vectors::allowed(kind).contains(&size) {
            let names: Vec<String> =
                scale_vectors::allowed(kind).iter().map(|it| format!("`.{it}`")).collect();
            return Err(DrawError::helped(
                format!("`.{kind}` has no `.{size}`"),
                format!("it has {}", names.join(", ")),
            ));
        }
        let id = if of_a { multiply.scale_ids.0 } else { multiply.scale_ids.1 };
        let name = if of_a { "sfa-id" } else { "sfb-id" };
        match scale_vectors::ids(kind, size, k, multiply.sparse) {
            Some(ids) if !ids.contains(&id) => return Err(refused(name, id, ids)),
            Some(_) => {}
            None => {
                return Err(DrawError::new(format!(
                    "the ISA does not say where scale factors lie for K = {k} of `.{kind}`"
                )));
            }
        }
        let count = scale_vectors::count(kind, size, k);
        // Those of A in every part, those of B with the columns that the part has.
        let lines = if of_a { layout.rows() } else { multiply.n / layout.parts() };
        let last = scale_vectors::columns(count, id, lines).map(|range| range.end).max().unwrap_or(1);
        let of_part = LANES / layout.parts();
        let mut map = Map::new(last, 4, [if of_a { "row" } else { "column" }, "factor"]);
        for part in 0..layout.parts() {
            let (lanes, first) = if of_a {
                (0..LANES, cta * lines)
            } else {
                (part * of_part..(part + 1) * of_part, part * lines)
            };
            for line in 0..lines {
                for number in 0..count {
                    let (lane, column, byte) = scale_vectors::cell(line, number, id, lines);
                    let content = Content { row: first + line, first: number, count: 1, tone: line / 32 };
                    for lane in lanes.clone().skip(lane as usize).step_by(WARP as usize) {
                        map.put(lane, (column, byte), content);
                    }
                }
            }
        }
        if of_a && cta == 0 {
            self.notes.push(format!(
                "Each row of A and column of B has {count} scale factor{} of a byte; each 32 lanes hold all of them \
                 (9.7.16.10.7). The id is the byte of the first one.",
                if count == 1 { "" } else { "s" }
            ));
        }
        let what = if of_a { "scale factors of A" } else { "scale factors of B" };
        Ok((format!("{what}, {name} = {id}"), map))
    }
}

/// Those of a warp look alike, those of parts do not.
const fn tone(row: u32, part: u32) -> u32 {
    row / WARP + part * 2
}
