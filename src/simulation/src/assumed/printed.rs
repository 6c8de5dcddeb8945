//! A launch that was tried, as a launch file.
//!
//! The file gives each value that the kernel was launched with, and in `assume` what was assumed of the rest. So a run
//! with it repeats what the launch has shown.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::hypothesis::{ASSUMED_BUFFER, Assumption, FEW_PARTS, Hypothesis};
use crate::Kernel;
use crate::launch::{Argument, AssumeFile, AssumedContents, Directives, Launch, LaunchShape};
use crate::parameters::Field;
use crate::program::Parameter;
use crate::syntax::ast::Type;
use crate::tensor_map;
use crate::words::declaration;

impl Kernel<'_> {
    /// The first launch that is tried, where nothing is said of its shape.
    pub(crate) fn first_hypothesis(&self) -> Hypothesis {
        let function = &self.unit.module.functions[self.function as usize];
        let (set, smaller) = (0, 1);
        let dynamic = self.assumed_dynamic();
        let mut launch = Launch::assumed(
            self.unit,
            function,
            &self.program.parameters,
            dynamic,
            (set, smaller),
            &LaunchShape::default(),
        );
        if self.asks_for_more() {
            launch.grid[0] *= FEW_PARTS;
        }
        Hypothesis { launch, assumption: Assumption::of(set, smaller) }
    }

    /// The launch file that repeats a launch.
    pub(crate) fn launch_file(&self, Hypothesis { launch, assumption }: &Hypothesis) -> String {
        let name = self.name();
        let declared = declaration(name).map(|declared| format!(" # {declared}")).unwrap_or_default();
        let function = &self.unit.module.functions[self.function as usize];
        let said = Directives::of(self.unit, function);
        let block = if said.block.is_some() { "" } else { " # assumed: the kernel has no .reqntid" };
        let AssumeFile { number, contents } = assumption.file();
        let mut text = format!(
            "kernel = {name:?}{declared}\n\
             grid = {:?}\n\
             block = {:?}{block}\n\
             cluster = {:?}\n\
             dynamic_smem = {}\n\
             {}\
             # What this file leaves open is assumed: the contents of buffers, and what is not computed.\n\
             # Remove the line when the file has what your program launches.\n\
             assume = {{ number = {number}, contents = \"{}\" }}\n",
            launch.grid,
            launch.block,
            launch.cluster,
            launch.dynamic_smem,
            if self.program.uses_workspace() { "cooperative = true\n" } else { "" },
            contents_name(contents)
        );
        let fields = self.fields();
        for (index, (argument, parameter)) in
            launch.arguments.iter().zip(&self.program.parameters).enumerate()
        {
            let _ = writeln!(text, "\n[[arg]] # {index}: {}", parameter.name);
            print_argument(&mut text, argument, parameter, *assumption, &fields);
        }
        text
    }
}

fn print_argument(
    text: &mut String,
    argument: &Argument,
    parameter: &Parameter,
    assumption: Assumption,
    fields: &BTreeMap<u32, Field>,
) {
    let start = parameter.offset;
    let other = |at: u32| assumption.other.filter(|(word, _)| *word == at.into()).map(|(_, number)| number);
    let scalar = matches!(parameter.bytes, 1 | 2 | 4 | 8) && !parameter.is_array;
    match argument {
        Argument::Buffer { bytes, .. } | Argument::Placed { bytes, .. } | Argument::Pointer { bytes, .. } => {
            buffer(text, *bytes);
        }
        Argument::Bytes(bytes) => match parameter.ty {
            Some(Type::F32) if other(start).is_none() => text.push_str("type = \"f32\"\nvalue = 1.0\n"),
            Some(Type::F64) if other(start).is_none() => text.push_str("type = \"f64\"\nvalue = 1.0\n"),
            _ if scalar => {
                let mut all = [0; 8];
                let len = bytes.len().min(8);
                all[..len].copy_from_slice(&bytes[..len]);
                number(text, parameter.bytes, other(start).unwrap_or(u64::from_le_bytes(all)));
            }
            _ => text.push_str("type = \"opaque\"\n"),
        },
        Argument::Opaque if scalar => {
            let is_pointer = fields.get(&start).is_none_or(|field| field.is_pointer);
            if is_pointer && other(start).is_none() {
                buffer(text, ASSUMED_BUFFER);
            } else {
                number(text, parameter.bytes, other(start).unwrap_or(assumption.number));
            }
        }
        Argument::Opaque => {
            let end = start + parameter.bytes;
            let own: Vec<(u32, Field)> = fields.range(start..end).map(|(at, field)| (*at, *field)).collect();
            let overlap = own.windows(2).any(|pair| pair[0].0 + pair[0].1.bytes > pair[1].0);
            if own.is_empty() || overlap {
                opaque(text, parameter);
                return;
            }
            text.push_str("type = \"struct\"\n");
            for (at, field) in own {
                let _ = writeln!(text, "[[arg.fields]]\noffset = {}", at - start);
                match (field.is_pointer, other(at)) {
                    (true, None) => buffer(text, ASSUMED_BUFFER),
                    (_, Some(value)) => number(text, field.bytes, value),
                    (false, None) if field.bytes == 1 => number(text, 1, assumption.flag()),
                    (false, None) => number(text, field.bytes, assumption.number),
                }
            }
        }
        Argument::TensorMap { map, .. } => {
            let _ = write!(
                text,
                "type = \"tensor_map\"\nelement = \"{}\"\ndims = {:?} # assumed\nbox = {:?}\nswizzle = \"{}\"\n",
                map.element.name(),
                map.dims,
                map.box_dims,
                map.swizzle.name()
            );
        }
        Argument::Struct(_) => opaque(text, parameter),
    }
}

/// Something of which the kernel does not show what it is.
fn opaque(text: &mut String, parameter: &Parameter) {
    if parameter.bytes as usize == tensor_map::BYTES && parameter.align >= 64 {
        text.push_str(
            "type = \"opaque\" # a tensor map: a load brings what its barrier expects. To check that, replace it by\n\
             # type = \"tensor_map\"\n\
             # element = \"f16\"\n\
             # dims = [1024, 1024]\n\
             # box = [64, 128]\n\
             # swizzle = \"128B\"\n",
        );
    } else {
        text.push_str("type = \"opaque\"\n");
    }
}

/// A buffer that no access leaves.
fn buffer(text: &mut String, bytes: u64) {
    let _ = writeln!(text, "type = \"buffer\"\nbytes = {bytes}");
}

fn number(text: &mut String, bytes: u32, value: u64) {
    let value = value & u64::MAX >> (64 - bytes.clamp(1, 8) * 8);
    let _ = writeln!(text, "type = \"u{}\"\nvalue = {value}", bytes * 8);
}

/// As a launch file names it.
const fn contents_name(contents: AssumedContents) -> &'static str {
    match contents {
        AssumedContents::Rising => "rising",
        AssumedContents::Zeros => "zeros",
        AssumedContents::Ones => "ones",
        AssumedContents::Equal => "equal",
        AssumedContents::Indices => "indices",
    }
}
