//! From statements to one text of PTX.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use super::holes::Holes;
use super::map::{Mapped, Place, SpanMap};
use super::modules::Module;
use super::outside::Outside;
use super::reading::{File, Reading, read};
use super::template::{self, Escapes, Expanded, Fillers, PlaceholderError, Placeholders};
use super::{Constraint, Found, Language, Machine, Statement};
use ptx_text::source::{Source, Span};
use ptx_text::types::Type;

/// The PTX of a file of another language.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Extract {
    /// All of it, as one text. It has the name of the file.
    pub ptx: Source,
    /// Its parts, in order. Their spans are places of the text.
    pub fragments: Vec<Fragment>,
    /// What the file decides of it.
    pub holes: Holes,
    /// Where it comes from.
    pub host: Host,
    /// The whole modules that the file has besides.
    pub modules: Vec<Extract>,
}

/// The file that PTX was taken from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Host {
    /// The file.
    pub source: Source,
    /// Its language.
    pub language: Language,
    /// Where each part of the PTX stands in it.
    pub map: SpanMap,
    /// Its comments that may be meant for this tool.
    pub comments: Vec<Span>,
    /// Its statements that are PTX, in order.
    pub statements: Vec<Span>,
    /// How much work it was to find them.
    pub steps: u64,
    regions: Vec<Region>,
    alike: Alike,
}

/// The PTX of one `asm` statement, or of one reading of it where a preprocessor decides.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
#[non_exhaustive]
pub struct Fragment {
    /// Its language.
    pub language: Language,
    /// The function that it became.
    pub span: Span,
    /// Its name, which stands for the keyword of the statement.
    pub keyword: Span,
    /// What its template became.
    pub body: Span,
    /// The end of the statement.
    pub end: Span,
    /// Its operands.
    pub operands: Vec<Binding>,
    /// Whether it is `volatile`, or has what stands for that.
    pub is_volatile: bool,
    /// What is to be written behind the keyword for that; none where something else says so.
    pub volatile_keyword: Option<&'static str>,
    /// Whether it is said that it changes memory.
    pub clobbers_memory: bool,
    /// What is to be inserted at its end to say so.
    pub memory_clobber: Option<&'static str>,
    /// Whether the calls of it are said to be convergent, where that has to be said.
    pub is_convergent: Option<bool>,
    /// Whether all of its template is known.
    pub is_complete: bool,
    /// What is wrong with how it names its operands.
    pub placeholder_errors: Vec<(Span, PlaceholderError)>,
    /// Braces that it does not close, or did not open.
    pub stray_braces: Vec<Span>,
    /// Where literals of it meet within a word: places of the PTX.
    pub seams: Vec<u32>,
    /// Whether its labels are made unique.
    pub has_unique_labels: bool,
    /// The use of a macro, in the host file, whose arguments it was read with.
    pub used: Option<Span>,
    placeholders: Placeholders,
}

impl Fragment {
    /// What the template writes for an operand; none if its name is not known here.
    pub fn written(&self, operand: u32) -> Option<String> {
        match self.placeholders {
            Placeholders::Percent | Placeholders::DoubledPercent | Placeholders::None => {
                Some(format!("%{operand}"))
            }
            Placeholders::Dollar => Some(format!("${operand}")),
            Placeholders::Braces | Placeholders::Access => None,
        }
    }
}

/// An operand of a fragment.
#[derive(Clone, Debug)]
#[non_exhaustive]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Binding {
    /// Where it is declared.
    pub span: Span,
    /// What it may be.
    pub constraint: Constraint,
    /// Whether the statement writes it.
    pub is_output: bool,
    /// How often the template names it.
    pub uses: u32,
    /// Whether it is there for what the compiler makes of it, and not only for the template: it is
    /// read and written, or in the place of another.
    pub is_tied: bool,
    /// Whether the template names it where the preprocessor decides otherwise.
    pub is_named_otherwise: bool,
    /// Whether no comma separates it from the operand before it.
    pub lacks_comma: bool,
    /// The value of a register that is read, where that is a constant. The text does not say it, so that it is for what
    /// is shown to people, and not for what is checked.
    pub known: Option<i128>,
}

/// Literals that are written alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Region {
    escapes: Escapes,
    placeholders: Placeholders,
    operands: usize,
    /// Which statement; none for a macro's literal, which others may use as well.
    statement: Option<u32>,
    /// Tells literals of macros from each other.
    start: u32,
}

impl Extract {
    pub(super) fn new(source: &Source, language: Language, found: Found) -> Self {
        let mut builder = Builder::new(source, false);
        let mut fragments = builder.fragments(&found.statements);
        // What is PTX beyond doubt makes the file one of a GPU.
        if builder.is_in_doubt && builder.has_ptx {
            builder = Builder::new(source, true);
            fragments = builder.fragments(&found.statements);
        }
        let Builder { text, known: regions, mut statements, .. } = builder;
        let (text, holes, map) = text.finish();
        let ptx = Source::new(source.name(), text).unwrap_or_else(|_| empty());
        let Found { comments, steps, modules, alike, .. } = found;
        let modules: Vec<Self> =
            modules.iter().map(|module| Self::module(source, language, module)).collect();
        statements.extend(modules.iter().flat_map(|module| &module.host.statements));
        statements.sort_unstable();
        let (source, alike) = (source.clone(), Alike::new(alike));
        let host = Host { source, language, map, comments, statements, steps, regions, alike };
        Self { ptx, fragments, holes, host, modules }
    }

    /// A module that stands in a literal.
    fn module(source: &Source, language: Language, module: &Module) -> Self {
        let mut regions: Vec<Region> = Vec::new();
        let cooked = template::cook(source, &module.pieces, |_, escapes| {
            let (placeholders, statement) = (Placeholders::None, Some(0));
            let region = Region { escapes, placeholders, operands: 0, statement, start: 0 };
            let known = regions.iter().position(|known| *known == region);
            known.unwrap_or_else(|| {
                regions.push(region);
                regions.len() - 1
            }) as u32
        });
        let (text, holes, map) = cooked.text.finish();
        let ptx = Source::new(source.name(), text).unwrap_or_else(|_| empty());
        let host = Host {
            source: source.clone(),
            language,
            map,
            comments: Vec::new(),
            statements: vec![module.span],
            steps: 0,
            regions,
            alike: Alike::default(),
        };
        Self { ptx, fragments: Vec::new(), holes, host, modules: Vec::new() }
    }
}

impl Host {
    /// What its code declares that its assembly may name.
    pub fn outside(&self) -> Outside {
        Outside::new(&self.source, self.language, &self.statements)
    }

    /// The statement that a place of the file stands in.
    pub fn statement(&self, offset: u32) -> Option<Span> {
        let behind = self.statements.partition_point(|span| span.start <= offset);
        self.statements.get(behind.checked_sub(1)?).copied().filter(|span| offset < span.end)
    }

    /// The changes of the file that replace `span` of the PTX by `text`, and whether they may concern
    /// other statements as well.
    pub fn edits(&self, span: Span, text: &str) -> Option<(Vec<(Span, String)>, bool)> {
        let places = self.map.places(span)?;
        let mut edits = Vec::new();
        let mut is_shared = false;
        for (index, Place { span, region, is_code }) in places.into_iter().enumerate() {
            let text = if index == 0 { text } else { "" };
            // Where a number of the host's code is what the PTX has, nothing but a number may stand.
            if is_code && !span.is_empty() && !is_number(text) {
                return None;
            }
            let text = if is_code {
                text.to_owned()
            } else {
                let Region { escapes, placeholders, operands, statement, .. } =
                    *self.regions.get(region as usize)?;
                is_shared |= statement.is_none();
                template::quoted(text, escapes, placeholders, operands)?
            };
            for copy in self.alike.copies(span)? {
                edits.push((copy, text.clone()));
            }
            edits.push((span, text));
        }
        Some((edits, is_shared))
    }
}

/// Texts of a file that have to stay alike.
#[derive(Clone, Debug, Default)]
struct Alike {
    groups: Vec<Vec<Span>>,
    /// All of them in order, each with its group.
    members: Vec<(Span, usize)>,
}

impl Alike {
    fn new(groups: Vec<Vec<Span>>) -> Self {
        let indices = groups.iter().enumerate();
        let mut members: Vec<_> =
            indices.flat_map(|(index, spans)| spans.iter().map(move |span| (*span, index))).collect();
        members.sort_unstable();
        Self { groups, members }
    }

    /// Where else has to change what changes at a place; none if that is in too many places.
    fn copies(&self, span: Span) -> Option<Vec<Span>> {
        /// Nobody repeats a definition more often.
        const MOST: usize = 8;
        let behind = self.members.partition_point(|(member, _)| member.start <= span.start);
        let Some((member, group)) =
            behind.checked_sub(1).map(|at| self.members[at]).filter(|(member, _)| span.end <= member.end)
        else {
            return Some(Vec::new());
        };
        let others = &self.groups[group];
        if others.len() > MOST {
            return None;
        }
        let (start, len) = (span.start - member.start, span.len());
        let moved = others.iter().filter(|it| **it != member).map(|it| {
            let start = it.start + start;
            Span::new(start, start + len)
        });
        Some(moved.collect())
    }
}

/// Whether a text of PTX is a number in other languages, too.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The fragment that a place stands in.
pub fn fragment_at(fragments: &[Fragment], offset: u32) -> Option<&Fragment> {
    let behind = fragments.partition_point(|fragment| fragment.span.start <= offset);
    fragments.get(behind.checked_sub(1)?).filter(|fragment| offset <= fragment.span.end)
}

/// A text that is too long for spans has a host file that is, too.
fn empty() -> Source {
    Source::new("", "").expect("an empty text is short")
}

struct Builder<'s> {
    source: &'s Source,
    /// What the file is, once somebody has asked, for statements of each language that it has.
    files: HashMap<Language, File, FxBuildHasher>,
    /// Whether it has a statement that is PTX beyond doubt.
    has_ptx: bool,
    /// Whether that decides about another one.
    is_in_doubt: bool,
    text: Mapped,
    fillers: Fillers,
    regions: HashMap<Region, u32, FxBuildHasher>,
    known: Vec<Region>,
    /// The statements that are PTX.
    statements: Vec<Span>,
}

impl<'s> Builder<'s> {
    fn new(source: &'s Source, has_ptx: bool) -> Self {
        Self {
            source,
            files: HashMap::default(),
            has_ptx,
            is_in_doubt: false,
            text: Mapped::default(),
            fillers: Fillers::of(source),
            regions: HashMap::default(),
            known: Vec::new(),
            statements: Vec::new(),
        }
    }

    fn fragments(&mut self, statements: &[Statement]) -> Vec<Fragment> {
        let mut fragments = Vec::new();
        for (index, statement) in statements.iter().enumerate() {
            if let Some(fragment) = self.fragment(index as u32, statement) {
                fragments.push(fragment);
                if self.statements.last() != Some(&statement.span) {
                    self.statements.push(statement.span);
                }
            }
        }
        fragments
    }

    /// Whether what a template says is PTX, or meant to be.
    fn is_ptx(&mut self, text: &Mapped, statement: &Statement) -> bool {
        let mut file = || {
            *self.files.entry(statement.language).or_insert_with(|| File::of(self.source, statement.language))
        };
        match (read(text), statement.machine) {
            (Reading::Other, _) => false,
            (_, Machine::Ptx) => true,
            // What no other machine can say.
            (Reading::Ptx, Machine::Other) => text.text().contains("tcgen05."),
            (Reading::Ptx, Machine::Gpu | Machine::Any | Machine::Guarded) => {
                self.has_ptx = true;
                true
            }
            (_, Machine::Guarded | Machine::Other) => false,
            (Reading::Shared | Reading::Similar, Machine::Gpu) => true,
            (Reading::Shared, Machine::Any) => file().is_of_gpu,
            (Reading::Similar, Machine::Any) => {
                let is_ptx = file().is_of_gpu || self.has_ptx;
                self.is_in_doubt |= !is_ptx;
                is_ptx
            }
            (Reading::Unknown, Machine::Gpu) => file().has_nothing_but_ptx,
            (Reading::Unknown, Machine::Any) => false,
        }
    }

    /// Appends a statement, if what it says is PTX.
    fn fragment(&mut self, index: u32, statement: &Statement) -> Option<Fragment> {
        let Statement { span, keyword, ref operands, placeholders, .. } = *statement;
        let (regions, known) = (&mut self.regions, &mut self.known);
        let cooked = template::cook(self.source, &statement.template, |literal, escapes| {
            let is_own = span.start <= literal.start && literal.end <= span.end;
            let statement = is_own.then_some(index);
            let start = if is_own { 0 } else { literal.start };
            let region = Region { escapes, placeholders, operands: operands.len(), statement, start };
            *regions.entry(region).or_insert_with(|| {
                known.push(region);
                known.len() as u32 - 1
            })
        });
        let Expanded { text, uses, mut errors, unique, .. } =
            template::expand(&cooked, placeholders, operands, &self.fillers);
        if !self.is_ptx(&text, statement) {
            return None;
        }
        let out = &mut self.text;
        let place = |at: u32| Span::at(at);
        let start = out.len() as u32;
        out.glue(".func ", keyword);
        let name = out.len() as u32;
        out.code(&format!("asm${index}"), keyword);
        let name = Span::new(name, out.len() as u32);
        // What the template closes has to be open.
        let balance = Balance::of(text.text());
        out.glue(&format!("(){{{}", "{".repeat(balance.stray.len())), keyword);
        let mut bindings = Vec::with_capacity(operands.len());
        let mut declared: Option<Type> = None;
        for (number, (operand, uses)) in operands.iter().zip(uses).enumerate() {
            let ty = match operand.constraint {
                Constraint::Register(ty) => ty,
                // Nothing uses it: it is there to be pointed at.
                Constraint::Immediate(_) | Constraint::Other => Type::B32,
            };
            if declared == Some(ty) {
                out.glue(",", place(operand.span.start));
            } else {
                let end = if declared.is_some() { ";" } else { "" };
                out.glue(&format!("{end}.reg .{ty} "), place(operand.span.start));
                declared = Some(ty);
            }
            let at = out.len() as u32;
            out.code(&template::name_of(number), operand.span);
            bindings.push(Binding {
                span: Span::new(at, out.len() as u32),
                constraint: operand.constraint.clone(),
                is_output: operand.is_output,
                uses,
                is_tied: operand.is_tied,
                is_named_otherwise: operand.is_named_otherwise,
                lacks_comma: operand.lacks_comma,
                known: operand.known,
            });
        }
        if declared.is_some() {
            out.glue(";", keyword);
        }
        out.glue("\n", keyword);
        let body = out.len() as u32;
        out.append(&text, 0..text.len());
        let body = Span::new(body, out.len() as u32);
        let stray_braces = balance.close(out, body, keyword);
        for (span, _) in &mut errors {
            *span = Span::new(span.start + body.start, span.end + body.start);
        }
        let (end_at, memory_clobber) = match statement.memory_clobber {
            Some((at, text)) => (at, Some(text)),
            None => (span.end, None),
        };
        let end = out.len() as u32;
        out.code("}", place(end_at));
        let end = Span::new(end, out.len() as u32);
        out.glue("\n", keyword);
        Some(Fragment {
            language: statement.language,
            span: Span::new(start, end.end),
            keyword: name,
            body,
            end,
            operands: bindings,
            is_volatile: statement.is_volatile,
            volatile_keyword: statement.volatile_keyword,
            clobbers_memory: statement.clobbers_memory,
            memory_clobber,
            is_convergent: statement.is_convergent,
            is_complete: !cooked.has_holes(),
            placeholder_errors: errors,
            stray_braces,
            seams: text.seams().into_iter().map(|at| at + body.start).collect(),
            has_unique_labels: unique,
            used: Some(span).filter(|span| keyword.start < span.start || span.end < keyword.end),
            placeholders: statement.placeholders,
        })
    }
}

/// What has to stand in front of a template and behind it, so that it ends where it ends.
#[derive(Default)]
struct Balance {
    /// Braces that are not closed: offsets.
    open: Vec<u32>,
    /// Braces that close nothing.
    stray: Vec<u32>,
    /// What ends a comment or string that is not ended.
    end: &'static str,
}

impl Balance {
    fn of(text: &str) -> Self {
        let mut balance = Self::default();
        let bytes = text.as_bytes();
        let mut at = 0;
        let find = |needle: &[u8], from: usize| {
            memchr::memmem::find(bytes.get(from..).unwrap_or_default(), needle).map(|found| from + found)
        };
        while let Some(byte) = bytes.get(at) {
            at += match (byte, bytes.get(at + 1)) {
                (b'{', _) => {
                    balance.open.push(at as u32);
                    1
                }
                (b'}', _) => {
                    if balance.open.pop().is_none() {
                        balance.stray.push(at as u32);
                    }
                    1
                }
                (b'/', Some(b'/')) => find(b"\n", at).unwrap_or(bytes.len()) - at,
                (b'/', Some(b'*')) => {
                    if let Some(end) = find(b"*/", at + 2) {
                        end + 2 - at
                    } else {
                        balance.end = "*/";
                        break;
                    }
                }
                // A string ends on its line.
                (b'"', _) => {
                    let rest = bytes.get(at + 1..).unwrap_or_default();
                    match memchr::memchr2(b'"', b'\n', rest) {
                        Some(len) => len + 2,
                        None => break,
                    }
                }
                _ => 1,
            };
        }
        balance
    }

    /// Appends what is missing, and returns the braces that do not match.
    fn close(&self, out: &mut Mapped, body: Span, place: Span) -> Vec<Span> {
        let end = Span::at(place.end);
        // A comment ends with its line.
        out.glue(self.end, end);
        out.glue("\n", end);
        for _ in &self.open {
            out.glue("}", end);
        }
        let at = |offset: &u32| Span::new(body.start + offset, body.start + offset + 1);
        let mut stray: Vec<Span> = self.stray.iter().chain(&self.open).map(at).collect();
        stray.sort_unstable();
        stray
    }
}
