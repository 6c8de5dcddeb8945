//! What directives say is in the tree.

use ptx_syntax::Source;
use ptx_syntax::ast::{File, Guard, Inlined, Location, Pointer, StateSpace, StatementKind, Type};
use ptx_syntax::parser::{Parsed, parse};
use ptx_syntax::section::{Item, Value, find};
use ptx_syntax::source::Span;

fn parsed(text: &str) -> (Source, Parsed) {
    let source = Source::new("payloads.ptx", text).unwrap();
    let parsed = parse(&source);
    assert_eq!(parsed.errors, [], "{text}");
    (source, parsed)
}

#[test]
fn of_places_in_source_files() {
    let (source, Parsed { module, .. }) = parsed(
        ".file 1 \"a.cu\" .file 2 \"b.cu\", 17, 99 .entry k() { .loc 1 20 3 ret;\n\
         .loc 2 5 1, function_name $name + 4, inlined_at 1 7 9 ret; .loc 1 2 99999999999, inlined_at 1 2 3 }",
    );
    let [first, second] = module.files[..] else { panic!("{:?}", module.files) };
    assert_eq!((first.index, source.slice(first.name), first.stamp), (1, "\"a.cu\"", None));
    assert_eq!(second, File { index: 2, name: second.name, stamp: Some((17, 99)) });
    assert_eq!(module.locations[0], Location { file: 1, line: 20, column: 3, inlined: None });
    assert_eq!(module.locations[1], Location { file: 2, line: 5, column: 1, inlined: Some(0) });
    assert_eq!(module.locations[2], Location { file: 1, line: 2, column: u32::MAX, inlined: Some(1) });
    let Inlined { function_name, offset, file, line, column } = module.inlined[0];
    assert_eq!(function_name.map(|name| source.slice(name)), Some("$name"));
    assert_eq!((offset, file, line, column), (4, 1, 7, 9));
    assert_eq!(module.inlined[1].function_name, None);
}

#[test]
fn of_sections() {
    let (source, Parsed { module, .. }) = parsed(
        ".section .debug_str { zero: .b8 104, 105 .b8 0 one: .b16 25185, 0 }\n\
         .section .debug_info { .b64 zero + 2, .debug_str .b32 -1, end - zero end: }",
    );
    let string = |label, offset| find(&source, &module, label)?.string(&source, offset);
    assert_eq!(string("zero", 0).as_deref(), Some("hi"));
    assert_eq!(string("zero", 1).as_deref(), Some("i"));
    assert_eq!(string("one", 0).as_deref(), Some("ab"));
    assert_eq!((string("end", 0), string("none", 0)), (None, None));
    let section = module.sections[1];
    assert_eq!(source.slice(section.name), ".debug_info");
    let items: Vec<_> = section.place().items(&source).collect();
    let text = |span: Span| source.slice(span);
    let [
        Item::Value { ty: Type::B64, value: Value::Address(zero, 2) },
        Item::Value { ty: Type::B64, value: Value::Address(debug_str, 0) },
        Item::Value { ty: Type::B32, value: Value::Number(u64::MAX) },
        Item::Value { ty: Type::B32, value: Value::Distance(end, _) },
        Item::Label(label),
    ] = items[..]
    else {
        panic!("{items:?}")
    };
    assert_eq!([zero, debug_str, end, label].map(text), ["zero", ".debug_str", "end", "end"]);
}

#[test]
fn of_parameters() {
    let (_, Parsed { module, .. }) = parsed(
        ".entry k(.param .align 64 .b8 map[128], .param .u64 .ptr .shared .align 16 p, .param .u64 .ptr q) {}",
    );
    let aligns: Vec<_> = module.declarations.iter().map(|it| (it.align, it.pointer)).collect();
    let shared = Pointer { space: Some(StateSpace::Shared), align: Some(16) };
    let generic = Pointer { space: None, align: None };
    assert_eq!(aligns, [(Some(64), None), (None, Some(shared)), (None, Some(generic))]);
}

#[test]
fn of_pragmas() {
    let (source, Parsed { module, .. }) =
        parsed(".pragma \"one\", \"two\"; .entry k() .pragma \"three\"; { ret; }");
    let StatementKind::Pragma(list) = module.statements[0].kind() else { panic!() };
    let texts = |slice| module.operands(slice).iter().map(|it| source.slice(it.span())).collect::<Vec<_>>();
    assert_eq!(texts(module.list(list)), ["\"one\"", "\"two\""]);
    assert_eq!(texts(module.directives[0].operands), ["\"three\""]);
}

/// The guard stands in the arena of operands; it must not be taken for that of a neighbour.
#[test]
fn of_guards() {
    let (source, Parsed { module, .. }) =
        parsed(".entry k() { @p ret; ret; @!q add [a], {b, c}; add x, y; @%r.x ret; }");
    let guards: Vec<_> = module
        .instructions
        .iter()
        .map(|it| module.guard(it).map(|Guard { negated, name }| (negated, source.slice(name))))
        .collect();
    assert_eq!(guards, [Some((false, "p")), None, Some((true, "q")), None, Some((false, "%r.x"))]);
    let counts: Vec<_> = module.instructions.iter().map(|it| it.operands.len).collect();
    assert_eq!(counts, [0, 0, 2, 2, 0]);
}

/// Small in memory, and nothing lost.
#[test]
fn of_long_lists() {
    for count in [0, 1, 511, 512, 513, 20_000] {
        let list = vec!["7"; count].join(", ");
        let (source, Parsed { module, .. }) = parsed(&format!(".global .b8 x[] = {{{list}}};"));
        let operand = module.operands[module.declarators[0].initializer.unwrap() as usize];
        assert_eq!(module.parts(&operand).len(), count);
        assert!(module.parts(&operand).iter().all(|part| source.slice(part.span()) == "7"));
        let whole = format!("{{{list}}}");
        let span = if operand.is_long() { "{" } else { whole.as_str() };
        assert_eq!((operand.is_long(), source.slice(operand.span())), (count > 511, span));
    }
    let blank = " ".repeat(70_000);
    let (source, Parsed { module, .. }) = parsed(&format!(".global .b8 x[] = {{1,{blank}2}};"));
    let operand = module.operands[module.declarators[0].initializer.unwrap() as usize];
    assert_eq!((module.parts(&operand).len(), source.slice(operand.span())), (2, "{"));
}
