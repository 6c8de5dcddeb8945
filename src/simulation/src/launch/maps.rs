//! Reading what a launch file says of tensor maps. What the driver takes, [`TensorMap::check`] says.

use super::reading::Reading;
use super::{Argument, ArgumentFile, Misfit};
use crate::array::{Dtype, Form};
use crate::tensor_map::{ElementType, Swizzle, TensorMap, Unfit, Wide, Window};

pub(super) fn tensor_map(
    given: &ArgumentFile,
    all: &[ArgumentFile],
    reading: &mut Reading<'_>,
) -> Result<Argument, Misfit> {
    let missing = |what: &str| Misfit::new(format!("a tensor map has `{what}`"));
    let element = given.element.as_deref().ok_or_else(|| missing("element"))?;
    let element_type = ElementType::named(element).ok_or_else(|| {
        let all: Vec<String> = ElementType::names().map(|name| format!("`{name}`")).collect();
        Misfit::new(format!("`{element}` is no type of a tensor's elements"))
            .at("element")
            .help(format!("`element` is one of {}", all.join(", ")))
    })?;
    let dims = given.dims.clone().ok_or_else(|| missing("dims"))?;
    let window = window(given)?;
    let box_dims = match (&given.box_dims, &window) {
        (None, Some(_)) => Vec::new(),
        (Some(_), Some(_)) => {
            return Err(Misfit::new("a tensor map in im2col mode has no `box`").at("box"));
        }
        (given, None) => given.clone().ok_or_else(|| missing("box"))?,
    };
    let steps = given.element_strides.clone().unwrap_or_else(|| vec![1; dims.len()]);
    let map = TensorMap {
        element: element_type,
        base: 0,
        strides: Vec::new(),
        dims,
        box_dims,
        steps,
        fill: given.oob_fill.unwrap_or_default(),
        window,
        swizzle: given.swizzle.unwrap_or(Swizzle::None),
        interleave: given.interleave.unwrap_or_default(),
    };
    let map = match &given.strides_bytes {
        Some(strides) => TensorMap { strides: strides.clone(), ..map },
        None => map.packed(),
    };
    map.check().map_err(|Unfit { key, why }| Misfit::new(why).at(key))?;
    if let Some(base) = given.base
        && all.get(base).is_none_or(|argument| argument.ty != "buffer")
    {
        return Err(Misfit::new(format!(
            "`base` is the number of an argument that is a buffer, from 0, and {base} is none"
        ))
        .at("base"));
    }
    // Also what is between rows belongs to it.
    let rows = map.strides.iter().zip(map.dims.iter().skip(1));
    let rows = rows.map(|(stride, dim)| stride.saturating_mul(u64::from(*dim))).max().unwrap_or(0);
    let bytes = given.bytes.unwrap_or_else(|| rows.max(map.bytes()));
    if bytes > 1 << 34 {
        return Err(Misfit::new("a tensor has at most 2^34 bytes").at("dims"));
    }
    if given.base.is_some() && (given.data.is_some() || given.out.is_some()) {
        let why = "its buffer is that of another argument, which has `data` and `out`";
        return Err(Misfit::new(why).at("base"));
    }
    let (data, form) = reading.contents(given)?;
    let form = form.or_else(|| {
        // As NumPy has it, where the elements are whole bytes and lie next to each other; two of four bits are a byte.
        let mut shape: Vec<usize> = map.dims.iter().rev().map(|dim| *dim as usize).collect();
        if element_type.bits() == 4 {
            *shape.last_mut()? /= 2;
            return Some(Form { dtype: Dtype::bytes(), shape });
        }
        let dtype = Dtype::named(element).ok().filter(|it| it.bytes as u32 * 8 == element_type.bits())?;
        shape.extend(map.interleave.slice_bytes().map(|slice| slice as usize / dtype.bytes));
        Some(Form { dtype, shape })
    });
    reading.write(given, form, bytes)?;
    Ok(Argument::TensorMap { map, base: given.base, bytes, data })
}

/// What a tensor map says of im2col mode, if it says something.
fn window(given: &ArgumentFile) -> Result<Option<Window>, Misfit> {
    let all = (&given.lower_corner, &given.upper_corner, given.channels_per_pixel, given.pixels_per_column);
    let wide = given.wide;
    match all {
        (None, None, None, None) if wide.is_none() => Ok(None),
        (Some(lower), Some(upper), Some(channels), Some(pixels)) => {
            Ok(Some(Window { lower: lower.clone(), upper: upper.clone(), channels, pixels, wide }))
        }
        // A copy along W alone may take 128 pixels whatever a column has.
        (Some(lower), Some(upper), Some(channels), None) if wide == Some(Wide::W128) => {
            Ok(Some(Window { lower: lower.clone(), upper: upper.clone(), channels, pixels: 128, wide }))
        }
        _ => Err(Misfit::new(
            "a tensor map in im2col mode has `lower_corner`, `upper_corner`, `channels_per_pixel` and \
             `pixels_per_column`",
        )),
    }
}
