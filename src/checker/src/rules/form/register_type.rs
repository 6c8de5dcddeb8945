use crate::diagnostic::{Diagnostic, Findings};
use crate::isa::generic::{Class, Form, Interpretation, Modifier, Type, TypeRule, Wanted};
use crate::resolve::misfits::{Place, Wrong};
use crate::resolve::symbols::Resolution;
use crate::resolve::unit::Unit;
use crate::rules::generic::{Generic, narrow_address};
use crate::rules::{Checker, Code, rule};
use crate::source::Span;
use crate::words::list_words;

rule! {
    /// ## What it does
    /// Finds operands outside tcgen05 of the wrong type: a predicate or a register of another width, an
    /// integer where a float is computed, a special register, a variable or a literal instead of a
    /// register, elements of a vector whose types do not match.
    ///
    /// ## Why is this bad?
    /// The assembler refuses the module. A register of bits (`.b32`) works for every type of its size,
    /// signed and unsigned integers work for each other, and floats only for themselves. Loads, stores and
    /// `cvt` also take wider registers.
    ///
    /// An address is generic and has 64 bits unless the instruction names a state space. An address in
    /// global memory has 64 bits too. `ld.b32 r0, [r1]` with a 32-bit address in shared memory lacks
    /// `.shared`.
    ///
    /// ## Example
    /// ```ptx
    /// .reg .f32 f0;
    /// add.u32 r0, r1, f0;
    /// ```
    ///
    /// ## Use instead
    /// ```ptx
    /// .reg .f32 f0;
    /// cvt.rzi.u32.f32 r2, f0;
    /// add.u32 r0, r1, r2;
    /// ```
    ///
    /// ## References
    /// PTX ISA, sections 5.2 (Types) and 9.2 (Type Information for Instructions and Operands)
    RegisterType Text check
}

fn check(checker: &Checker<'_>, findings: &mut Findings<'_>) {
    let unit = checker.unit;
    for misplaced in unit.misfits() {
        let finding = match misplaced.wrong {
            Wrong::Guard(class) => {
                Generic::judged(checker, misplaced.instruction).and_then(|it| guard(unit, &it, class))
            }
            // What a constraint declares is another rule's business.
            Wrong::Class(place, _) if unit.binding_of(place.operand).is_some() => None,
            Wrong::Class(place, class) => {
                Generic::judged(checker, misplaced.instruction).map(|it| wrong(unit, &it, place, class))
            }
            Wrong::Mixed(place, neighbour) => {
                Generic::judged(checker, misplaced.instruction).map(|_| mixed(unit, place, neighbour))
            }
            Wrong::Looks(..)
            | Wrong::Space(..)
            | Wrong::NoPair(_)
            | Wrong::Sink(_)
            | Wrong::Computed(_)
            | Wrong::NoImmediate(_)
            | Wrong::Number(..)
            | Wrong::Count(..)
            | Wrong::NoVector(..) => None,
        };
        findings.extend(finding);
    }
}

fn guard(unit: &Unit, generic: &Generic<'_>, class: Class) -> Option<Diagnostic> {
    let raw = &unit.module.instructions[generic.index as usize];
    let guard = unit.module.guard(raw)?;
    let finding = Diagnostic::new(
        Code::RegisterType,
        guard.name,
        "a guard must be a predicate",
        format!("this is {}", described(class)),
    );
    let finding = match unit.symbols.guard(generic.index) {
        Resolution::Register(id) => finding.label(unit.symbols.register(id).span, "declared here"),
        Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => finding,
    };
    Some(finding.help("guard with a `.pred` register"))
}

/// A description of the operand.
fn described(class: Class) -> String {
    match class {
        Class::Special32 | Class::Special64 | Class::SpecialAny | Class::Component => {
            "a special register".to_owned()
        }
        Class::SpecialPred => "a special register that is a predicate".to_owned(),
        Class::SpecialVector => "a special register of several numbers".to_owned(),
        Class::Variable => "a variable".to_owned(),
        Class::Label => "a label".to_owned(),
        Class::Integer => "an integer".to_owned(),
        Class::Float | Class::Single => "a float".to_owned(),
        Class::NoComponent => "a component that the register does not have".to_owned(),
        class => match class.declared() {
            Some(ty) => format!("a `.{}` register", <&str>::from(ty)),
            None => "another operand".to_owned(),
        },
    }
}

fn wrong(unit: &Unit, generic: &Generic<'_>, place: Place, class: Class) -> Diagnostic {
    let Place { operand, wanted, .. } = place;
    let span = unit.module.operands[operand as usize].span();
    let name = generic.name();
    let fitting: Vec<Type> = place.classes().registers().collect();
    let found = || {
        if unit.module.operands[operand as usize].is_name() {
            format!("`{}` is {}", unit.source.slice(span), described(class))
        } else {
            format!("this is {}", described(class))
        }
    };
    if class == Class::Unknown {
        // A vector that is packed into something.
        let ty = wanted.ty.map_or("", Into::into);
        return Diagnostic::new(
            Code::RegisterType,
            span,
            format!("a vector is packed as bits, not as `.{ty}`"),
            "this is a vector",
        )
        .help(match wanted.ty.and_then(Type::bits) {
            Some(bits) => format!("write `{name}.b{bits}`"),
            None => "use a type of bits".to_owned(),
        });
    }
    let (message, help) = if place.is_narrow_address(class) {
        narrow_address(generic.opcode, name, "a register of 64 bits")
    } else {
        (demand(generic, place, class, &fitting), help(generic, place, class, &fitting))
    };
    let finding = Diagnostic::new(Code::RegisterType, span, message, found());
    let finding = match unit.symbols.operand(operand) {
        Resolution::Register(id) => finding.label(unit.symbols.register(id).span, "declared here"),
        Resolution::Symbol(id) if class == Class::Variable => {
            finding.label(unit.symbols.symbol(id).span, "declared here")
        }
        Resolution::Symbol(_) | Resolution::Special(_) | Resolution::Undeclared => finding,
    };
    finding.help(help)
}

/// What the position wants.
fn demand(generic: &Generic<'_>, place: Place, class: Class, fitting: &[Type]) -> String {
    let name = generic.name();
    let Place { slot, wanted, is_within, .. } = place;
    let is_second =
        wanted.ty == Some(Type::Pred) && slot.has_pair() && slot.ty != TypeRule::Fixed(Type::Pred);
    let what = match (is_within, is_second) {
        (true, _) => format!("an element of `{}`", slot.name),
        (false, true) => "what stands behind the bar".to_owned(),
        (false, false) => format!("`{}`", slot.name),
    };
    match class {
        Class::Special32 | Class::Special64 | Class::SpecialAny | Class::Component
            if slot.form == Form::Address =>
        {
            return format!("the address of `{name}` must be in a register of its own");
        }
        Class::Special32
        | Class::Special64
        | Class::SpecialAny
        | Class::Component
        | Class::SpecialVector
        | Class::SpecialPred
            if !slot.takes.specials && (wanted.ty != Some(Type::Pred) || class == Class::SpecialPred) =>
        {
            return format!("`{name}` reads no special registers");
        }
        Class::Variable | Class::Label => {
            return format!("{what} of `{name}` must be a register");
        }
        Class::Integer if slot.form == Form::Address => {
            return format!("the address of `{name}` must be in a register, or named");
        }
        Class::Integer | Class::Float | Class::Single if slot.role.is_written() || is_register(place) => {
            return format!("{what} of `{name}` must be a register");
        }
        Class::Pred if wanted.ty != Some(Type::Pred) => {
            return format!("{what} of `{name}` cannot be a predicate");
        }
        Class::Integer if wanted.ty.is_some_and(Type::is_float) => {
            return format!("{what} of `{name}` must be a float");
        }
        Class::Float if place.classes().has(Class::Single) => {
            return format!("{what} of `{name}` has 32 bits, and this float 64");
        }
        Class::Single if place.classes().has(Class::Float) => {
            return format!("{what} of `{name}` has 64 bits, and this float 32");
        }
        Class::Float | Class::Single => return format!("{what} of `{name}` must be an integer"),
        Class::NoComponent => return "no such component".to_owned(),
        _ => {}
    }
    if wanted.ty == Some(Type::Pred) {
        return format!("{what} of `{name}` must be a predicate");
    }
    let widths: Vec<u32> = fitting.iter().filter_map(|ty| ty.bits()).collect();
    let found = class.bits();
    let one = widths.first().filter(|first| widths.iter().all(|it| it == *first));
    match (one, found) {
        (Some(bits), found) if found != Some(*bits) => {
            format!("{what} of `{name}` must be {bits} bits wide")
        }
        (None, Some(found)) if widths.first().is_some_and(|least| found < *least) => {
            format!("{what} of `{name}` must be at least {} bits wide", widths[0])
        }
        _ => match wanted.ty.map(Type::interpretation) {
            Some(Interpretation::Float) => format!("{what} of `{name}` must be a float or bits"),
            _ if slot.form == Form::Address => format!("the address of `{name}` must be an integer or bits"),
            _ => format!("{what} of `{name}` must be an integer or bits"),
        },
    }
}

/// Whether no number is allowed there at all.
fn is_register(place: Place) -> bool {
    [Class::Integer, Class::Float, Class::Single].iter().all(|class| !place.classes().has(*class))
}

/// What to write.
fn help(generic: &Generic<'_>, place: Place, class: Class, fitting: &[Type]) -> String {
    let Place { slot, wanted: Wanted { ty, .. }, .. } = place;
    // Pairs of halves pass for integers, but nobody means that.
    let is_pair = |it: &Type| *it == Type::F16x2 && fitting.contains(&Type::U32) && ty != Some(*it);
    // Nor predicates, which it does not look at among elements.
    let is_other = |it: &Type| is_pair(it) || *it == Type::Pred && ty != Some(*it);
    let fitting: Vec<Type> = fitting.iter().copied().filter(|it| !is_other(it)).collect();
    let list = || list_words(fitting.iter().map(|ty| format!("`.{}`", <&str>::from(*ty))), "or");
    match class {
        Class::Special32 | Class::Special64 | Class::SpecialAny | Class::Component if slot.takes.specials => {
            let bits = class.bits().unwrap_or(32);
            return format!("it has {bits} bits: read it as `.u{bits}`");
        }
        Class::SpecialPred => return "move it to a register before, by `mov.pred`".to_owned(),
        Class::Special32 | Class::Special64 | Class::SpecialAny | Class::Component | Class::SpecialVector => {
            let bits = if class == Class::Special64 { 64 } else { 32 };
            return format!("move it to a register before, by `mov.u{bits}`");
        }
        Class::Variable => {
            return "move its address to a register before, by `mov`".to_owned();
        }
        Class::Label => return "write a register".to_owned(),
        Class::Integer if slot.form == Form::Address => {
            return "move the address to a register before; only local memory is addressed by a number"
                .to_owned();
        }
        Class::Integer | Class::Float | Class::Single if slot.role.is_written() || is_register(place) => {
            return format!("write a register of type {}", list());
        }
        Class::Integer => return "write it with a point, as `1.0`, or as `0f3F800000`".to_owned(),
        Class::Float if place.classes().has(Class::Single) => {
            return "write its bits in single precision, as `0f3F800000`".to_owned();
        }
        Class::Single if place.classes().has(Class::Float) => {
            return "write its bits in double precision, as `0d3FF0000000000000`".to_owned();
        }
        Class::Float | Class::Single => {
            return "write an integer, or the bits of the float as one".to_owned();
        }
        Class::NoComponent => {
            return "vectors have `.x`, `.y`, `.z` and `.w`, other special registers none".to_owned();
        }
        _ => {}
    }
    if slot.form == Form::Address && !place.is_within {
        return "use a register of type `.b32` or `.b64`, as the address has bits".to_owned();
    }
    let mut help = if fitting.is_empty() {
        "write an immediate".to_owned()
    } else {
        format!("use a register of type {}", list())
    };
    // Another type of the instruction may be what was meant.
    if let (TypeRule::Nth(_), Some(declared), Some(ty)) = (slot.ty, class.declared(), ty)
        && declared != ty
        && is_word_beside(generic, ty, declared)
    {
        help += &format!(", or `.{}` in place of `.{}`", <&str>::from(declared), <&str>::from(ty));
    }
    help
}

/// Whether a type may replace another one in an opcode, with its other modifiers.
fn is_word_beside(generic: &Generic<'_>, ty: Type, other: Type) -> bool {
    let groups = generic.opcode.row.map_or(&[][..], |row| row.modifiers);
    let has = |group: &crate::isa::generic::Group, ty: Type| group.words.contains(&Modifier::Type(ty));
    groups.iter().any(|group| has(group, ty) && has(group, other))
}

fn mixed(unit: &Unit, place: Place, neighbour: u32) -> Diagnostic {
    let described = |operand: u32| -> (Span, String) {
        let node = unit.module.operands[operand as usize];
        let class = match node.kind() {
            crate::syntax::ast::OperandKind::Integer => Class::Integer,
            crate::syntax::ast::OperandKind::Float => Class::Single,
            _ => unit
                .symbols
                .classes(operand as usize..operand as usize + 1)
                .next()
                .map_or(Class::Unknown, Class::from_number),
        };
        (node.span(), described(class))
    };
    let (span, found) = described(place.operand);
    let (beside, other) = described(neighbour);
    Diagnostic::new(
        Code::RegisterType,
        span,
        "vector with elements of different types",
        format!("this is {found}"),
    )
    .label(beside, format!("in the same vector is {other}"))
    .help("use registers of one type and width")
}
