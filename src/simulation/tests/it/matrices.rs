//! Matrices between memory and registers: `ldmatrix` and `stmatrix`, compared with what an H100 does as far as it has
//! the form (fixtures/hardware/matrices.txt), and with the layouts that CUTLASS gives for bytes
//! (`SM100_U8x8_LDSM_T`, `SM100_U8x4_STSM_T` and their wider forms). And `.red` of `tcgen05.ld`.

use std::fs;

use ptx_simulation::launch::Argument;

use crate::{buffer, left, root};

/// A kernel of one warp. Its 512 bytes of shared memory come from its first argument; then it executes the body, with
/// `row`, a lane's address there, and the words `r0` to `r3` of the lane from after these bytes; then both go back.
fn kernel(lane_row: &str, body: &str) -> String {
    format!(
        ".version 9.0\n.target sm_103a\n.address_size 64\n.visible .entry k(.param .u64 m)\n.reqntid 32\n{{\n\
         .reg .b64 p, w, o; .reg .b32 lane, row, x, y, t; .reg .b32 r<4>; .reg .pred q;\n\
         .shared .align 16 .b8 tile[512]; .shared .align 4 .b32 slot;\n\
         ld.param.u64 p, [m]; mov.u32 lane, %laneid; mul.wide.u32 o, lane, 16; add.u64 w, p, o;\n\
         shl.b32 x, lane, 4; mov.u32 row, tile; add.u32 x, x, row;\n\
         .reg .b32 a<4>; ld.global.v4.b32 {{a0, a1, a2, a3}}, [w]; st.shared.v4.b32 [x], {{a0, a1, a2, a3}};\n\
         ld.global.v4.b32 {{r0, r1, r2, r3}}, [w+512];\n\
         {lane_row}\n bar.warp.sync -1;\n{body}\n bar.warp.sync -1;\n\
         ld.shared.v4.b32 {{a0, a1, a2, a3}}, [x]; st.global.v4.b32 [w], {{a0, a1, a2, a3}};\n\
         st.global.v4.b32 [w+512], {{r0, r1, r2, r3}};\nret;\n}}\n"
    )
}

/// Shared memory and the words of all lanes, after a body.
fn run(lane_row: &str, body: &str, shared: &[u8], words: &[u32]) -> (Vec<u8>, Vec<u32>) {
    let mut data = shared.to_vec();
    data.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    assert_eq!(data.len(), 1024);
    let arguments: Vec<Argument> = vec![buffer(data)];
    let output = left(&kernel(lane_row, body), arguments, 32);
    assert!(output.unknown.is_empty(), "{body}: {:?}", output.unknown);
    let words = output.bytes[512..].chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
    (output.bytes[..512].to_vec(), words.collect())
}

fn registers(count: usize) -> String {
    (0..count).map(|at| format!("r{at}")).collect::<Vec<String>>().join(", ")
}

#[test]
fn halves_go_where_the_hardware_has_them() {
    let text = fs::read_to_string(root().join("fixtures/hardware/matrices.txt")).unwrap();
    // Lane n has the address of row (5 * n + 3) % 32.
    let row = "mad.lo.u32 t, lane, 5, 3; and.b32 t, t, 31; shl.b32 t, t, 4; add.u32 row, row, t;";
    for block in text.split("> ").skip(1) {
        let mut lines = block.lines();
        let (name, form) = lines.next().unwrap().split_once('.').unwrap();
        let recorded: Vec<Vec<u32>> = lines
            .map(|line| line.split(' ').map(|word| u32::from_str_radix(word, 16).unwrap()).collect())
            .collect();
        let (count, trans) = form[1..].split_once('.').unwrap_or((&form[1..], ""));
        let (count, trans) = (count.parse::<usize>().unwrap(), if trans.is_empty() { "" } else { ".trans" });
        let list = registers(count);
        let opcode = format!("{name}.sync.aligned.m8n8.x{count}{trans}.shared.b16");
        if name == "ldmatrix" {
            let shared: Vec<u8> = (0..256_u16).flat_map(u16::to_le_bytes).collect();
            let (_, words) = run(row, &format!("{opcode} {{{list}}}, [row];"), &shared, &[0; 128]);
            for (at, word) in words.iter().enumerate().filter(|(at, _)| at % 4 < count) {
                assert_eq!(*word, recorded[at % 4][at / 4], "{form}");
            }
        } else {
            let halves = |at: u32| (2 * at) | ((2 * at + 1) << 16);
            let words: Vec<u32> = (0..128).map(|at| halves(at / 4 * 4 + at % 4)).collect();
            let (shared, _) = run(row, &format!("{opcode} [row], {{{list}}};"), &[0xFF; 512], &words);
            let stored: Vec<u32> =
                shared.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
            assert_eq!(stored, recorded.concat(), "{form}");
        }
    }
}

/// The byte of shared memory, rows of 16 one after the other, of byte `j` of a lane in the order of CUTLASS: bit
/// `256 * (lane % 4) + 8 * (lane / 4) + 128 * v0 + 64 * v1 + 1024 * v2` of a layout whose rows are in the order that
/// `row_of` says.
fn bit(lane: usize, j: usize) -> usize {
    256 * (lane % 4) + 8 * (lane / 4) + 128 * (j % 2) + 64 * (j / 2 % 2) + 1024 * (j / 4)
}

/// Rows of 16 bytes with 16 elements of so many bits, the first in the lowest bits. What follows them is ones.
fn narrow_rows(elements: &[u32], bits: usize, row_bytes: usize) -> Vec<u8> {
    let mut shared = vec![0xFF; 512];
    for (at, element) in elements.iter().enumerate() {
        for bit in 0..bits {
            let place = at / 16 * row_bytes * 8 + at % 16 * bits + bit;
            let byte = &mut shared[place / 8];
            *byte = *byte & !(1 << (place % 8)) | (((element >> bit & 1) as u8) << (place % 8));
        }
    }
    shared
}

#[test]
fn narrow_elements_are_expanded_to_bytes() {
    let row = "shl.b32 t, lane, 4; add.u32 row, row, t;";
    for (bits, source) in [(4, "b4x16_p64"), (6, "b6x16_p32")] {
        let elements: Vec<u32> =
            (0..512_u32).map(|at| (at * 29 + at / 16 * 7 + at / 128) % (1 << bits)).collect();
        let shared = narrow_rows(&elements, bits, 16);
        // Element (row, column) of matrix n is byte `column % 4` of register n of lane `4 * row + column / 4`.
        for count in [1, 2, 4] {
            let list = registers(count);
            let load =
                format!("ldmatrix.sync.aligned.m8n16.x{count}.shared.b8x16.{source} {{{list}}}, [row];");
            let (_, words) = run(row, &load, &shared, &[0; 128]);
            for (at, element) in elements.iter().enumerate().take(128 * count) {
                let (matrix, row, column) = (at / 128, at / 16 % 8, at % 16);
                let lane = 4 * row + column / 4;
                let byte = words[4 * lane + matrix] >> (8 * (column % 4)) & 0xFF;
                assert_eq!(byte, *element, "{source}, x{count}: matrix {matrix}, ({row}, {column})");
            }
        }
        // Transposed, they lie as bytes do.
        for count in [1, 2] {
            let list = registers(2 * count);
            let load = |types: &str| {
                format!("ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.{types} {{{list}}}, [row];")
            };
            let bytes: Vec<u8> = elements.iter().map(|element| *element as u8).collect();
            let (_, expected) = run(row, &load("b8"), &bytes, &[0; 128]);
            let (_, words) = run(row, &load(&format!("b8x16.{source}")), &shared, &[0; 128]);
            assert_eq!(words, expected, "{source}, x{count}");
        }
    }
}

#[test]
fn signed_elements_of_four_bits_are_expanded_to_bytes() {
    // Rows of eight bytes.
    let row = "shl.b32 t, lane, 3; add.u32 row, row, t;";
    let elements: Vec<u32> = (0..512_u32).map(|at| (at * 5 + at / 16 * 3 + at / 128) % 16).collect();
    let shared = narrow_rows(&elements, 4, 8);
    for count in [1, 2, 4] {
        let list = registers(count);
        let load = format!("ldmatrix.sync.aligned.m8n16.x{count}.shared::cta.s8.s4 {{{list}}}, [row];");
        let text = kernel(row, &load).replace(".version 9.0", ".version 9.4");
        let mut data = shared.clone();
        data.resize(1024, 0);
        let output = left(&text, vec![buffer(data)], 32);
        assert!(output.unknown.is_empty());
        for (at, element) in elements.iter().enumerate().take(128 * count) {
            let (matrix, row, column) = (at / 128, at / 16 % 8, at % 16);
            let lane = 4 * row + column / 4;
            let value = if *element < 8 { *element } else { 0xF0 | element };
            let byte = output.bytes[512 + 16 * lane + 4 * matrix + column % 4];
            assert_eq!(u32::from(byte), value, "x{count}: matrix {matrix}, ({row}, {column})");
        }
    }
}

#[test]
fn bytes_go_where_cutlass_has_them() {
    let shared: Vec<u8> = (0..512_usize).map(|at| (at * 167 + at / 256 * 59) as u8).collect();
    let row = "shl.b32 t, lane, 4; add.u32 row, row, t;";
    for count in [1, 2] {
        let list = registers(2 * count);
        let load = format!("ldmatrix.sync.aligned.m16n16.x{count}.trans.shared.b8 {{{list}}}, [row];");
        let (_, words) = run(row, &load, &shared, &[0; 128]);
        for (lane, words) in words.chunks(4).enumerate() {
            for matrix in 0..count {
                let loaded: Vec<[u8; 4]> =
                    words[2 * matrix..].iter().map(|word| word.to_le_bytes()).collect();
                let (first, second) = (loaded[0], loaded[1]);
                // How CUTLASS puts the registers together.
                let bytes =
                    [first[0], first[1], second[0], second[1], first[2], first[3], second[2], second[3]];
                for (j, byte) in bytes.into_iter().enumerate() {
                    // Lane l names the row at 128 * (l % 2) + 1024 * (l / 2 % 2) + 256 * (l / 4 % 4).
                    let at = bit(lane, j);
                    let named = at / 128 % 2 + at / 1024 * 2 + at / 256 % 4 * 4 + 16 * matrix;
                    assert_eq!(byte, shared[16 * named + at % 128 / 8], "x{count}, lane {lane}, byte {j}");
                }
            }
        }
    }
    let words: Vec<u32> = (0..128_u32).map(|at| at.wrapping_mul(0x9E37_79B1)).collect();
    for count in [1, 2, 4] {
        let list = registers(count);
        let store = format!("stmatrix.sync.aligned.m16n8.x{count}.trans.shared.b8 [row], {{{list}}};");
        let (shared, _) = run(row, &store, &[0xFF; 512], &words);
        let mut expected = [0xFF; 512];
        for (lane, words) in words.chunks(4).enumerate() {
            for (j, byte) in words[..count].iter().flat_map(|word| word.to_le_bytes()).enumerate() {
                expected[bit(lane, j) / 8] = byte;
            }
        }
        assert_eq!(shared, expected, "x{count}");
    }
}

#[test]
fn loads_of_tensor_memory_are_reduced() {
    // Four columns of a lane, and what is made of them.
    let load = |how: &str| {
        format!(
            "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32; bar.warp.sync -1; \
             ld.shared.b32 y, [slot]; tcgen05.st.sync.aligned.32x32b.x4.b32 [y], {{r0, r1, r2, r3}}; \
             tcgen05.wait::st.sync.aligned; \
             tcgen05.ld.red.sync.aligned.32x32b.x4.{how} {{a0, a1, a2, a3}}, r0, [y]; \
             tcgen05.wait::ld.sync.aligned; tcgen05.dealloc.cta_group::1.sync.aligned.b32 y, 32;"
        )
    };
    let words: Vec<u32> = (0..128_u32).map(|at| at.wrapping_mul(0x9E37_79B1) & 0xBF7F_FFFF).collect();
    let reduced = |how: &str| -> Vec<u32> {
        let (_, words) = run("", &load(how), &[0; 512], &words);
        words.chunks(4).map(|words| words[0]).collect()
    };
    let lanes = || words.chunks(4);
    let floats = |lane: &[u32]| lane.iter().map(|word| f32::from_bits(*word)).collect::<Vec<f32>>();
    for (how, expected) in [
        ("min.u32", lanes().map(|lane| *lane.iter().min().unwrap()).collect::<Vec<u32>>()),
        ("max.u32", lanes().map(|lane| *lane.iter().max().unwrap()).collect()),
        (
            "min.s32",
            lanes().map(|lane| lane.iter().map(|word| word.cast_signed()).min().unwrap() as u32).collect(),
        ),
        (
            "max.f32",
            lanes().map(|lane| floats(lane).into_iter().reduce(f32::max).unwrap().to_bits()).collect(),
        ),
        (
            "min.abs.f32",
            lanes()
                .map(|lane| floats(lane).into_iter().map(f32::abs).reduce(f32::min).unwrap().to_bits())
                .collect(),
        ),
        (
            "max.abs.NaN.f32",
            lanes()
                .map(|lane| floats(lane).into_iter().map(f32::abs).reduce(f32::max).unwrap().to_bits())
                .collect(),
        ),
    ] {
        assert_eq!(reduced(how), expected, "{how}");
    }
    // What becomes of a NaN no source says.
    let mut words = words.clone();
    words[4] = 0x7FC0_0000;
    let mut data = vec![0; 512];
    data.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    let output = left(&kernel("", &load("max.f32")), vec![buffer(data)], 32);
    let unknown: Vec<usize> = output.unknown.into_iter().flatten().collect();
    assert_eq!(unknown, (512 + 16..512 + 20).collect::<Vec<usize>>());
}
