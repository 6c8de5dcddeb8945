//! The sections of the PTX ISA about tcgen05, by number.
//!
//! Numbers are those of PTX ISA 9.0. Later documents count differently (9.4 has the chapter as 9.7.17 or
//! 9.7.18) and keep the titles, so that people get both.

use std::borrow::Cow;

/// Number and title, in the order of the document: the sections that messages name.
const SECTIONS: &[(&str, &str)] = &[
    ("9.7.16", "TensorCore 5th Generation Family Instructions"),
    ("9.7.16.1", "Tensor Memory"),
    ("9.7.16.1.1", "Tensor Memory Addressing"),
    ("9.7.16.1.2", "Tensor Memory Allocation"),
    ("9.7.16.2.1.1", "Matrix Shape: Target ISA Note"),
    ("9.7.16.2.3", "Data Movement Shape"),
    ("9.7.16.3.1.2.1", "Restrictions on the Leading Dimension Absolute Address Stride"),
    ("9.7.16.3.3", "Canonical Layouts"),
    ("9.7.16.4", "Matrix Descriptors"),
    ("9.7.16.4.1", "Shared memory descriptor"),
    ("9.7.16.4.1.1", "Shared memory descriptor: Target ISA Note"),
    ("9.7.16.4.2", "Instruction descriptor"),
    ("9.7.16.4.3", "Zero-Column Mask Descriptor"),
    ("9.7.16.5", "Issue Granularity"),
    ("9.7.16.5.1", "CTA Pair"),
    ("9.7.16.6", "Memory Consistency Model for 5th generation of TensorCore operations"),
    ("9.7.16.6.2", "Pipelined tcgen05 Instructions"),
    ("9.7.16.6.2.1", "Implicitly pipelined tcgen05 Instructions"),
    ("9.7.16.6.2.1.1", "mbarrier based completion mechanism"),
    ("9.7.16.6.3", "Specialized Inter-thread Synchronization for tcgen05 instructions"),
    ("9.7.16.6.4.2", "Non-pipelined instructions, same thread"),
    ("9.7.16.6.4.3", "Pipelined instructions, different thread"),
    ("9.7.16.6.4.4", "Non-pipelined instructions, different thread"),
    ("9.7.16.6.4.5", "Register dependencies, same thread"),
    ("9.7.16.6.5", "Shared Memory Accesses"),
    ("9.7.16.7", "Tensor Memory Allocation and Management Instructions"),
    ("9.7.16.7.1", "tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit"),
    ("9.7.16.8.1", "Access restrictions"),
    ("9.7.16.8.3", "tcgen05.ld"),
    ("9.7.16.8.4", "tcgen05.st"),
    ("9.7.16.8.5", "tcgen05.wait"),
    ("9.7.16.9.2", "tcgen05.cp"),
    ("9.7.16.9.3", "tcgen05.shift"),
    ("9.7.16.10.4", "Packing formats of elements in Tensor and Shared memory"),
    ("9.7.16.10.4.4", "Packing format used for matrix A and B by .kind::mxf8f6f4 in Shared Memory"),
    ("9.7.16.10.5", "Data Path Layout Organization"),
    ("9.7.16.10.7", "Block Scaling"),
    ("9.7.16.10.7.2", "Scale Factor A ID"),
    ("9.7.16.10.8.4", "Sparsity selector"),
    ("9.7.16.10.8.5", "Alignment restriction"),
    ("9.7.16.10.9", "TensorCore 5th Generation of MMA Instructions"),
    ("9.7.16.10.9.1", "tcgen05.mma"),
    ("9.7.16.10.9.3", "tcgen05.mma.ws"),
    ("9.7.16.10.9.4", "tcgen05.mma.ws.sp"),
    ("9.7.16.11.1", "tcgen05.fence"),
    ("9.7.16.12", "TensorCore 5th Generation Async Synchronization Operations"),
    ("9.7.16.12.1", "tcgen05.commit"),
];

/// The chapter that all of them are in.
const CHAPTER: &str = "9.7.16";

/// The title of a section.
pub fn title(number: &str) -> Option<&'static str> {
    SECTIONS.iter().find(|(known, _)| *known == number).map(|(_, title)| *title)
}

/// A text that names sections by their numbers, with their titles.
///
/// ```
/// use ptx_isa::sections::titled;
///
/// assert_eq!(titled("see 9.7.16.5"), "see 9.7.16.5 \"Issue Granularity\"");
/// ```
pub fn titled(text: &str) -> Cow<'_, str> {
    if !text.contains(CHAPTER) {
        return text.into();
    }
    let mut told = String::with_capacity(text.len() + 64);
    let mut rest = text;
    while let Some(at) = rest.find(CHAPTER) {
        let number = &rest[at..];
        let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
        let end = number.find(|c| !is_of_number(c)).unwrap_or(number.len());
        let number = number[..end].trim_end_matches('.');
        let end = at + number.len();
        told.push_str(&rest[..end]);
        rest = &rest[end..];
        if let Some(title) = title(number).filter(|_| !rest.starts_with(" \"")) {
            told.push_str(&format!(" \"{title}\""));
        }
    }
    told.push_str(rest);
    told.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_gets_its_title_once() {
        let text = "the ISA (9.7.16.6.2 and 9.7.16.6.4.5). 9.7.16.5.";
        let told = "the ISA (9.7.16.6.2 \"Pipelined tcgen05 Instructions\" and 9.7.16.6.4.5 \"Register dependencies, \
                    same thread\"). 9.7.16.5 \"Issue Granularity\".";
        assert_eq!(titled(text), told);
        assert_eq!(titled(told), told);
        assert_eq!(titled("Table 46"), "Table 46");
        assert_eq!(titled("9.7.16.99"), "9.7.16.99");
    }
}
