//! What a kernel says about how it is launched: `.reqntid 128`, `.reqnctapercluster 2`, and so on.
//!
//! The directives of each function are read once, when the [`Unit`](super::unit::Unit) is made.
//! Numbers that are none, that are missing or too many, and sizes of 0 are not known, but that the
//! directive stands there is. Of two directives with one name the first counts.

use crate::source::{Source, Span, Spanned};
use crate::syntax::ast::{Directive, Function, Module};
use crate::syntax::literal;

/// A directive, and what it says, if that is known.
pub type Said<T> = Option<Spanned<Option<T>>>;

/// What the directives of a function say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LaunchBounds {
    /// `.reqntid`: the threads of a CTA in each direction.
    pub required_threads: Said<[u32; 3]>,
    /// `.maxntid`: the most that there may be, all together.
    pub most_threads: Said<[u32; 3]>,
    /// `.minnctapersm`: CTAs that an SM shall have room for.
    pub least_ctas: Said<u32>,
    /// `.maxnreg`: the most registers of a thread.
    pub most_registers: Said<u32>,
    /// `.reqnctapercluster`: the CTAs of a cluster in each direction.
    pub required_cluster: Said<[u32; 3]>,
    /// `.maxclusterrank`: the most CTAs of a cluster.
    pub most_cluster: Said<u32>,
    /// `.explicitcluster`: the launch has to say that there are clusters.
    pub explicit_cluster: Option<Span>,
    /// `.blocksareclusters`: what the launch calls a CTA is a cluster.
    pub blocks_are_clusters: Option<Span>,
}

/// How many CTAs a cluster has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// How many.
    pub ctas: u64,
    /// Whether there are as many, and not fewer.
    pub exact: bool,
    /// The directive.
    pub span: Span,
}

impl LaunchBounds {
    /// Of a function that says nothing.
    const NONE: Self = Self {
        required_threads: None,
        most_threads: None,
        least_ctas: None,
        most_registers: None,
        required_cluster: None,
        most_cluster: None,
        explicit_cluster: None,
        blocks_are_clusters: None,
    };

    fn new(source: &Source, module: &Module, directives: &[Directive]) -> Self {
        let mut this = Self::NONE;
        for directive in directives {
            let span = directive.name;
            let numbers = || numbers(source, module, directive);
            let one = || numbers().filter(|[_, y, z]| [y, z] == [&1, &1]).map(|[number, ..]| number);
            match source.slice(span) {
                ".reqntid" => keep(&mut this.required_threads, Spanned::new(numbers(), span)),
                ".maxntid" => keep(&mut this.most_threads, Spanned::new(numbers(), span)),
                ".minnctapersm" => keep(&mut this.least_ctas, Spanned::new(one(), span)),
                ".maxnreg" => keep(&mut this.most_registers, Spanned::new(one(), span)),
                ".reqnctapercluster" => keep(&mut this.required_cluster, Spanned::new(numbers(), span)),
                ".maxclusterrank" => keep(&mut this.most_cluster, Spanned::new(one(), span)),
                ".explicitcluster" => keep(&mut this.explicit_cluster, span),
                ".blocksareclusters" => keep(&mut this.blocks_are_clusters, span),
                _ => {}
            }
        }
        this
    }

    /// The threads of a CTA in each direction, where every launch has the same, and what says so. A CTA
    /// may have fewer than the most, but not fewer than one.
    pub fn block(&self) -> Option<Spanned<[u32; 3]>> {
        known(self.required_threads).or_else(|| known(self.most_threads).filter(|it| it.value == [1; 3]))
    }

    /// How many threads those are.
    pub fn threads(&self) -> Option<Spanned<u64>> {
        let block = self.block()?;
        Some(Spanned::new(product(block.value)?, block.span))
    }

    /// How many threads a CTA has, or has at most.
    pub fn most(&self) -> Option<u64> {
        product(known(self.required_threads).or_else(|| known(self.most_threads))?.value)
    }

    /// How many threads a CTA has at most, all in one row, where it is not said how many it has.
    pub fn most_in_a_row(&self) -> Option<Spanned<u64>> {
        let most = known(self.most_threads).filter(|it| self.block().is_none() && it.value[1..] == [1, 1])?;
        Some(Spanned::new(u64::from(most.value[0]), most.span))
    }

    /// How many CTAs the clusters have, or have at most.
    pub fn cluster(&self) -> Option<Cluster> {
        match (self.required_cluster, self.most_cluster) {
            (Some(Spanned { value, span }), _) => Some(Cluster { ctas: product(value?)?, exact: true, span }),
            (None, Some(Spanned { value, span })) => {
                Some(Cluster { ctas: value?.into(), exact: false, span })
            }
            (None, None) => None,
        }
    }

    /// Whether a directive is about clusters.
    pub fn asks_for_cluster(&self) -> bool {
        self.required_cluster.is_some()
            || self.most_cluster.is_some()
            || self.explicit_cluster.is_some()
            || self.blocks_are_clusters.is_some()
    }
}

/// The first stays.
fn keep<T>(of: &mut Option<T>, value: T) {
    of.get_or_insert(value);
}

/// What a directive says.
pub fn known<T>(said: Said<T>) -> Option<Spanned<T>> {
    said.and_then(|it| Some(Spanned::new(it.value?, it.span)))
}

fn product(size: [u32; 3]) -> Option<u64> {
    size.iter().try_fold(1u64, |product, size| product.checked_mul(u64::from(*size)))
}

/// One to three numbers greater than 0; what is left out is 1.
fn numbers(source: &Source, module: &Module, directive: &Directive) -> Option<[u32; 3]> {
    let operands = module.operands(directive.operands);
    if operands.is_empty() || operands.len() > 3 {
        return None;
    }
    let mut numbers = [1; 3];
    for (number, operand) in numbers.iter_mut().zip(operands) {
        *number = u32::try_from(literal::evaluate(source, module, operand)?).ok().filter(|it| *it > 0)?;
    }
    Some(numbers)
}

/// The bounds of all functions of a module.
#[derive(Debug, Default)]
pub struct AllBounds {
    /// By where the directives of a function start; only those that have some.
    of: Vec<(u32, LaunchBounds)>,
}

impl AllBounds {
    /// Reads the directives of a module.
    pub fn new(source: &Source, module: &Module) -> Self {
        let mut of: Vec<(u32, LaunchBounds)> = module
            .functions
            .iter()
            .filter(|function| function.directives.len > 0)
            .map(|function| {
                let directives = &module.directives[function.directives.range()];
                (function.directives.start, LaunchBounds::new(source, module, directives))
            })
            .collect();
        of.sort_by_key(|(start, _)| *start);
        Self { of }
    }

    /// Those of a function of the module.
    pub fn of(&self, function: &Function) -> &LaunchBounds {
        static NONE: LaunchBounds = LaunchBounds::NONE;
        if function.directives.len == 0 {
            return &NONE;
        }
        let at = self.of.binary_search_by_key(&function.directives.start, |(start, _)| *start);
        at.ok().and_then(|at| self.of.get(at)).map_or(&NONE, |(_, bounds)| bounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::parser::parse;

    fn bounds(directives: &str) -> LaunchBounds {
        let text = format!(".version 9.0\n.target sm_100a\n.func f();\n.entry k() {directives} {{ ret; }}");
        let source = Source::new("t", text).unwrap();
        let module = parse(&source).module;
        let (_, function) = module.bodies().next().unwrap();
        *AllBounds::new(&source, &module).of(function)
    }

    #[test]
    fn sizes() {
        let block = |directives: &str| bounds(directives).block().map(|it| it.value);
        assert_eq!(block(".reqntid 128"), Some([128, 1, 1]));
        assert_eq!(block(".maxntid 256 .reqntid 8, 4, 2"), Some([8, 4, 2]));
        assert_eq!(block(".maxntid 128"), None);
        assert_eq!(block(".maxntid 1"), Some([1, 1, 1]));
        assert_eq!(block(".reqntid 1, 2, 3, 4"), None);
        assert_eq!(block(".reqntid 0"), None);
        assert_eq!(bounds(".reqntid 8, 4, 2").threads().map(|it| it.value), Some(64));
        assert_eq!(bounds(""), LaunchBounds::NONE);
    }

    #[test]
    fn clusters() {
        let cluster = |directives: &str| bounds(directives).cluster().map(|it| (it.ctas, it.exact));
        assert_eq!(cluster(".reqnctapercluster 2, 2"), Some((4, true)));
        assert_eq!(cluster(".maxclusterrank 8"), Some((8, false)));
        assert_eq!(cluster(".maxclusterrank 8 .reqnctapercluster 2"), Some((2, true)));
        assert_eq!(cluster(".explicitcluster"), None);
        assert!(bounds(".explicitcluster").asks_for_cluster());
        assert!(!bounds(".maxntid 64").asks_for_cluster());
    }
}
