//! TC0: text that is not PTX.

pub(super) mod analysis_limit;
pub(super) mod invalid_token;
pub(super) mod module_header;
pub(super) mod syntax_error;
pub(super) mod undeclared_name;
