//! Kernels of one shape each.

use super::{BF16, Case, E2M1, E4M3, F16, F32, Random, Type, blocks, map, numbers, product, transposed};

fn field(rest: &str) -> String {
    format!("[[arg.fields]]\n{rest}\n")
}

fn buffer(bytes: usize, rest: &str) -> String {
    format!("[[arg]]\ntype = \"buffer\"\nbytes = {bytes}\n{rest}\n")
}

/// K = 96: rows of 48 bytes that straddle the atoms of a swizzle.
pub(crate) fn wide_k() -> Vec<Case> {
    let mut random = Random(10);
    let mut all = Vec::new();
    for (name, of_scale) in [("gemm_nvfp4_k96_128x128", 16), ("gemm_mxf4_k96_128x128", 32)] {
        let (m, n, k) = (128, 128, 768);
        let each = k / of_scale;
        let (mut a, mut b) = (random.matrix(m, k, E2M1), random.matrix(n, k, E2M1));
        let files = [("a.bin", E2M1.bytes(&a)), ("b.bin", E2M1.bytes(&b))];
        let [sfa, sfb] = [(&mut a, m), (&mut b, n)].map(|(matrix, rows)| {
            let (scales, codes) = random.scales(rows * each, of_scale == 16);
            matrix.iter_mut().enumerate().for_each(|(at, value)| *value *= scales[at / of_scale]);
            blocks(&codes, rows, each)
        });
        let pointer =
            |bytes: usize, rest: &str| field(&format!("type = \"buffer\"\nbytes = {bytes}\n{rest}"));
        let number = |value: usize| field(&format!("type = \"i32\"\nvalue = {value}"));
        let launch = format!(
            "grid = [1]\ndynamic_smem = 232000\n{}{}[[arg]]\ntype = \"struct\"\n{}{}{}{}{}{}",
            map("a.bin", E2M1, [k, m], [256, m], "128B"),
            map("b.bin", E2M1, [k, n], [256, n], "128B"),
            pointer(sfa.len(), "data = \"sfa.bin\""),
            pointer(sfb.len(), "data = \"sfb.bin\""),
            pointer(m * n * 2, "out = \"c.bin\""),
            number(m),
            number(n),
            number(1)
        );
        let files = files.into_iter().chain([("sfa.bin", sfa), ("sfb.bin", sfb)]).collect();
        let module = "gemm_nvfp4_k96_sm103a.ptx";
        let wanted = product(&a, &b, k);
        all.push(Case { module, name, launch, files, wanted, d: BF16, shape: [m, n, k] });
    }
    all
}

/// Operands that threads copy, without swizzle; M = 64 takes half of the lanes.
pub(crate) fn of_threads() -> Vec<Case> {
    let mut random = Random(11);
    let mut all = Vec::new();
    for (module, name, m, n) in [
        ("gemm_f16_simple_sm100a.ptx", "gemm_f16_simple_128x128", 128, 128),
        ("gemm_f16_simple_sm100a.ptx", "gemm_f16_simple_64x64", 64, 64),
        ("gemm_f16_tiny_sm100f.ptx", "gemm_f16_tiny_64x32", 64, 32),
    ] {
        let k = 128;
        let (a, b) = (random.matrix(m, k, F16), random.matrix(n, k, F16));
        let launch = format!(
            "grid = [1]\n{}{}{}{}",
            buffer(m * k * 2, "data = \"a.bin\""),
            buffer(n * k * 2, "data = \"b.bin\""),
            buffer(m * n * 4, "out = \"c.bin\""),
            numbers(&[n, k])
        );
        let files = vec![("a.bin", F16.bytes(&a)), ("b.bin", F16.bytes(&b))];
        let wanted = product(&a, &b, k);
        all.push(Case { module, name, launch, files, wanted, d: F32, shape: [m, n, k] });
    }
    all
}

/// Two CTAs, each of which loads half of B for both.
pub(crate) fn multicast() -> Case {
    let mut random = Random(12);
    let (m, n, k) = (256, 128, 128);
    let (a, b) = (random.matrix(m, k, F16), random.matrix(n, k, F16));
    let launch = format!(
        "grid = [2]\ncluster = [2]\ndynamic_smem = 230000\n{}{}{}{}",
        map("a.bin", F16, [k, m], [64, 128], "128B"),
        map("b.bin", F16, [k, n], [64, 64], "128B"),
        buffer(m * n * 2, "out = \"c.bin\""),
        numbers(&[m, n, 2])
    );
    let (module, name) = ("gemm_multicast_sm103a.ptx", "gemm_f16_shared_b_128x128");
    let files = vec![("a.bin", F16.bytes(&a)), ("b.bin", F16.bytes(&b))];
    Case { module, name, launch, files, wanted: product(&a, &b, k), d: F16, shape: [m, n, k] }
}

/// An accumulator that starts with a fourth of what threads have stored, and lanes that are left alone.
pub(crate) fn rescaled() -> Case {
    let mut random = Random(13);
    let (m, n, k) = (128, 64, 64);
    let (a, b) = (random.matrix(m, k, F16), random.matrix(n, k, F16));
    let bias: Vec<f64> = (0..n).map(|_| random.below(9) as f64 * 4.0).collect();
    let masks = [0x8000_0001_u32, 0x00F0_0F00, 0, 0x5555_0000];
    let masks_hex: String =
        masks.iter().flat_map(|mask| mask.to_le_bytes()).map(|it| format!("{it:02x}")).collect();
    let launch = format!(
        "grid = [1]\ndynamic_smem = 232000\n{}{}{}{}{}[[arg]]\ntype = \"bytes\"\nhex = \"{masks_hex}\"\n",
        map("a.bin", F16, [k, m], [64, m], "128B"),
        map("b.bin", F16, [k, n], [64, n], "128B"),
        buffer(n * 4, "data = \"bias.bin\""),
        buffer(m * n * 4, "out = \"c.bin\""),
        numbers(&[m, n])
    );
    let sums = product(&a, &b, k);
    let wanted = sums.iter().enumerate().map(|(at, sum)| {
        let (row, bias) = (at / n, bias[at % n]);
        if masks[row / 32] >> (row % 32) & 1 != 0 { bias } else { sum + bias / 4.0 }
    });
    Case {
        module: "conv_activation_stationary_sm100a.ptx",
        name: "gemm_rescaled_masked",
        launch,
        files: vec![("a.bin", F16.bytes(&a)), ("b.bin", F16.bytes(&b)), ("bias.bin", F32.bytes(&bias))],
        wanted: wanted.collect(),
        d: F32,
        shape: [m, n, k],
    }
}

/// A tensor map with what follows it as Triton passes it: the shape and the strides, in elements.
fn described(map: &str, columns: usize, rows: usize) -> String {
    let wide = |value: usize| format!("[[arg]]\ntype = \"u64\"\nvalue = {value}\n");
    format!("{map}{}{}{}", numbers(&[columns, rows]), wide(columns), wide(1))
}

/// What Gluon makes of a matrix multiply: a ring of stages, roles, a pair of CTAs.
pub(crate) fn gluon() -> Vec<Case> {
    let mut random = Random(14);
    let mut all = Vec::new();
    let fp8 = Type { element: "e4m3", ..E4M3 };
    for (module, name, ty, d, m) in [
        ("gluon_matmul_pipelined_sm100a.ptx", "matmul_pipelined", BF16, BF16, 128),
        ("gluon_matmul_roles_sm103a.ptx", "matmul_roles", fp8, F16, 128),
        ("gluon_matmul_pair_sm100a.ptx", "matmul_pair", F16, F16, 256),
    ] {
        let (n, block) = (128, 1024 / ty.bits as usize);
        let k = 6 * block;
        let (a, b) = (random.matrix(m, k, ty), random.matrix(n, k, ty));
        let is_pair = m == 256;
        let b_map = if is_pair {
            described(&map("b.bin", ty, [n, k], [64, 64], "128B"), n, k)
        } else {
            described(&map("b.bin", ty, [k, n], [block, n], "128B"), k, n)
        };
        let c_map = map("c.bin", d, [n, m], [64, 128], "128B").replace("data = ", "out = ");
        let launch = format!(
            "grid = [{}]\ncluster = [{}]\ndynamic_smem = 200000\n{}{b_map}{}{}{}{}",
            m / 128,
            m / 128,
            described(&map("a.bin", ty, [k, m], [block, 128], "128B"), k, m),
            described(&c_map, n, m),
            numbers(&[k]),
            buffer(16, ""),
            buffer(16, "")
        );
        let b_bytes = if is_pair { ty.bytes(&transposed(&b, k)) } else { ty.bytes(&b) };
        let files = vec![("a.bin", ty.bytes(&a)), ("b.bin", b_bytes)];
        let wanted = product(&a, &b, k);
        all.push(Case { module, name, launch, files, wanted, d, shape: [m, n, k] });
    }
    all
}

/// What Triton makes of a multiply with block scales.
pub(crate) fn scaled_by_triton() -> Vec<Case> {
    let mut random = Random(15);
    let mut all = Vec::new();
    for (module, ty, of_scale, n) in [
        ("triton_mxfp8_sm100a.ptx", E4M3, 32, 128),
        ("triton_mxfp4_sm100a.ptx", E2M1, 32, 256),
        ("triton_nvfp4_sm103a.ptx", E2M1, 16, 128),
    ] {
        let (m, block) = (128, 1024 / ty.bits as usize);
        let k = 2 * block;
        let each = k / of_scale;
        let (mut a, mut b) = (random.matrix(m, k, ty), random.matrix(n, k, ty));
        let files = [("a.bin", ty.bytes(&a)), ("b.bin", ty.bytes(&b))];
        // The blocks of the first 128 rows, then those of the next.
        let [sfa, sfb] = [(&mut a, m), (&mut b, n)].map(|(matrix, rows)| {
            let (scales, codes) = random.scales(rows * each, of_scale == 16);
            matrix.iter_mut().enumerate().for_each(|(at, value)| *value *= scales[at / of_scale]);
            codes.chunks(128 * each).flat_map(|tile| blocks(tile, 128, each)).collect::<Vec<u8>>()
        });
        let byte = Type { element: "u8", ..E4M3 };
        let bytes = k * ty.bits as usize / 8;
        let of_scales = |file: &str, rows: usize| {
            let (rows, each) = (rows / 128, each / 4);
            let wide: String = (0..5).map(|_| "[[arg]]\ntype = \"u64\"\nvalue = 1\n").collect();
            format!(
                "[[arg]]\ntype = \"tensor_map\"\nelement = \"u8\"\ndims = [256, 2, {each}, {rows}, 1]\n\
                 box = [256, 2, {}, {rows}, 1]\nswizzle = \"none\"\ndata = \"{file}\"\n{}{wide}",
                each / 2,
                numbers(&[1; 5])
            )
        };
        let c_map = map("c.bin", F16, [n, m], [64, 128], "128B").replace("data = ", "out = ");
        let launch = format!(
            "grid = [1]\ndynamic_smem = 230000\n{}{}{}{}{}{}{}{}",
            described(&map("a.bin", byte, [bytes, m], [128, m], "128B"), bytes, m),
            of_scales("sfa.bin", m),
            described(&map("b.bin", byte, [bytes, n], [128, n], "128B"), bytes, n),
            of_scales("sfb.bin", n),
            described(&c_map, n, m),
            numbers(&[k]),
            buffer(1 << 20, ""),
            buffer(1 << 20, "")
        );
        let files = files.into_iter().chain([("sfa.bin", sfa), ("sfb.bin", sfb)]).collect();
        let wanted = product(&a, &b, k);
        let name = "matmul_scaled";
        all.push(Case { module, name, launch, files, wanted, d: F16, shape: [m, n, k] });
    }
    all
}

/// A sparse A whose B stays: two multiplies, the metadata of which are in neighbouring columns.
pub(crate) fn sparse_weight_stationary() -> Case {
    let mut random = Random(16);
    let (m, n, stored, k) = (128, 64, 32, 64);
    let mut chosen = random.matrix(m, 64, F16);
    let b = random.matrix(n, k, F16);
    let mut a = vec![0.0; m * k];
    let mut cells = vec![0_u32; m * 4];
    for (row, chunk) in (0..m).flat_map(|row| (0..k / 4).map(move |chunk| (row, chunk))) {
        let pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)];
        let (first, second) = pairs[random.below(6) as usize];
        let kept = &chosen[row * 64 + chunk * 2..][..2];
        (a[row * k + chunk * 4 + first], a[row * k + chunk * 4 + second]) = (kept[0], kept[1]);
        let (step, bit) = (chunk / 8, chunk % 8 * 4);
        let (lane, bit) = (row / 16 * 16 + row % 8 + bit / 16 * 8, bit % 16 + row / 8 % 2 * 16);
        cells[lane * 4 + step] |= ((first | second << 2) as u32) << bit;
    }
    // The second half of a row of 128 bytes is not multiplied.
    chosen.chunks_mut(64).for_each(|row| row[stored..].fill(7.0));
    let launch = format!(
        "grid = [1]\ndynamic_smem = 232000\n{}{}{}{}{}",
        map("a.bin", F16, [64, m], [64, m], "128B"),
        map("b.bin", F16, [k, n], [k, n], "128B"),
        buffer(m * 16, "data = \"metadata.bin\""),
        buffer(m * n * 4, "out = \"c.bin\""),
        numbers(&[n])
    );
    let metadata = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
    Case {
        module: "conv_weight_stationary_sm100a.ptx",
        name: "conv_ws_sparse_f16_128x64",
        launch,
        files: vec![("a.bin", F16.bytes(&chosen)), ("b.bin", F16.bytes(&b)), ("metadata.bin", metadata)],
        wanted: product(&a, &b, k),
        d: F32,
        shape: [m, n, k],
    }
}
