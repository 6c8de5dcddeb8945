//! Video: bytes and halves of registers.
#![allow(clippy::wildcard_imports, reason = "a chapter speaks the whole vocabulary")]

use super::*;

const SECOND: &[Modifier] = &[
    Modifier::SecondOperation(SecondOperation::Add),
    Modifier::SecondOperation(SecondOperation::Min),
    Modifier::SecondOperation(SecondOperation::Max),
];

/// What instructions of several bytes or halves read.
const REGISTERS: [OperandSlot; 3] =
    [a(U32).form(Form::Register), b(U32).form(Form::Register), c(U32).form(Form::Register)];

rows! { "Video Instructions";
    Vadd "vadd" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add Min Max}]
        (d(U32), a(U32), b(U32), c(U32).when(SECOND), c(U32).optional_unless(SECOND)) {}
    Vsub "vsub" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add Min Max}]
        (d(U32), a(U32), b(U32), c(U32).when(SECOND), c(U32).optional_unless(SECOND)) {}
    Vabsdiff "vabsdiff"
        [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add Min Max}]
        (d(U32), a(U32), b(U32), c(U32).when(SECOND), c(U32).optional_unless(SECOND)) {}
    Vmin "vmin" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add Min Max}]
        (d(U32), a(U32), b(U32), c(U32).when(SECOND), c(U32).optional_unless(SECOND)) {}
    Vmax "vmax" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add Min Max}]
        (d(U32), a(U32), b(U32), c(U32).when(SECOND), c(U32).optional_unless(SECOND)) {}
    Vshl "vshl" [
            (Type: U32 S32) (Type: U32 S32) (Type: U32) {Flag: Sat} (Overflow: Clamp Wrap)
            {SecondOperation: Add Min Max}
        ]
        (d(U32), a(U32), b(U32), c(U32).when(SECOND), c(U32).optional_unless(SECOND)) {}
    Vshr "vshr" [
            (Type: U32 S32) (Type: U32 S32) (Type: U32) {Flag: Sat} (Overflow: Clamp Wrap)
            {SecondOperation: Add Min Max}
        ]
        (d(U32), a(U32), b(U32), c(U32).when(SECOND), c(U32).optional_unless(SECOND)) {}
    Vmad "vmad" [
            (Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Po} {Flag: Sat} {VideoScale: Shr7 Shr15}
        ]
        (d(U32), a(U32).negated(), b(U32).negated(), c(U32).negated()) {}
    Vset "vset"
        [(Type: U32 S32) (Type: U32 S32) (Comparison: Eq Ne Lt Le Gt Ge) {SecondOperation: Add Min Max}]
        (d(B32), a(U32), b(U32), c(B32).when(SECOND), c(B32).optional_unless(SECOND)) {}
    Vadd2 "vadd2" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add}]
        (d(U32), REGISTERS[0], REGISTERS[1], REGISTERS[2]) {constraints: constraints![
            (Flag: Sat) excludes(SecondOperation: Add);
        ]}
    Vsub2 "vsub2" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add}]
        (d(U32), REGISTERS[0], REGISTERS[1], REGISTERS[2]) {constraints: constraints![
            (Flag: Sat) excludes(SecondOperation: Add);
        ]}
    Vavrg2 "vavrg2" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add}]
        (d(U32), REGISTERS[0], REGISTERS[1], REGISTERS[2]) {constraints: constraints![
            (Flag: Sat) excludes(SecondOperation: Add);
        ]}
    Vabsdiff2 "vabsdiff2" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add}]
        (d(U32), REGISTERS[0], REGISTERS[1], REGISTERS[2]) {constraints: constraints![
            (Flag: Sat) excludes(SecondOperation: Add);
        ]}
    Vmin2 "vmin2" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add}]
        (d(U32), REGISTERS[0], REGISTERS[1], REGISTERS[2]) {constraints: constraints![
            (Flag: Sat) excludes(SecondOperation: Add);
        ]}
    Vmax2 "vmax2" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add}]
        (d(U32), REGISTERS[0], REGISTERS[1], REGISTERS[2]) {constraints: constraints![
            (Flag: Sat) excludes(SecondOperation: Add);
        ]}
    Vset2 "vset2" [(Type: U32 S32) (Type: U32 S32) (Comparison: Eq Ne Lt Le Gt Ge) {SecondOperation: Add}]
        (d(B32), REGISTERS[0], REGISTERS[1], c(B32).form(Form::Register)) {}
    Vadd4 "vadd4" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add}]
        (d(U32), REGISTERS[0], REGISTERS[1], REGISTERS[2]) {constraints: constraints![
            (Flag: Sat) excludes(SecondOperation: Add);
        ]}
    Vsub4 "vsub4" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add}]
        (d(U32), REGISTERS[0], REGISTERS[1], REGISTERS[2]) {constraints: constraints![
            (Flag: Sat) excludes(SecondOperation: Add);
        ]}
    Vavrg4 "vavrg4" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add}]
        (d(U32), REGISTERS[0], REGISTERS[1], REGISTERS[2]) {constraints: constraints![
            (Flag: Sat) excludes(SecondOperation: Add);
        ]}
    Vabsdiff4 "vabsdiff4" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add}]
        (d(U32), REGISTERS[0], REGISTERS[1], REGISTERS[2]) {constraints: constraints![
            (Flag: Sat) excludes(SecondOperation: Add);
        ]}
    Vmin4 "vmin4" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add}]
        (d(U32), REGISTERS[0], REGISTERS[1], REGISTERS[2]) {constraints: constraints![
            (Flag: Sat) excludes(SecondOperation: Add);
        ]}
    Vmax4 "vmax4" [(Type: U32 S32) (Type: U32 S32) (Type: U32 S32) {Flag: Sat} {SecondOperation: Add}]
        (d(U32), REGISTERS[0], REGISTERS[1], REGISTERS[2]) {constraints: constraints![
            (Flag: Sat) excludes(SecondOperation: Add);
        ]}
    Vset4 "vset4" [(Type: U32 S32) (Type: U32 S32) (Comparison: Eq Ne Lt Le Gt Ge) {SecondOperation: Add}]
        (d(B32), REGISTERS[0], REGISTERS[1], c(B32).form(Form::Register)) {}
}
