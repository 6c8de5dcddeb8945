//! Differences between the table and the assembler that are understood.

use ptx_check::isa::generic::{Modifier, Operation, Space, Type};

/// Why no statement with this word is accepted that the search can make.
pub(crate) fn never_accepted(operation: Operation, word: Option<Modifier>) -> Option<&'static str> {
    match (operation, word) {
        (
            Operation::FabricTryGetTensor | Operation::FabricTryPutTensor | Operation::FabricTryRedTensor,
            _,
        )
        | (_, Some(Modifier::Override(_))) => Some("the address has parts that the search does not make"),
        (Operation::Cvta, Some(Modifier::Type(Type::U32))) => Some("addresses of 32 bits are of the past"),
        (Operation::Ld, Some(Modifier::Space(Space::ParamFunc)))
        | (Operation::St, Some(Modifier::Space(Space::Param))) => {
            Some("only between a call and its parameters")
        }
        _ => None,
    }
}
