//! The table of 9.7.16.10.5: how the rows of a matrix lie on the lanes of Tensor Memory.

use super::vocabulary::CtaGroup;

/// How the lanes of the four warps and the columns divide a matrix between them: by rows of the
/// matrix, times columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Organization {
    /// Each warp's lanes hold other rows, and all of their columns.
    FourByOne,
    /// Two warps' lanes hold the same rows, each half of their columns.
    TwoByTwo,
    /// All warps' lanes hold the same rows, each a quarter of their columns.
    OneByFour,
}

impl Organization {
    /// How many columns of Tensor Memory A takes at least: no kind has less than 32 bytes in a row. Where
    /// warps share a row, nothing is said.
    pub const fn columns_of_a(self) -> Option<u32> {
        match self {
            Self::FourByOne => Some(32 / 4),
            Self::TwoByTwo | Self::OneByFour => None,
        }
    }

    /// How many columns of Tensor Memory a matrix with `n` columns takes.
    pub const fn columns(self, n: u32) -> u32 {
        match self {
            Self::FourByOne => n,
            Self::TwoByTwo => n / 2,
            Self::OneByFour => n / 4,
        }
    }
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatapathLayout {
    /// The letter that the ISA gives it.
    pub id: char,
    /// Rows of A and D, over both CTAs of a pair.
    pub m: u32,
    /// The CTAs that multiply.
    pub cta_group: CtaGroup,
    /// Whether A is sparse; `None` for either.
    pub sparse: Option<bool>,
    /// Whether the multiply is weight-stationary; `None` for either.
    pub ws: Option<bool>,
    /// How the four warps' lanes and the columns divide the matrix.
    pub organization: Organization,
    /// Lanes, modulo 32, at which A, D and the metadata may start.
    pub lanes: &'static [u32],
}

impl DatapathLayout {
    /// How many of the 32 lanes of each warp hold the matrix: half of them where there are two ways to
    /// start it.
    pub fn lanes_of_group(&self) -> u32 {
        if self.lanes.len() > 1 { 16 } else { 32 }
    }
}

/// The table; layout E is 2x2 (errata E9).
#[rustfmt::skip]
pub const DATAPATH_LAYOUTS: &[DatapathLayout] = &[
    //        M    cta_group      sparse       .ws          organization  id   lane alignment
    datapath( 32, CtaGroup::One, None,        Some(true),  Organization::OneByFour,        'G', &[0]),
    datapath( 64, CtaGroup::One, None,        Some(true),  Organization::TwoByTwo,         'E', &[0]),
    datapath( 64, CtaGroup::One, None,        Some(false), Organization::FourByOne,        'F', &[0, 16]),
    datapath(128, CtaGroup::One, None,        None,        Organization::FourByOne,        'D', &[0]),
    datapath(128, CtaGroup::Two, Some(false), None,        Organization::TwoByTwo,         'B', &[0]),
    datapath(128, CtaGroup::Two, Some(true),  None,        Organization::FourByOne,        'C', &[0, 16]),
    datapath(256, CtaGroup::Two, None,        None,        Organization::FourByOne,        'A', &[0]),
];

const fn datapath(
    m: u32,
    cta_group: CtaGroup,
    sparse: Option<bool>,
    ws: Option<bool>,
    organization: Organization,
    id: char,
    lanes: &'static [u32],
) -> DatapathLayout {
    DatapathLayout { id, m, cta_group, sparse, ws, organization, lanes }
}

/// The layout of a multiply; `None` when `m` is no M of such a multiply.
///
/// The lane of a constant address of A, D or the sparsity metadata, modulo 32, has to be one of
/// the layout's [`lanes`](DatapathLayout::lanes); where there are two, the same one for all three
/// (9.7.16.10.8.5).
pub fn layout(m: u32, cta_group: CtaGroup, sparse: bool, ws: bool) -> Option<&'static DatapathLayout> {
    DATAPATH_LAYOUTS.iter().find(|layout| {
        layout.m == m
            && layout.cta_group == cta_group
            && layout.sparse.is_none_or(|wanted| wanted == sparse)
            && layout.ws.is_none_or(|wanted| wanted == ws)
    })
}

/// The fewest and the most columns that an accumulator with N columns may take: those of its layout,
/// or of every layout that such a multiply can have when `m` is not known.
pub fn accumulator_columns(
    m: Option<u32>,
    n: u32,
    cta_group: CtaGroup,
    sparse: bool,
    ws: bool,
) -> Option<(u32, u32)> {
    let columns = DATAPATH_LAYOUTS
        .iter()
        .filter(|it| m.is_none_or(|m| it.m == m))
        .filter(|it| layout(it.m, cta_group, sparse, ws).is_some_and(|own| std::ptr::eq(own, *it)))
        .map(|it| it.organization.columns(n));
    columns.clone().min().zip(columns.max())
}
