//! Textures.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

const LEVEL: &[Modifier] = &[Modifier::Mipmap(Mipmap::Level)];
const GRAD: &[Modifier] = &[Modifier::Mipmap(Mipmap::Grad)];

const fn texture() -> OperandSlot {
    address("a", Access::Read).space(SpaceRule::Opaque)
}

rows! { "Texture Instructions";
    Tex "tex" [
            {Mipmap: Base Level Grad} (Geometry: D1 D2 D3 A1d A2d Cube Acube D2ms A2dms) (Vector: V2 V4)
            (Type: U32 S32 F16 F16x2 F32) (Type: S32 F32)
        ]
        (d(T1).form(Form::Vector).pair(Pair::Optional), texture(), src("lod", TypeRule::Any).when(LEVEL),
         src("dPdx", B32).form(Form::Fragment).when(GRAD), src("dPdy", B32).form(Form::Fragment).when(GRAD),
         src("e", B32).form(Form::Fragment).optional(), src("f", B32).form(Form::Fragment).optional())
        {lanes: Lanes::Memory,
         constraints: constraints![
            (Vector: V4) excludes(Type[0]: F16x2);
            (Mipmap: Level Grad) excludes(Geometry: D2ms A2dms);
            (Geometry: Cube Acube) excludes(Type[1]: S32);
            (Geometry: D2ms A2dms) excludes(Type[1]: F32);
        ]}
    Tld4 "tld4" [
            (Component: R G B A) (Geometry: D2 A2d Cube Acube) (Vector: V4) (Type: U32 S32 F32) (Type: F32)
        ]
        (d(T1).form(Form::Vector).pair(Pair::Optional), texture(),
         src("e", B32).form(Form::Fragment).optional(), src("f", B32).form(Form::Fragment).optional())
        {lanes: Lanes::Memory}
    Txq "txq" [
            {Mipmap: Level}
            (Query: Width Height Depth ChannelDataType ChannelOrder NormalizedCoords ArraySize
                NumMipmapLevels NumSamples ForceUnnormalizedCoords FilterMode AddrMode0 AddrMode1 AddrMode2)
            (Type: B32)
        ]
        (d(T1), address("a", Access::None).space(SpaceRule::Opaque), src("lod", B32).when(LEVEL)) {constraints: constraints![
            (Mipmap: Level) excludes(Query: ChannelDataType ChannelOrder NormalizedCoords ArraySize NumMipmapLevels NumSamples ForceUnnormalizedCoords FilterMode AddrMode0 AddrMode1 AddrMode2);
        ]}
    Istypep "istypep" [(Type: Texref Samplerref Surfref)] (dst("p", PRED), a(B64)) {}
}
