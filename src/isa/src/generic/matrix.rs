//! Matrices of a warp and of a warpgroup.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

/// Shapes, each as its three numbers.
macro_rules! shapes {
    ($([$m:literal $n:literal $k:literal])+) => {
        &[$(Modifier::Shape(Shape { m: $m, n: $n, k: $k })),+]
    };
}

const WMMA_SHAPES: &[Modifier] = shapes![
    [16 16 16] [8 32 16] [32 8 16] [16 16 8] [8 8 4] [8 8 32] [8 8 128]
];

const MMA_SHAPES: &[Modifier] = shapes![
    [8 8 4] [8 8 16] [8 8 32] [8 8 128] [16 8 4] [16 8 8] [16 8 16] [16 8 32] [16 8 64] [16 8 128] [16 8 256]
];

const SPARSE_SHAPES: &[Modifier] = shapes![[16 8 8] [16 8 16] [16 8 32] [16 8 64] [16 8 128]];

/// The products that a warpgroup can sum up, for types of 256, 128, ... bits.
const DEPTHS: [u16; 4] = [8, 16, 32, 256];

/// N goes up to 256 in steps of 8.
const WARPGROUP_SHAPES: &[Modifier] = &{
    let mut shapes = [Modifier::Shape(Shape { m: 64, n: 8, k: 8 }); 32 * DEPTHS.len()];
    let mut index = 0;
    while index < shapes.len() {
        let n = 8 + 8 * (index / DEPTHS.len()) as u16;
        shapes[index] = Modifier::Shape(Shape { m: 64, n, k: DEPTHS[index % DEPTHS.len()] });
        index += 1;
    }
    shapes
};

const SPARSE_WARPGROUP_SHAPES: &[Modifier] = &{
    let mut shapes = [Modifier::Shape(Shape { m: 64, n: 8, k: 16 }); 32 * 3];
    let mut index = 0;
    while index < shapes.len() {
        let n = 8 + 8 * (index / 3) as u16;
        shapes[index] = Modifier::Shape(Shape { m: 64, n, k: 2 * DEPTHS[index % 3] });
        index += 1;
    }
    shapes
};

const fn fragment(name: &'static str) -> OperandSlot {
    src(name, TypeRule::Fragment).form(Form::Fragment)
}

const fn result(name: &'static str) -> OperandSlot {
    dst(name, TypeRule::Fragment).form(Form::Fragment)
}

/// An address that is one in shared memory even where it is a generic one.
const fn shared(name: &'static str, access: Access) -> OperandSlot {
    address(name, access).space(SpaceRule::Fixed(Space::Shared))
}

const COLLECTIVE: Synchronization = Synchronization::WarpCollective;

const BLOCK_SCALED: &[Modifier] = &[Modifier::Flag(Flag::BlockScale)];

const fn scale(name: &'static str) -> OperandSlot {
    src(name, TypeRule::Fragment).when(BLOCK_SCALED)
}

const fn selector(name: &'static str) -> OperandSlot {
    src(name, B16).form(Form::Elements(2)).from(0, 3).when(BLOCK_SCALED)
}

/// 1, or -1 for the negative.
/// What only floating-point types have.
const fn sign(name: &'static str, integers: &'static [Modifier]) -> OperandSlot {
    immediate(name, B32).these(&[1, -1]).unless(integers)
}

/// What only types of 16 bits have.
const fn choice(name: &'static str) -> OperandSlot {
    immediate(name, B32).from(0, 1)
}

/// Types of the matrices of `wgmma` whose results are integers.
const INTEGERS: &[Modifier] = &[Modifier::Type(Type::S8), Modifier::Type(Type::U8), Modifier::Type(Type::B1)];
const SPARSE_INTEGERS: &[Modifier] = &[Modifier::Type(Type::S8), Modifier::Type(Type::U8)];
/// Those whose rows and columns have one order.
const UNTRANSPOSED: &[Modifier] = &[
    Modifier::Type(Type::Tf32),
    Modifier::Type(Type::E4m3),
    Modifier::Type(Type::E5m2),
    Modifier::Type(Type::S8),
    Modifier::Type(Type::U8),
    Modifier::Type(Type::B1),
];
const SPARSE_UNTRANSPOSED: &[Modifier] = UNTRANSPOSED.split_at(5).0;

/// Shapes that integers do not have: from N = 32 on, it goes up in steps of 16.
const fn odd_shapes<const COUNT: usize>(depths: &[u16]) -> [Modifier; COUNT] {
    let mut shapes = [Modifier::Shape(Shape { m: 64, n: 40, k: 32 }); COUNT];
    let mut index = 0;
    while index < COUNT {
        let n = 40 + 16 * (index / depths.len()) as u16;
        shapes[index] = Modifier::Shape(Shape { m: 64, n, k: depths[index % depths.len()] });
        index += 1;
    }
    shapes
}

const NO_SHAPES_OF_INTEGERS: &[Modifier] = &odd_shapes::<28>(&[32, 256]);
const NO_SHAPES_OF_SPARSE_INTEGERS: &[Modifier] = &odd_shapes::<14>(&[64]);

rows! { "Warp Level Matrix Multiply-Accumulate Instructions";
    WmmaLoad "wmma.load.a" "wmma.load.b" "wmma.load.c" [
            (Flag: Sync) (Flag: Aligned) (Layout: Row Col) (WMMA_SHAPES) {Space: Global Shared SharedCta}
            (Type: F16 Bf16 Tf32 F64 F32 S32 S8 U8 S4 U4 B1)
        ]
        (result("r"), address("p", Access::Read), src("stride", B32).optional())
        {title: Some("wmma.load"), synchronization: COLLECTIVE, lanes: Lanes::Differ,
         constraints: constraints![
            (Space: SharedCta) since(7, 8);
            (Type: Bf16 Tf32 F64) since(7, 0);
            (Type: Bf16 Tf32 F64) from(80);
        ]}
    WmmaStore "wmma.store.d" [
            (Flag: Sync) (Flag: Aligned) (Layout: Row Col) (WMMA_SHAPES) {Space: Global Shared SharedCta}
            (Type: F16 F32 S32 F64)
        ]
        (address("p", Access::Write), fragment("r"), src("stride", B32).optional())
        {title: Some("wmma.store"), synchronization: COLLECTIVE,
         constraints: constraints![
            (Space: SharedCta) since(7, 8);
            (Type: F64) since(7, 0);
            (Type: F64) from(80);
        ]}
    WmmaMma "wmma.mma" [
            {BooleanOperator: And Xor} {ReductionOperator: Popc} (Flag: Sync) (Flag: Aligned)
            (Layout: Row Col) (Layout: Row Col) (WMMA_SHAPES) {Rounding: Rn Rz Rm Rp}
            (Type: F16 F32 F64 S32) (Type: F16 Bf16 Tf32 F64 F32 S8 U8 S4 U4 B1)
            {Type: Bf16 Tf32 F64 S8 U8 S4 U4 B1} {Type: F32 F64 S32} {Flag: Satfinite}
        ]
        (result("d"), fragment("a"), fragment("b"), fragment("c"))
        {synchronization: COLLECTIVE, lanes: Lanes::Differ,
         constraints: constraints![
            (Type[1]: Bf16 Tf32 F64 S8 U8 S4 U4 B1) needs(Type[3]: F32 F64 S32);
            (Type[1]: Bf16 Tf32 F64) since(7, 0);
            (Type[1]: Bf16 Tf32 F64) from(80);
        ]}
    Mma "mma" [
            (Flag: Sync) (Flag: Aligned) (MMA_SHAPES) (Layout: Row Col) (Layout: Row Col)
            {MmaKind: F8f6f4 Mxf8f6f4 Mxf4 Mxf4nvf4} {Flag: BlockScale} {ScaleVector: X1 X2 X4}
            {Rounding: Rn Rz Rm Rp} {Flag: Satfinite} (Type: F16 F32 F64 S32)
            (Type: F16 Bf16 Tf32 F64 E4m3 E5m2 E3m2 E2m3 E2m1 S8 U8 S4 U4 B1)
            (Type: F16 Bf16 Tf32 F64 E4m3 E5m2 E3m2 E2m3 E2m1 S8 U8 S4 U4 B1)
            (Type: F16 F32 F64 S32) {Type: Ue8m0 Ue4m3} {BooleanOperator: And Xor} {ReductionOperator: Popc}
        ]
        (result("d"), fragment("a"), fragment("b"), fragment("c"),
         scale("scale-a-data"), selector("selector-a"), scale("scale-b-data"), selector("selector-b"))
        {synchronization: COLLECTIVE, lanes: Lanes::Differ,
         constraints: constraints![
            (no Flag: BlockScale) one_of([(Shape: [8 8 4] [16 8 8] [16 8 16]) (Type[0]: F16) (Type[1]: F16) (Type[2]: F16) (Type[3]: F16)] [(Shape: [8 8 4]) (Type[0]: F32) (Type[1]: F16) (Type[2]: F16) (Type[3]: F16 F32)] [(Shape: [16 8 8] [16 8 16]) (Type[0]: F32) (Type[1]: F16) (Type[2]: F16) (Type[3]: F32)] [(Shape: [16 8 8] [16 8 16]) (Type[0]: F32) (Type[1]: Bf16) (Type[2]: Bf16) (Type[3]: F32)] [(Shape: [16 8 4] [16 8 8]) (Type[0]: F32) (Type[1]: Tf32) (Type[2]: Tf32) (Type[3]: F32)] [(Shape: [8 8 4] [16 8 4] [16 8 8] [16 8 16]) (Type[0]: F64) (Type[1]: F64) (Type[2]: F64) (Type[3]: F64)] [(Shape: [16 8 16] [16 8 32]) (Type[0]: F16) (Type[1]: E4m3 E5m2) (Type[2]: E4m3 E5m2) (Type[3]: F16)] [(Shape: [16 8 16] [16 8 32]) (Type[0]: F32) (Type[1]: E4m3 E5m2) (Type[2]: E4m3 E5m2) (Type[3]: F32)] [(Shape: [8 8 16] [16 8 16] [16 8 32]) (Type[0]: S32) (Type[1]: S8 U8) (Type[2]: S8 U8) (Type[3]: S32)] [(Shape: [8 8 32] [16 8 32] [16 8 64]) (Type[0]: S32) (Type[1]: S4 U4) (Type[2]: S4 U4) (Type[3]: S32)] [(Shape: [8 8 128] [16 8 128] [16 8 256]) (Type[0]: S32) (Type[1]: B1) (Type[2]: B1) (Type[3]: S32) (ReductionOperator: Popc)] [(MmaKind: F8f6f4 Mxf8f6f4 Mxf4 Mxf4nvf4) (Shape: [16 8 16] [16 8 32]) (Type[0]: F16) (Type[1]: E4m3 E5m2 E3m2 E2m3 E2m1) (Type[2]: E4m3 E5m2 E3m2 E2m3 E2m1) (Type[3]: F16)] [(MmaKind: F8f6f4 Mxf8f6f4 Mxf4 Mxf4nvf4) (Shape: [16 8 16] [16 8 32]) (Type[0]: F32) (Type[1]: E4m3 E5m2 E3m2 E2m3 E2m1) (Type[2]: E4m3 E5m2 E3m2 E2m3 E2m1) (Type[3]: F32)]);
            (Flag: BlockScale) one_of([(MmaKind: Mxf8f6f4) (Shape: [16 8 32]) (Type[0]: F32) (Type[1]: E4m3 E5m2 E3m2 E2m3 E2m1) (Type[2]: E4m3 E5m2 E3m2 E2m3 E2m1) (Type[3]: F32)] [(MmaKind: Mxf4 Mxf4nvf4) (Shape: [16 8 64]) (Type[0]: F32) (Type[1]: E2m1) (Type[2]: E2m1) (Type[3]: F32)]);
            (Flag: BlockScale) needs(MmaKind: Mxf8f6f4 Mxf4 Mxf4nvf4);
            (ScaleVector: X1 X2 X4) needs(Flag: BlockScale);
            (Flag: BlockScale) needs(Type[4]: Ue8m0 Ue4m3);
            (MmaKind: Mxf8f6f4) excludes(ScaleVector: X2 X4 | Type: Ue4m3);
            (MmaKind: Mxf4) excludes(ScaleVector: X1 X4 | Type: Ue4m3);
            (ScaleVector: X2) excludes(Type: Ue4m3);
            (Flag: BlockScale) (MmaKind: Mxf4nvf4) needs(ScaleVector: X2 X4);
            (Shape: [16 8 4] [16 8 8] [16 8 16] [16 8 32] [16 8 64] [16 8 128] [16 8 256] [8 8 16] [8 8 32] [8 8 128]) excludes(Layout[0]: Col);
            (Shape: [16 8 4] [16 8 8] [16 8 16] [16 8 32] [16 8 64] [16 8 128] [16 8 256] [8 8 16] [8 8 32] [8 8 128]) excludes(Layout[1]: Row);
            (Type: F64) excludes(Layout[0]: Col);
            (Type: F64) excludes(Layout[1]: Row);
            (Flag: Satfinite) needs(Type[0]: S32);
            since(6, 4);
            (Type[0]: F16) (Type[1]: E4m3 E5m2) since(8, 7);
            (Shape: [16 8 16]) (Type[1]: E4m3 E5m2) since(8, 7);
            (Shape: [16 8 4] [16 8 16] [16 8 32] [16 8 64] [16 8 128] [16 8 256]) (no Type: F64) since(7, 0);
            (Shape: [16 8 4] [16 8 16] [16 8 32] [16 8 64] [16 8 128] [16 8 256]) (no Type: F64) from(80);
            (BooleanOperator: And) since(7, 1);
            (BooleanOperator: And) from(80);
            (ScaleVector: X4) (Type: Ue8m0) since(9, 1);
            (Type: Bf16 Tf32) since(7, 0);
            (Type: Bf16 Tf32) from(80);
            (Type: E4m3 E5m2) since(8, 4);
            (Type: E4m3 E5m2) from(89);
            (Type: E3m2 E2m3 E2m1) since(8, 7);
            (Type: E3m2 E2m3 E2m1) on(CONSUMER);
            (MmaKind: F8f6f4 Mxf8f6f4 Mxf4 Mxf4nvf4) since(8, 6);
            (Flag: BlockScale) since(8, 7);
            (Flag: BlockScale) on(CONSUMER);
        ]}
    MmaSp "mma.sp" "mma.sp::ordered_metadata" [
            (Flag: Sync) (Flag: Aligned) (SPARSE_SHAPES) (Layout: Row) (Layout: Col)
            {MmaKind: F8f6f4 Mxf8f6f4 Mxf4 Mxf4nvf4} {Flag: BlockScale} {ScaleVector: X1 X2 X4}
            {Flag: Satfinite} (Type: F16 F32 S32)
            (Type: F16 Bf16 Tf32 E4m3 E5m2 E3m2 E2m3 E2m1 S8 U8 S4 U4)
            (Type: F16 Bf16 Tf32 E4m3 E5m2 E3m2 E2m3 E2m1 S8 U8 S4 U4)
            (Type: F16 F32 S32) {Type: Ue8m0 Ue4m3}
        ]
        (result("d"), fragment("a"), fragment("b"), fragment("c"), src("e", TypeRule::Fragment), immediate("f", B32).from(0, 3),
         scale("scale-a-data"), selector("selector-a"), scale("scale-b-data"), selector("selector-b"))
        {synchronization: COLLECTIVE, lanes: Lanes::Differ,
         constraints: constraints![
            (no Flag: BlockScale) one_of([(Shape: [16 8 16] [16 8 32]) (Type[0]: F16) (Type[1]: F16) (Type[2]: F16) (Type[3]: F16)] [(Shape: [16 8 16] [16 8 32]) (Type[0]: F32) (Type[1]: F16) (Type[2]: F16) (Type[3]: F32)] [(Shape: [16 8 16] [16 8 32]) (Type[0]: F32) (Type[1]: Bf16) (Type[2]: Bf16) (Type[3]: F32)] [(Shape: [16 8 8] [16 8 16]) (Type[0]: F32) (Type[1]: Tf32) (Type[2]: Tf32) (Type[3]: F32)] [(Shape: [16 8 64]) (Type[0]: F16) (Type[1]: E4m3 E5m2) (Type[2]: E4m3 E5m2) (Type[3]: F16)] [(Shape: [16 8 64]) (Type[0]: F32) (Type[1]: E4m3 E5m2) (Type[2]: E4m3 E5m2) (Type[3]: F32)] [(Shape: [16 8 32] [16 8 64]) (Type[0]: S32) (Type[1]: S8 U8) (Type[2]: S8 U8) (Type[3]: S32)] [(Shape: [16 8 64] [16 8 128]) (Type[0]: S32) (Type[1]: S4 U4) (Type[2]: S4 U4) (Type[3]: S32)] [(MmaKind: F8f6f4 Mxf8f6f4 Mxf4 Mxf4nvf4) (Shape: [16 8 64]) (Type[0]: F16) (Type[1]: E4m3 E5m2 E3m2 E2m3 E2m1) (Type[2]: E4m3 E5m2 E3m2 E2m3 E2m1) (Type[3]: F16)] [(MmaKind: F8f6f4 Mxf8f6f4 Mxf4 Mxf4nvf4) (Shape: [16 8 64]) (Type[0]: F32) (Type[1]: E4m3 E5m2 E3m2 E2m3 E2m1) (Type[2]: E4m3 E5m2 E3m2 E2m3 E2m1) (Type[3]: F32)]);
            (Flag: BlockScale) one_of([(MmaKind: Mxf8f6f4) (Shape: [16 8 64]) (Type[0]: F32) (Type[1]: E4m3 E5m2 E3m2 E2m3 E2m1) (Type[2]: E4m3 E5m2 E3m2 E2m3 E2m1) (Type[3]: F32)] [(MmaKind: Mxf4 Mxf4nvf4) (Shape: [16 8 128]) (Type[0]: F32) (Type[1]: E2m1) (Type[2]: E2m1) (Type[3]: F32)]);
            (Flag: BlockScale) needs(MmaKind: Mxf8f6f4 Mxf4 Mxf4nvf4);
            (ScaleVector: X1 X2 X4) needs(Flag: BlockScale);
            (Flag: BlockScale) needs(Type[4]: Ue8m0 Ue4m3);
            (MmaKind: Mxf8f6f4) excludes(ScaleVector: X2 X4 | Type: Ue4m3);
            (MmaKind: Mxf4) excludes(ScaleVector: X1 X4 | Type: Ue4m3);
            (ScaleVector: X2) excludes(Type: Ue4m3);
            (Flag: BlockScale) (MmaKind: Mxf4nvf4) needs(ScaleVector: X2 X4);
            (Flag: Satfinite) needs(Type[0]: S32);
            since(7, 1);
            from(80);
            (Flag: BlockScale) on(CONSUMER_ARCHITECTURES);
            (Type[0]: F16) (Type[1]: E4m3 E5m2) since(8, 7);
            (Type: Bf16 Tf32) since(7, 0);
            (Type: Bf16 Tf32) from(80);
            (Type: E4m3 E5m2) since(8, 4);
            (Type: E4m3 E5m2) from(89);
            (Type: E3m2 E2m3 E2m1) since(8, 7);
            (Type: E3m2 E2m3 E2m1) on(CONSUMER);
            (MmaKind: F8f6f4 Mxf8f6f4 Mxf4 Mxf4nvf4) since(8, 6);
            (Flag: BlockScale) since(8, 7);
            (Flag: BlockScale) on(CONSUMER);
        ]}
    Ldmatrix "ldmatrix" [
            (Flag: Sync) (Flag: Aligned) (TileShape: M8n8 M16n16) (Count: X1 X2 X4) {Flag: Trans}
            {Space: Shared SharedCta} (Type: B16 B8)
        ]
        (result("r"), shared("p", Access::Read))
        {synchronization: COLLECTIVE, lanes: Lanes::Differ,
         constraints: constraints![
            (TileShape: M8n8) excludes(Type: B8);
            (Type: B16) excludes(TileShape: M16n16);
            (TileShape: M16n16) needs(Flag: Trans);
            (TileShape: M16n16) excludes(Count: X4);
            since(6, 5);
            (TileShape: M16n16) since(8, 6);
            (Space: SharedCta) since(7, 8);
            (Type: B8) since(8, 6);
            (TileShape: M16n16) on(BLACKWELL);
            (Type: B8) on(BLACKWELL);
        ]}
    LdmatrixUnpack "ldmatrix" [
            (Flag: Sync) (Flag: Aligned) (TileShape: M8n16 M16n16) (Count: X1 X2 X4) {Flag: Trans}
            {Space: Shared SharedCta} (Type: B8x16) (Type: B6x16P32 B4x16P64)
        ]
        (result("r"), address("p", Access::Read))
        {title: Some("ldmatrix"), synchronization: COLLECTIVE, lanes: Lanes::Differ,
         constraints: constraints![
            (TileShape: M8n16) excludes(Flag: Trans);
            (TileShape: M16n16) needs(Flag: Trans);
            (TileShape: M16n16) excludes(Count: X4);
            since(8, 6);
            on(BLACKWELL);
        ]}
    LdmatrixSigned "ldmatrix" [
            (Flag: Sync) (Flag: Aligned) (TileShape: M8n16) (Count: X1 X2 X4) {Space: Shared SharedCta}
            (Type: S8) (Type: S4)
        ]
        (result("r"), address("p", Access::Read))
        {title: Some("ldmatrix"), synchronization: COLLECTIVE, lanes: Lanes::Differ,
         constraints: constraints![
            since(9, 4);
            on(HOPPER_AND_BLACKWELL);
        ]}
    Stmatrix "stmatrix" [
            (Flag: Sync) (Flag: Aligned) (TileShape: M8n8 M16n8) (Count: X1 X2 X4) {Flag: Trans}
            {Space: Shared SharedCta} (Type: B16 B8)
        ]
        (shared("p", Access::Write), fragment("r")) {synchronization: COLLECTIVE,
         constraints: constraints![
            (TileShape: M8n8) excludes(Type: B8);
            (Type: B16) excludes(TileShape: M16n8);
            (TileShape: M16n8) needs(Flag: Trans);
            since(7, 8);
            (TileShape: M16n8) since(8, 6);
            (Type: B8) since(8, 6);
            from(90);
            (TileShape: M16n8) on(BLACKWELL);
            (Type: B8) on(BLACKWELL);
        ]}
    Movmatrix "movmatrix" [(Flag: Sync) (Flag: Aligned) (TileShape: M8n8) (Flag: Trans) (Type: B16)]
        (d(TypeRule::Fragment), a(TypeRule::Fragment)) {synchronization: COLLECTIVE, lanes: Lanes::Exchanged,
         constraints: constraints![
            since(7, 8);
        ]}
    WgmmaMmaAsync "wgmma.mma_async" [
            (Flag: Sync) (Flag: Aligned) (WARPGROUP_SHAPES) {Flag: Satfinite} (Type: F16 F32 S32)
            (Type: F16 Bf16 Tf32 E4m3 E5m2 S8 U8 B1) (Type: F16 Bf16 Tf32 E4m3 E5m2 S8 U8 B1)
            {BooleanOperator: And} {ReductionOperator: Popc}
        ]
        (OperandSlot::new("d", Role::Accumulator, TypeRule::Fragment, Form::Fragment), fragment("a"),
         src("b-desc", B64), src("scale-d", PRED).form(Form::Predicate).from(0, 1), sign("imm-scale-a", INTEGERS), sign("imm-scale-b", INTEGERS),
         choice("imm-trans-a").optional_unless(UNTRANSPOSED), choice("imm-trans-b").unless(UNTRANSPOSED))
        {synchronization: Synchronization::WarpgroupMultiply, lanes: Lanes::Differ,
         constraints: constraints![
            (Flag: Satfinite) needs(Type[0]: S32);
            (ReductionOperator: Popc) needs(Type[1]: B1);
            (Type[1]: B1) needs(BooleanOperator: And);
            (NO_SHAPES_OF_INTEGERS) excludes(Type[1]: S8 U8 B1);
            one_of([(Type[0]: F16 F32) (Type[1]: F16) (Type[2]: F16)] [(Type[0]: F32) (Type[1]: Bf16) (Type[2]: Bf16)] [(Type[0]: F32) (Type[1]: Tf32) (Type[2]: Tf32)] [(Type[0]: F16 F32) (Type[1]: E4m3 E5m2) (Type[2]: E4m3 E5m2)] [(Type[0]: S32) (Type[1]: S8 U8) (Type[2]: S8 U8)] [(Type[0]: S32) (Type[1]: B1) (Type[2]: B1) (ReductionOperator: Popc)]);
            since(8, 0);
            on(HOPPER);
        ]}
    WgmmaMmaAsyncSp "wgmma.mma_async.sp" [
            (Flag: Sync) (Flag: Aligned) (SPARSE_WARPGROUP_SHAPES) {Flag: Satfinite} (Type: F16 F32 S32)
            (Type: F16 Bf16 Tf32 E4m3 E5m2 S8 U8) (Type: F16 Bf16 Tf32 E4m3 E5m2 S8 U8)
        ]
        (OperandSlot::new("d", Role::Accumulator, TypeRule::Fragment, Form::Fragment), fragment("a"),
         src("b-desc", B64), src("sp-meta", TypeRule::Fragment), immediate("sp-sel", B32).from(0, 1),
         src("scale-d", PRED).form(Form::Predicate).from(0, 1), sign("imm-scale-a", SPARSE_INTEGERS), sign("imm-scale-b", SPARSE_INTEGERS),
         choice("imm-trans-a").optional_unless(SPARSE_UNTRANSPOSED), choice("imm-trans-b").unless(SPARSE_UNTRANSPOSED))
        {synchronization: Synchronization::WarpgroupMultiply, lanes: Lanes::Differ,
         constraints: constraints![
            (Flag: Satfinite) needs(Type[0]: S32);
            (NO_SHAPES_OF_SPARSE_INTEGERS) excludes(Type[1]: S8 U8);
            one_of([(Type[0]: F16 F32) (Type[1]: F16) (Type[2]: F16)] [(Type[0]: F32) (Type[1]: Bf16) (Type[2]: Bf16)] [(Type[0]: F32) (Type[1]: Tf32) (Type[2]: Tf32)] [(Type[0]: F16 F32) (Type[1]: E4m3 E5m2) (Type[2]: E4m3 E5m2)] [(Type[0]: S32) (Type[1]: S8 U8) (Type[2]: S8 U8)]);
            since(8, 2);
            on(HOPPER);
        ]}
    WgmmaFence "wgmma.fence" [(Flag: Sync) (Flag: Aligned)] ()
        {synchronization: Synchronization::WarpgroupFence,
         constraints: constraints![
            since(8, 0);
            on(HOPPER);
        ]}
    WgmmaCommitGroup "wgmma.commit_group" [(Flag: Sync) (Flag: Aligned)] ()
        {synchronization: Synchronization::WarpgroupCommit,
         constraints: constraints![
            since(8, 0);
            on(HOPPER);
        ]}
    WgmmaWaitGroup "wgmma.wait_group" [(Flag: Sync) (Flag: Aligned)] (immediate("N", B32).from(0, i64::MAX))
        {synchronization: Synchronization::WarpgroupWait,
         constraints: constraints![
            since(8, 0);
            on(HOPPER);
        ]}
}
