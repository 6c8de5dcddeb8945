//! Kernels that compilers made, with data, and what they have to compute.
//!
//! The elements are small numbers whose sums are exact, so that results are equal or wrong.

#![allow(clippy::many_single_char_names, reason = "matrices and their sizes are called so")]

mod others;

pub(crate) use others::{
    gluon, multicast, of_threads, rescaled, scaled_by_triton, sparse_weight_stationary, wide_k,
};

/// How elements are encoded: bits, bits of the exponent, bits of the fraction; no exponent for integers.
#[derive(Clone, Copy)]
pub(crate) struct Type {
    pub(crate) element: &'static str,
    pub(crate) bits: u32,
    pub(crate) exponent: u32,
    pub(crate) fraction: u32,
}

pub(crate) const F16: Type = Type { element: "f16", bits: 16, exponent: 5, fraction: 10 };
pub(crate) const BF16: Type = Type { element: "bf16", bits: 16, exponent: 8, fraction: 7 };
pub(crate) const F32: Type = Type { element: "f32", bits: 32, exponent: 8, fraction: 23 };
pub(crate) const E4M3: Type = Type { element: "u8", bits: 8, exponent: 4, fraction: 3 };
pub(crate) const E5M2: Type = Type { element: "u8", bits: 8, exponent: 5, fraction: 2 };
pub(crate) const S8: Type = Type { element: "u8", bits: 8, exponent: 0, fraction: 7 };
pub(crate) const U8: Type = Type { element: "u8", bits: 8, exponent: 0, fraction: 8 };
/// Elements of less than 8 bits, of which 16 take 16 bytes, in global memory, too: the kernel expects as many bytes as it
/// has in shared memory, and of padded elements of a tensor map fewer come.
pub(crate) const E2M3: Type = Type { element: "u8", bits: 6, exponent: 2, fraction: 3 };
pub(crate) const E2M1_IN_BYTES: Type = Type { element: "u8", bits: 4, exponent: 2, fraction: 1 };
pub(crate) const E2M1: Type = Type { element: "e2m1", bits: 4, exponent: 2, fraction: 1 };

impl Type {
    /// The bits of a number that the type holds exactly, or rounded to nearest even.
    pub(crate) fn encode(self, value: f64) -> u32 {
        if self.exponent == 0 {
            return value as i32 as u32 & (u32::MAX >> (32 - self.bits));
        }
        let sign = u32::from(value.is_sign_negative()) << (self.bits - 1);
        let bias = (1 << (self.exponent - 1)) - 1;
        if value == 0.0 {
            return sign;
        }
        let power = (value.abs().log2().floor() as i32).max(1 - bias);
        let scaled = value.abs() * 2_f64.powi(self.fraction.cast_signed() - power);
        // A carry goes into the exponent by itself; a subnormal number has none.
        let kept = scaled.round_ties_even() as u32;
        sign | if kept >> self.fraction == 0 {
            kept
        } else {
            kept + ((power + bias - 1) as u32).wrapping_shl(self.fraction)
        }
    }

    /// Bytes of elements, one after the other from the lowest bit on.
    pub(crate) fn bytes(self, values: &[f64]) -> Vec<u8> {
        let mut bytes = vec![0; values.len() * self.container() / 8];
        for (at, value) in values.iter().enumerate() {
            // Padding follows sixteen elements.
            let bit = at / 16 * 16 * self.container() + at % 16 * self.bits as usize;
            let code = u64::from(self.encode(*value));
            for (byte, part) in bytes[bit / 8..].iter_mut().zip((code << (bit % 8)).to_le_bytes()) {
                *byte |= part;
            }
        }
        bytes
    }

    /// Bits that an element takes in shared memory.
    pub(crate) fn container(self) -> usize {
        if self.is_padded() { 8 } else { self.bits as usize }
    }

    /// Whether 16 of them take 16 bytes.
    pub(crate) fn is_padded(self) -> bool {
        self.element == "u8" && self.bits < 8
    }
}

/// Numbers that repeat in every run.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (self.0 >> 33) % count
    }

    /// A matrix of whole numbers, or of those that four bits hold.
    pub(crate) fn matrix(&mut self, rows: usize, columns: usize, ty: Type) -> Vec<f64> {
        let of_four = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
        (0..rows * columns)
            .map(|_| match ty.bits {
                4 => of_four[self.below(8) as usize] * if self.below(2) == 0 { 1.0 } else { -1.0 },
                8 if ty.fraction == 8 => self.below(7) as f64,
                _ => self.below(7) as f64 - 3.0,
            })
            .collect()
    }
}

impl Random {
    /// Scale factors and their codes, of ue4m3 or of ue8m0.
    pub(crate) fn scales(&mut self, count: usize, is_ue4m3: bool) -> (Vec<f64>, Vec<u8>) {
        let codes = if is_ue4m3 {
            [(0.5, 0x30), (1.0, 0x38), (1.5, 0x3C), (2.0, 0x40)]
        } else {
            [(0.5, 126), (1.0, 127), (2.0, 128), (4.0, 129)]
        };
        (0..count).map(|_| codes[self.below(4) as usize]).unzip()
    }
}

/// Rows of A by rows of B.
pub(crate) fn product(a: &[f64], b: &[f64], k: usize) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    a.chunks(k).flat_map(|a| b.chunks(k).map(move |b| dot(a, b))).collect()
}

fn transposed(matrix: &[f64], columns: usize) -> Vec<f64> {
    (0..columns).flat_map(|column| matrix.iter().skip(column).step_by(columns).copied()).collect()
}

/// Attention: for each row of Q, what its products with all rows of K make of the rows of V.
pub(crate) fn attention([q, k, v]: [&[f64]; 3], width: usize, scale: f64) -> Vec<f64> {
    let row = |q: &[f64]| {
        let dots: Vec<f64> = product(q, k, width).iter().map(|dot| dot * scale).collect();
        let largest = dots.iter().copied().fold(f64::MIN, f64::max);
        let weights: Vec<f64> = dots.iter().map(|dot| (dot - largest).exp()).collect();
        let total: f64 = weights.iter().sum();
        let column = |at: usize| weights.iter().zip(v.iter().skip(at).step_by(width));
        (0..width).map(|at| column(at).map(|(p, v)| p * v).sum::<f64>() / total).collect::<Vec<f64>>()
    };
    q.chunks(width).flat_map(row).collect()
}

/// The number that 16 bits are.
pub(crate) fn half(bits: u16) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1F), f64::from(bits & 0x3FF));
    let hidden = if exponent == 0 { 0.0 } else { 1024.0 };
    let value = (hidden + fraction) * 2_f64.powi(exponent.max(1) - 25);
    if bits >> 15 == 0 { value } else { -value }
}

/// All kernels.
pub(crate) fn all() -> Vec<Case> {
    let mut all = [dense(), layouts(), scaled(), triton(), weight_stationary()]
        .into_iter()
        .flatten()
        .collect::<Vec<Case>>();
    all.extend(sparse().into_iter().map(|(case, _)| case));
    all.extend([wide_k(), of_threads(), gluon(), scaled_by_triton()].into_iter().flatten());
    all.extend([multicast(), rescaled(), sparse_weight_stationary()]);
    all
}

/// A kernel with data.
pub(crate) struct Case {
    pub(crate) module: &'static str,
    pub(crate) name: &'static str,
    pub(crate) launch: String,
    pub(crate) files: Vec<(&'static str, Vec<u8>)>,
    /// What it leaves in `c.bin`, and the type that it has there.
    pub(crate) wanted: Vec<f64>,
    pub(crate) d: Type,
    /// M, N and K.
    pub(crate) shape: [usize; 3],
}

impl Case {
    /// Elements that differ from what should be there. An element may have less bits than it takes.
    pub(crate) fn differences(&self, result: &[u8]) -> usize {
        let size = result.len() / self.wanted.len();
        let is_other = |(at, wanted): (usize, &f64)| {
            let mut code = [0; 4];
            let bytes = size.min(self.d.bits as usize / 8);
            code[..bytes].copy_from_slice(&result[at * size..][..bytes]);
            let wanted = self.d.encode(*wanted);
            // -0 is not what sums give.
            let is_zero = wanted << (33 - self.d.bits) == 0 && self.d.exponent > 0;
            u32::from_le_bytes(code) != if is_zero { 0 } else { wanted }
        };
        self.wanted.iter().enumerate().filter(|it| is_other(*it)).count()
    }
}

/// A tensor map.
pub(crate) fn map(
    file: &str,
    ty: Type,
    [columns, rows]: [usize; 2],
    [width, height]: [usize; 2],
    swizzle: &str,
) -> String {
    format!(
        "[[arg]]\ntype = \"tensor_map\"\nelement = \"{}\"\ndims = [{columns}, {rows}]\nbox = [{width}, {height}]\n\
         swizzle = \"{swizzle}\"\ndata = \"{file}\"\n",
        ty.element
    )
}

pub(crate) fn numbers(all: &[usize]) -> String {
    all.iter().map(|it| format!("[[arg]]\ntype = \"u32\"\nvalue = {it}\n")).collect()
}

/// Scale factors in blocks of 512 bytes, 128 rows by four, as `tcgen05.cp.32x128b.warpx4` takes them.
fn blocks(scales: &[u8], rows: usize, each: usize) -> Vec<u8> {
    let mut all = Vec::new();
    for (from, group) in (0..each).step_by(4).flat_map(|from| (0..rows / 128).map(move |group| (from, group)))
    {
        for (lane, column) in (0..32).flat_map(|lane| (0..4).map(move |column| (lane, column))) {
            let row = group * 128 + column * 32 + lane;
            all.extend_from_slice(&scales[row * each + from..][..4]);
        }
    }
    all
}

/// Tiles by TMA, K-major, 128 bytes of K in a block. Those that are persistent compute two tiles.
pub(crate) fn dense() -> Vec<Case> {
    let mut random = Random(1);
    // The module, the kernel, A, B, D as it is stored, N, CTAs of a pair, and what the kernel does to the sign.
    let cases = [
        ("gemm_f16_tma_sm100a.ptx", "gemm_f16_128x128", F16, F16, F16, 128, 1, 1.0),
        ("gemm_f16_tma_sm100a.ptx", "gemm_bf16_128x64", BF16, BF16, BF16, 64, 1, 1.0),
        ("gemm_f16_tma_sm100a.ptx", "gemm_bf16_negated_128x32", BF16, BF16, F32, 32, 1, -1.0),
        ("gemm_fp8_tma_sm100f.ptx", "gemm_e4m3_e4m3_128x128", E4M3, E4M3, BF16, 128, 1, 1.0),
        ("gemm_fp8_tma_sm100f.ptx", "gemm_e5m2_e4m3_128x192", E5M2, E4M3, BF16, 192, 1, 1.0),
        ("gemm_i8_tma_sm100a.ptx", "gemm_s8_128x128", S8, S8, Type { bits: 32, ..S8 }, 128, 1, 1.0),
        ("gemm_tf32_tma_sm103a.ptx", "gemm_tf32_128x128", F32, F32, F32, 128, 1, 1.0),
        ("gemm_cta_pair_sm100a.ptx", "gemm_pair_f16_128x256", F16, F16, F16, 256, 2, 1.0),
        ("gemm_cta_pair_sm100a.ptx", "gemm_pair_tf32_256x64", F32, F32, F32, 64, 2, 1.0),
        ("gemm_cta_pair_sm100a.ptx", "gemm_pair_bf16_256x256", BF16, BF16, BF16, 256, 2, 1.0),
        ("gemm_cta_pair_sm100a.ptx", "gemm_pair_e4m3_256x128", E4M3, E4M3, BF16, 128, 2, 1.0),
        ("gemm_f16_tma_sm100a.ptx", "gemm_f16_128x256", F16, F16, F16, 256, 1, 1.0),
        ("gemm_i8_tma_sm100a.ptx", "gemm_u8s8_saturate_128x64", U8, S8, Type { bits: 32, ..S8 }, 64, 1, 1.0),
        ("gemm_fp8_tma_sm100f.ptx", "gemm_e4m3_e5m2_persistent_128x256", E4M3, E5M2, F16, 256, 1, 1.0),
        (
            "gemm_i8_tma_sm100a.ptx",
            "gemm_s8_persistent_128x256",
            S8,
            S8,
            Type { bits: 32, ..S8 },
            256,
            1,
            1.0,
        ),
        ("gemm_tf32_tma_sm103a.ptx", "gemm_tf32_persistent_128x64", F32, F32, F32, 64, 1, 1.0),
        ("gemm_bf16_persistent_sm100a.ptx", "gemm_bf16_persistent_128x128", BF16, BF16, BF16, 128, 1, 1.0),
        ("gemm_bf16_persistent_sm100a.ptx", "gemm_bf16_persistent_128x256", BF16, BF16, BF16, 256, 1, 1.0),
        (
            "gemm_bf16_persistent_debug_sm100f.ptx",
            "gemm_bf16_persistent_128x128",
            BF16,
            BF16,
            BF16,
            128,
            1,
            1.0,
        ),
        (
            "gemm_bf16_persistent_debug_sm100f.ptx",
            "gemm_bf16_persistent_128x256",
            BF16,
            BF16,
            BF16,
            256,
            1,
            1.0,
        ),
    ];
    let mut all = Vec::new();
    for (module, name, a_type, b_type, d, n, pair, sign) in cases {
        let of_tile = if name.contains("pair_f16_128") { 128 } else { 128 * pair };
        let m = if name.contains("persistent") { 2 * of_tile } else { of_tile };
        let block = 1024 / a_type.bits as usize;
        let (blocks, k) = (2, 2 * block);
        let (a, b) = (random.matrix(m, k, a_type), random.matrix(n, k, b_type));
        let cluster = if pair == 2 { "cluster = [2]\n" } else { "" };
        let launch = format!(
            "grid = [{pair}]\n{cluster}dynamic_smem = 230000\n{}{}\
             [[arg]]\ntype = \"buffer\"\nbytes = {}\nout = \"c.bin\"\n{}",
            map("a.bin", a_type, [k, m], [block, of_tile / pair], "128B"),
            map("b.bin", b_type, [k, n], [block, n / pair], "128B"),
            m * n * d.bits as usize / 8,
            numbers(&[m, n, blocks])
        );
        let files = [("a.bin", a_type.bytes(&a)), ("b.bin", b_type.bytes(&b))];
        let wanted = product(&a, &b, k).iter().map(|it| it * sign).collect();
        all.push(Case { module, name, launch, files: files.into(), wanted, d, shape: [m, n, k] });
    }
    all
}

/// How wide the box of an operand is in bytes, and whether it is MN-major.
type Box = (usize, bool);

/// The kernel, the type, N, the boxes of A and B, and the type of D.
pub(crate) const LAYOUTS: [(&str, Type, usize, [Box; 2], Type); 7] = [
    ("gemm_f16_k32_k32", F16, 64, [(32, false), (32, false)], F32),
    ("gemm_f16_k64_k64_half", F16, 128, [(64, false), (64, false)], F16),
    ("gemm_f16_m128_k128", F16, 128, [(128, true), (128, false)], F32),
    ("gemm_bf16_k128_n128", BF16, 128, [(128, false), (128, true)], F32),
    ("gemm_bf16_m64_n32_negated", BF16, 128, [(64, true), (32, true)], F32),
    ("gemm_tf32_m128_n128", F32, 128, [(128, true), (128, true)], F32),
    ("gemm_e4m3_k128_n128_half", E4M3, 128, [(128, false), (128, true)], F16),
];

/// One tile in every layout of shared memory: widths of swizzling, both majornesses, accumulators of half precision.
pub(crate) fn layouts() -> Vec<Case> {
    let mut random = Random(2);
    let mut all = Vec::new();
    for (name, ty, n, [a_box, b_box], d) in LAYOUTS {
        let (m, bytes) = (128, ty.bits as usize / 8);
        let k = 128 / bytes;
        let (a, b) = (random.matrix(m, k, ty), random.matrix(n, k, ty));
        let operand = |file: &str, matrix: &[f64], rows: usize, (width, is_mn_major): (usize, bool)| {
            let mode = match (width, bytes) {
                (128, 4) if is_mn_major => "128B_ATOM_32B",
                (32, _) => "32B",
                (64, _) => "64B",
                _ => "128B",
            };
            let width = width / bytes;
            if is_mn_major {
                (map(file, ty, [rows, k], [width, 128 / bytes], mode), ty.bytes(&transposed(matrix, k)))
            } else {
                (map(file, ty, [k, rows], [width, rows], mode), ty.bytes(matrix))
            }
        };
        let (a_map, a_bytes) = operand("a.bin", &a, m, a_box);
        let (b_map, b_bytes) = operand("b.bin", &b, n, b_box);
        let launch = format!(
            "grid = [1]\ndynamic_smem = 200000\n{a_map}{b_map}[[arg]]\ntype = \"buffer\"\nbytes = {}\n\
             out = \"c.bin\"\n{}",
            m * n * 4,
            numbers(&[n, k])
        );
        let files = [("a.bin", a_bytes), ("b.bin", b_bytes)];
        let sign = if name.ends_with("negated") { -1.0 } else { 1.0 };
        let wanted = product(&a, &b, k).iter().map(|it| it * sign).collect();
        let module = "gemm_layouts_sm103a.ptx";
        all.push(Case { module, name, launch, files: files.into(), wanted, d, shape: [m, n, k] });
    }
    all
}

/// The module, the kernel, the types, elements of a scale, N, CTAs.
pub(crate) const SCALED: [(&str, &str, Type, Type, usize, usize, usize); 15] = [
    ("gemm_mxfp8_sm100f.ptx", "gemm_mxf8_e4m3_128x128", E4M3, E4M3, 32, 128, 1),
    ("gemm_mxfp8_sm100f.ptx", "gemm_mxf8_e5m2_e4m3_128x256", E5M2, E4M3, 32, 256, 1),
    ("gemm_mxf4_sm100a.ptx", "gemm_mxf4_128x128", E2M1, E2M1, 32, 128, 1),
    ("gemm_nvfp4_sm100a.ptx", "gemm_nvfp4_128x128", E2M1, E2M1, 16, 128, 1),
    ("gemm_nvfp4_sm100a.ptx", "gemm_nvfp4_4x_128x256", E2M1, E2M1, 16, 256, 1),
    ("gemm_nvfp4_sm100a.ptx", "gemm_mxf4nvf4_ue8m0_2x_128x128", E2M1, E2M1, 32, 128, 1),
    ("gemm_mxf4_sm100a.ptx", "gemm_mxf4_block32_128x128", E2M1, E2M1, 32, 128, 1),
    ("gemm_mxf4_sm100a.ptx", "gemm_mxf4_unstated_128x256", E2M1, E2M1, 32, 256, 1),
    ("gemm_nvfp4_sm100a.ptx", "gemm_mxf4nvf4_ue8m0_block32_128x128", E2M1, E2M1, 32, 128, 1),
    ("gemm_mxfp8_sm100f.ptx", "gemm_mxf6_e2m3_mxf4_e2m1_128x128", E2M3, E2M1_IN_BYTES, 32, 128, 1),
    ("gemm_mxfp8_scale_vec_sm110a.ptx", "gemm_mxf6_e2m3_mxf4_e2m1_128x128", E2M3, E2M1_IN_BYTES, 32, 128, 1),
    ("gemm_mxfp8_scale_vec_sm110a.ptx", "gemm_mxf8_e4m3_128x128", E4M3, E4M3, 32, 128, 1),
    ("gemm_mxfp8_scale_vec_sm110a.ptx", "gemm_mxf8_e5m2_e4m3_128x256", E5M2, E4M3, 32, 256, 1),
    ("gemm_scaled_pair_sm100f.ptx", "gemm_pair_mxf8_256x256", E4M3, E4M3, 32, 256, 2),
    ("gemm_scaled_pair_sm100f.ptx", "gemm_pair_nvfp4_256x128", E2M1, E2M1, 16, 128, 2),
];

/// Block scales, in blocks of 512 bytes.
pub(crate) fn scaled() -> Vec<Case> {
    let mut random = Random(3);
    let mut all = Vec::new();
    for (module, name, a_type, b_type, of_scale, n, pair) in SCALED {
        let m = 128 * pair;
        // One block of K: 128 bytes.
        let k = 1024 / a_type.container();
        let each = k / of_scale;
        let (a, b) = (random.matrix(m, k, a_type), random.matrix(n, k, b_type));
        let (a_scales, a_codes) = random.scales(m * each, of_scale == 16);
        let (b_scales, b_codes) = random.scales(n * each, of_scale == 16);
        let scaled = |matrix: &[f64], scales: &[f64]| -> Vec<f64> {
            matrix.iter().enumerate().map(|(at, value)| value * scales[at / of_scale]).collect()
        };
        let wanted = product(&scaled(&a, &a_scales), &scaled(&b, &b_scales), k);
        let field = |rest: &str| format!("[[arg.fields]]\n{rest}\n");
        let buffer = |bytes: usize, rest: &str| field(&format!("type = \"buffer\"\nbytes = {bytes}\n{rest}"));
        let number = |value: usize| field(&format!("type = \"i32\"\nvalue = {value}"));
        let launch = format!(
            "grid = [{pair}]\ndynamic_smem = 232000\n{}{}[[arg]]\ntype = \"struct\"\n{}{}{}{}{}{}",
            map("a.bin", a_type, [k, m], [k, 128], "128B"),
            map("b.bin", b_type, [k, n], [k, n / pair], "128B"),
            buffer(m * each, "data = \"sfa.bin\""),
            buffer(n * each, "data = \"sfb.bin\""),
            buffer(m * n * 2, "out = \"c.bin\""),
            number(m),
            number(n),
            number(1)
        );
        let sfa = a_codes.chunks(128 * each).flat_map(|tile| blocks(tile, 128, each)).collect();
        let files = [
            ("a.bin", a_type.bytes(&a)),
            ("b.bin", b_type.bytes(&b)),
            ("sfa.bin", sfa),
            ("sfb.bin", blocks(&b_codes, n, each)),
        ];
        all.push(Case { module, name, launch, files: files.into(), wanted, d: BF16, shape: [m, n, k] });
    }
    all
}

/// What Triton makes of a matrix multiply: pointers, tensor maps made on the device, roles of warps, a cluster of two.
pub(crate) fn triton() -> Vec<Case> {
    let mut random = Random(5);
    let cases = [
        ("triton_matmul_fp16_sm100a.ptx", "matmul", F16, [256, 128, 192], 2, 1),
        ("triton_matmul_fp8_sm100a.ptx", "matmul", E4M3, [256, 256, 256], 2, 1),
        ("triton_matmul_persistent_sm100a.ptx", "matmul_descriptors", F16, [256, 256, 128], 2, 1),
        ("triton_matmul_warp_specialized_sm100a.ptx", "matmul_descriptors", BF16, [256, 256, 128], 2, 1),
        ("triton_matmul_cluster_sm103a.ptx", "matmul_descriptors", F16, [256, 128, 128], 2, 2),
    ];
    let mut all = Vec::new();
    for (module, name, ty, [m, n, k], grid, cluster) in cases {
        let (a, b) = (random.matrix(m, k, ty), random.matrix(n, k, ty));
        let buffer =
            |bytes: usize, rest: &str| format!("[[arg]]\ntype = \"buffer\"\nbytes = {bytes}\n{rest}\n");
        let (bytes, d) = if ty.bits == 8 { (1, F16) } else { (2, ty) };
        let dtype = format!("dtype = \"{}\"\n", if bytes == 1 { "u8" } else { "f16" });
        let strides = if name == "matmul" { numbers(&[k, k, n]) } else { String::new() };
        let launch = format!(
            "grid = [{grid}]\ncluster = [{cluster}]\ndynamic_smem = 230000\n{}{}{}{}{strides}{}{}",
            buffer(m * k * bytes, &format!("data = \"a.bin\"\n{dtype}shape = [{m}, {k}]")),
            buffer(n * k * bytes, &format!("data = \"b.bin\"\n{dtype}shape = [{n}, {k}]")),
            buffer(m * n * 2, "out = \"c.bin\""),
            numbers(&[m, n, k]),
            buffer(1 << 20, ""),
            buffer(1 << 20, "")
        );
        let files = [("a.bin", ty.bytes(&a)), ("b.bin", ty.bytes(&b))];
        let wanted = product(&a, &b, k);
        all.push(Case { module, name, launch, files: files.into(), wanted, d, shape: [m, n, k] });
    }
    all
}

/// A sparse A: of four numbers two, of two one, of eight two pairs, as the metadata says; and, by element of the packed A,
/// where it is along K.
pub(crate) fn sparse() -> Vec<(Case, Vec<usize>)> {
    let mut random = Random(6);
    // The kernel, the type, D, N, how many numbers a choice is among, and the bits of metadata of a row.
    let cases = [
        ("gemm_sparse_f16_128x128", F16, F16, 128, 4, 32),
        ("gemm_sparse_tf32_128x64", F32, F32, 64, 2, 32),
        ("gemm_sparse_e4m3_128x128", E4M3, BF16, 128, 4, 64),
        ("gemm_sparse_s8_128x128", S8, Type { bits: 32, ..S8 }, 128, 4, 64),
        ("gemm_sparse_mxf8_128x128", E4M3, BF16, 128, 4, 64),
        ("gemm_sparse_nvfp4_128x128", E2M1, BF16, 128, 8, 64),
    ];
    let mut all = Vec::new();
    for (name, ty, d, n, among, of_row) in cases {
        let (m, steps) = (128, 4);
        let packed = 1024 / ty.bits as usize;
        let k = 2 * packed;
        let (chosen, mut b) = (random.matrix(m, packed, ty), random.matrix(n, k, ty));
        let mut a = vec![0.0; m * k];
        // By lane and column: 32 bits.
        let columns = steps * of_row / 32;
        let mut cells = vec![0_u32; 128 * columns];
        // By element of the packed A: where it is along K.
        let mut places = Vec::new();
        let chunks = k / among;
        for (row, chunk) in (0..m).flat_map(|row| (0..chunks).map(move |chunk| (row, chunk))) {
            let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
            let (first, second) = if among == 2 {
                [(0, 1), (2, 3)][random.below(2) as usize]
            } else {
                pairs[random.below(6) as usize]
            };
            let kept = &chosen[row * packed + chunk * among / 2..];
            let at = row * k + chunk * among;
            // Along K, from the start of the chunk on.
            let along: Vec<usize> = match among {
                2 => vec![first / 2],
                4 => vec![first, second],
                _ => vec![2 * first, 2 * first + 1, 2 * second, 2 * second + 1],
            };
            for (along, kept) in along.iter().zip(kept) {
                a[at + along] = *kept;
                places.push(chunk * among + along);
            }
            let (step, bit) = (chunk * 4 / of_row, chunk * 4 % of_row);
            let (lane, column, bit) = if of_row == 64 {
                (row, step * 2 + bit / 32, bit % 32)
            } else {
                (row / 16 * 16 + row % 8 + bit / 16 * 8, step, bit % 16 + row / 8 % 2 * 16)
            };
            cells[lane * columns + column] |= ((first | second << 2) as u32) << bit;
        }
        // Sixteen bytes of each row, then the next sixteen.
        let metadata: Vec<u8> = (0..columns)
            .step_by(4)
            .flat_map(|from| (0..128).map(move |lane| lane * columns + from))
            .flat_map(|at| cells[at..at + 4].iter().flat_map(|cell| cell.to_le_bytes()).collect::<Vec<u8>>())
            .collect();
        let b_bytes = ty.bytes(&b);
        // A block of scales is of as many elements that are stored as of a dense A: of twice as many along K.
        let each = match name {
            "gemm_sparse_mxf8_128x128" => k / 64,
            "gemm_sparse_nvfp4_128x128" => k / 32,
            _ => 0,
        };
        let [scales_of_a, scales_of_b] = [(&mut a, m), (&mut b, n)].map(|(matrix, rows)| {
            let (scales, codes) = random.scales(rows * each, ty.bits == 4);
            for (at, value) in matrix.iter_mut().enumerate().filter(|_| each > 0) {
                *value *= scales[at / (k / each)];
            }
            blocks(&codes, rows, each)
        });
        let field = |rest: &str| format!("[[arg.fields]]\n{rest}\n");
        let buffer = |bytes: usize, rest: &str| field(&format!("type = \"buffer\"\nbytes = {bytes}\n{rest}"));
        let number = |value: usize| field(&format!("type = \"i32\"\nvalue = {value}"));
        let launch = format!(
            "grid = [1]\ndynamic_smem = 232000\n{}{}[[arg]]\ntype = \"struct\"\n{}{}{}{}{}{}{}",
            map("a.bin", ty, [packed, m], [packed, m], "128B"),
            map("b.bin", ty, [k, n], [packed, n], "128B"),
            buffer(metadata.len(), "data = \"metadata.bin\""),
            buffer(scales_of_a.len().max(16), "data = \"sfa.bin\""),
            buffer(scales_of_b.len().max(16), "data = \"sfb.bin\""),
            buffer(m * n * d.bits as usize / 8, "out = \"c.bin\""),
            number(m),
            number(n),
            number(1)
        );
        let files = [
            ("a.bin", ty.bytes(&chosen)),
            ("b.bin", b_bytes),
            ("metadata.bin", metadata),
            ("sfa.bin", scales_of_a),
            ("sfb.bin", scales_of_b),
        ];
        let module = "gemm_sparse_sm100a.ptx";
        let wanted = product(&a, &b, k);
        let case = Case { module, name, launch, files: files.into(), wanted, d, shape: [m, n, k] };
        all.push((case, places));
    }
    all
}

/// A zero-column mask: B starts eight columns further on; of seven columns, five are used and two count as zero. The two
/// halves of the columns start elsewhere in that pattern.
const MASK: u64 = 8 << 56 | 4 << 48 | 1 << 40 | 1 << 39 | 1 << 33 | 1 << 8 | 3;

/// B as a zero-column mask shows it: the columns of each sub-mask follow each other.
fn masked(b: &[f64], mask: u64, [m, n, k]: [usize; 3]) -> Vec<f64> {
    let byte = |at: u32| (mask >> at & 0xFF) as usize;
    let (shift, used, skipped) = (byte(56) & 63, byte(48) + 1, byte(40) + 1);
    let of_sub_mask = n * m / 128;
    let column = |column: usize| {
        let (sub_mask, at) = (column / of_sub_mask, column % of_sub_mask);
        let starts_with_zeros = mask >> (32 + sub_mask) & 1 != 0;
        let at = (at + byte(8 * sub_mask as u32)) % (used + skipped);
        let is_zero = if starts_with_zeros { at < skipped } else { at >= used };
        let is_zero = mask >> 39 & 1 != 0 && is_zero;
        let row = &b[(column + shift) * k..][..k];
        row.iter().map(move |value| if is_zero { 0.0 } else { *value }).collect::<Vec<f64>>()
    };
    (0..n).flat_map(column).collect()
}

/// `.ws`: the accumulator in the layouts of 32, 64 and 128 rows, B kept in the collector's buffers for three tiles of A.
pub(crate) fn weight_stationary() -> Vec<Case> {
    let mut random = Random(8);
    let cases = [
        ("conv_ws_f16_32x64", F16, F32, 32, 64),
        ("conv_ws_bf16_64x128", BF16, F32, 64, 128),
        ("conv_ws_tf32_128x128", F32, F32, 128, 128),
        ("conv_ws_e4m3_64x256", E4M3, F32, 64, 256),
        ("conv_ws_s8_32x128", S8, Type { bits: 32, ..S8 }, 32, 128),
        ("conv_ws_masked_f16_128x64", F16, F32, 128, 64),
        ("conv_ws_masked_f16_64x128", F16, F32, 64, 128),
    ];
    let mut all = Vec::new();
    for (name, ty, d, tile, n) in cases {
        let (m, block) = (3 * tile, 1024 / ty.bits as usize);
        let k = 2 * block;
        // By tile of A.
        let masks = if name.contains("masked") { [MASK, 0x0003_0280_0000_0000, 0] } else { [0; 3] };
        let rows_of_b = if name.contains("masked") { n + 32 } else { n };
        let (a, b) = (random.matrix(m, k, ty), random.matrix(rows_of_b, k, ty));
        let launch = format!(
            "grid = [1]\ndynamic_smem = 200000\n{}{}[[arg]]\ntype = \"buffer\"\nbytes = {}\nout = \"c.bin\"\n{}\
             [[arg]]\ntype = \"u64\"\nvalue = {}\n",
            map("a.bin", ty, [k, m], [block, tile], "128B"),
            map("b.bin", ty, [k, rows_of_b], [block, rows_of_b], "128B"),
            m * n * 4,
            numbers(&[n, 2]),
            masks[0]
        );
        let files = [("a.bin", ty.bytes(&a)), ("b.bin", ty.bytes(&b))];
        let module = "conv_weight_stationary_sm100a.ptx";
        let tiles = a.chunks(tile * k).zip(masks);
        let wanted = tiles.flat_map(|(a, mask)| product(a, &masked(&b, mask, [tile, n, k]), k)).collect();
        all.push(Case { module, name, launch, files: files.into(), wanted, d, shape: [m, n, k] });
    }
    all
}
