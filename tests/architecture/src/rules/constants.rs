//! Constants in the shipped code, evaluated: texts, numbers and durations.
//!
//! Not here: the rule that compares them with the documents (`reference`).

use std::collections::BTreeMap;

use syn::{BinOp, Expr, ImplItem, Item, Lit};

use crate::{Source, Tree};

/// Folders with shipped code.
const SHIPPED: [&str; 4] = ["shared/", "containers/", "durable-objects/", "workers/"];
/// Crates in them that are not shipped.
const NOT_SHIPPED: [&str; 1] = ["shared/testkit/"];
/// Folders with measuring programs.
const EXAMPLES: &str = "/examples/";
/// Words in a constant's name that mark a limit.
const WORDS: &str =
    "MAX MIN LIMIT TIMEOUT DEADLINE CAP ATTEMPTS EVERY INTERVAL LEASE RETENTION BUDGET";
/// Milliseconds in a second.
const SECOND: i128 = 1000;

/// A constant that is a limit.
pub struct Constant {
    /// The constant's name.
    pub name: String,
    /// Value as the page shows it.
    pub value: String,
    /// First sentence in the documentation.
    pub doc: String,
    /// File that defines it.
    pub path: String,
}

/// A number, or a duration in milliseconds.
#[derive(Clone, Copy)]
enum Value {
    Number(i128),
    Duration(i128),
}

/// The text constants below a folder, by name.
pub fn texts(tree: &Tree, folder: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for source in tree
        .sources
        .iter()
        .filter(|source| source.path.starts_with(folder))
    {
        for item in &source.syntax.items {
            if let Item::Const(item) = item
                && let Expr::Lit(literal) = &*item.expr
                && let Lit::Str(text) = &literal.lit
            {
                let module = source
                    .path
                    .rsplit('/')
                    .next()
                    .unwrap_or_default()
                    .trim_end_matches(".rs");
                found.insert(format!("{module}::{}", item.ident), text.value());
            }
        }
    }
    found
}

/// Returns the shipped code's limits: constants with a limit word in their name and a known value.
pub fn limits(tree: &Tree) -> Vec<Constant> {
    let shipped = tree.sources.iter().filter(|source| {
        SHIPPED.iter().any(|folder| source.path.starts_with(folder))
            && !NOT_SHIPPED
                .iter()
                .any(|folder| source.path.starts_with(folder))
            && !source.path.contains(EXAMPLES)
            && !source.is_test_line(1)
    });
    shipped
        .flat_map(|source| constants(source, &source.syntax.items))
        .collect()
}

fn constants(source: &Source, items: &[Item]) -> Vec<Constant> {
    let mut found = Vec::new();
    for item in items {
        match item {
            Item::Const(item) => {
                found.extend(constant(source, &item.ident, &item.expr, &item.attrs));
            }
            Item::Impl(item) => {
                for member in &item.items {
                    if let ImplItem::Const(item) = member {
                        found.extend(constant(source, &item.ident, &item.expr, &item.attrs));
                    }
                }
            }
            Item::Mod(item) => {
                let items = item
                    .content
                    .as_ref()
                    .map(|(_, items)| items.as_slice())
                    .unwrap_or_default();
                found.extend(constants(source, items));
            }
            _ => {}
        }
    }
    found
}

fn constant(
    source: &Source,
    ident: &syn::Ident,
    value: &Expr,
    attributes: &[syn::Attribute],
) -> Option<Constant> {
    let name = ident.to_string();
    let is_limit = name
        .split('_')
        .any(|part| WORDS.split(' ').any(|word| word == part));
    if !is_limit || source.is_test_line(ident.span().start().line) {
        return None;
    }
    Some(Constant {
        value: shown(evaluate(value)?),
        doc: doc(attributes),
        path: source.path.clone(),
        name,
    })
}

/// The documentation's first sentence.
fn doc(attributes: &[syn::Attribute]) -> String {
    let lines = attributes
        .iter()
        .filter_map(|attribute| match &attribute.meta {
            syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Str(text) => Some(text.value().trim().to_owned()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        });
    let text = lines.collect::<Vec<_>>().join(" ");
    text.split(". ")
        .next()
        .unwrap_or_default()
        .trim_end_matches('.')
        .to_owned()
}

fn evaluate(value: &Expr) -> Option<Value> {
    match value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(number) => number.base10_parse().ok().map(Value::Number),
            _ => None,
        },
        Expr::Paren(inner) => evaluate(&inner.expr),
        Expr::Cast(inner) => evaluate(&inner.expr),
        Expr::Binary(pair) => {
            let (Value::Number(left), Value::Number(right)) =
                (evaluate(&pair.left)?, evaluate(&pair.right)?)
            else {
                return None;
            };
            let result = match pair.op {
                BinOp::Add(_) => left.checked_add(right),
                BinOp::Sub(_) => left.checked_sub(right),
                BinOp::Mul(_) => left.checked_mul(right),
                BinOp::Div(_) => left.checked_div(right),
                BinOp::Shl(_) => left.checked_shl(u32::try_from(right).ok()?),
                _ => None,
            };
            result.map(Value::Number)
        }
        Expr::Call(call) => {
            let Expr::Path(function) = &*call.func else {
                return None;
            };
            let unit = match function.path.segments.last()?.ident.to_string().as_str() {
                "from_secs" => SECOND,
                "from_millis" => 1,
                _ => return None,
            };
            match evaluate(call.args.first()?)? {
                Value::Number(number) => Some(Value::Duration(number.checked_mul(unit)?)),
                Value::Duration(_) => None,
            }
        }
        _ => None,
    }
}

/// Formats it as the page shows it: digits in groups of three, a duration with the unit.
fn shown(value: Value) -> String {
    match value {
        Value::Number(number) => grouped(number),
        Value::Duration(ms) if ms % SECOND == 0 => format!("{} s", grouped(ms / SECOND)),
        Value::Duration(ms) => format!("{} ms", grouped(ms)),
    }
}

fn grouped(number: i128) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if number < 0 { format!("-{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    #[test]
    fn limits_are_found_and_evaluated() {
        let text = "//! x\n/// Longest text. More.\nconst MAX_TEXT: usize = 2 << 20;\nconst OTHER: u8 = 1;\n\
            const TIMEOUT: Duration = Duration::from_millis(1500);\nimpl X {\n    const LIMIT_MS: i64 = 15 * 60 * 1000;\n}\n\
            #[cfg(test)]\nmod tests {\n    const MAX: u8 = 1;\n}\n";
        let tree = planted(&[("shared/a/src/lib.rs", text)]);
        let found: Vec<_> = limits(&tree)
            .into_iter()
            .map(|limit| format!("{} {} {}", limit.name, limit.value, limit.doc))
            .collect();
        assert_eq!(
            found,
            [
                "MAX_TEXT 2,097,152 Longest text",
                "TIMEOUT 1,500 ms ",
                "LIMIT_MS 900,000 "
            ]
        );
    }
}
