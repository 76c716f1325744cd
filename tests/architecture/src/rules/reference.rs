//! Tables in `docs/reference` match the code: routes, event kinds, run notes, variables, limits.
//!
//! A new entry in the code without a row fails, and so does a row without code. Not here: the
//! descriptions in the rows.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::TokenTree;
use syn::{Expr, Fields, Item, Lit};

use super::constants::{self, Constant};
use crate::source::each_group;
use crate::{Source, Tree, Violation, at};

/// Folder with the pages.
const PAGES: &str = "docs/reference/";
/// Folder with the files that list the bot's routes.
const BOT: &str = "containers/bot/http/src/";
/// Name of these files.
const ROUTES: &str = "/routes.rs";
/// The file that lists the state Worker's routes.
const STATE: &str = "shared/wire/src/state.rs";
/// Folders whose code reads environment variables, or forwards them to the bot.
const READERS: [&str; 5] = [
    "containers/bot/app/src/",
    "containers/bot/adapters/src/models/",
    "containers/bot/telemetry/src/",
    "shared/proxy/src/",
    "durable-objects/bot/src/",
];

/// Reports code entries without a row, and rows without code.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = state_routes(tree);
    found.extend(bot_routes(tree));
    found.extend(variants(tree, "EventBody", "Kinds"));
    found.extend(variants(tree, "NoteKind", "Run notes"));
    found.extend(environment(tree));
    found.extend(limits(tree));
    found
}

fn page<'t>(tree: &'t Tree, name: &str) -> &'t str {
    tree.text(&format!("{PAGES}{name}")).unwrap_or_default()
}

/// Returns the cells in a table's rows below a heading, with their lines.
fn rows<'t>(page: &'t str, heading: &str) -> Vec<(usize, Vec<&'t str>)> {
    let lines = page
        .lines()
        .enumerate()
        .skip_while(|(_, line)| line.trim_start_matches('#').trim() != heading);
    let section = lines.skip(1).take_while(|(_, line)| !line.starts_with('#'));
    let rows = section.filter(|(_, line)| line.starts_with("| ") && !line.starts_with("|---"));
    let cells = rows.map(|(index, line)| {
        (
            index + 1,
            line.trim_matches('|').split(" | ").map(str::trim).collect(),
        )
    });
    let mut found: Vec<(usize, Vec<&str>)> = cells.collect();
    // A table's first row names the columns.
    found.retain(|(_, cells)| {
        cells
            .first()
            .is_some_and(|first| first.starts_with('`') || cells.len() > 2)
    });
    found
}

/// Returns a cell's texts in backticks.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn missing(page: &str, heading: &str, entry: &str) -> Violation {
    format!("{PAGES}{page}: `{entry}` has no row below \"{heading}\"")
}

fn gone(page: &str, line: usize, entry: &str) -> Violation {
    at(
        &format!("{PAGES}{page}"),
        line,
        format!("`{entry}` is not in the code"),
    )
}

fn source<'t>(tree: &'t Tree, path: &str) -> Option<&'t Source> {
    tree.sources.iter().find(|source| source.path == path)
}

/// Returns the string literals in a file's shipped lines, inside macros too, without documentation.
fn literals(source: &Source) -> Vec<String> {
    let mut found = Vec::new();
    each_group(&source.tokens, &mut |tokens| {
        let is_doc = matches!(tokens, [TokenTree::Ident(name), ..] if name == "doc");
        for token in tokens.iter().filter(|_| !is_doc) {
            if let TokenTree::Literal(literal) = token
                && let Lit::Str(text) = Lit::new(literal.clone())
                && !source.is_test_line(text.span().start().line)
            {
                found.push(text.value());
            }
        }
    });
    found
}

fn state_routes(tree: &Tree) -> Vec<Violation> {
    let (page_name, heading) = ("state-worker.md", "Routes");
    let Some(source) = source(tree, STATE) else {
        return Vec::new();
    };
    let routes: BTreeSet<String> = literals(source)
        .into_iter()
        .filter(|text| text.len() > 1 && text.starts_with('/') && !text.ends_with('/'))
        .collect();
    let rows = rows(page(tree, page_name), heading);
    let listed: BTreeMap<&str, usize> = rows
        .iter()
        .filter_map(|(line, cells)| Some((quoted(cells.first()?).next()?, *line)))
        .collect();
    let new = routes
        .iter()
        .filter(|route| !listed.contains_key(route.as_str()));
    let mut found: Vec<_> = new
        .map(|route| missing(page_name, heading, route))
        .collect();
    let old = listed.iter().filter(|(route, _)| !routes.contains(**route));
    found.extend(old.map(|(route, line)| gone(page_name, *line, route)));
    found
}

/// Every path in the bot's routes occurs on a page. Constants in `shared/wire` are resolved.
fn bot_routes(tree: &Tree) -> Vec<Violation> {
    let sources: Vec<&Source> = tree
        .sources
        .iter()
        .filter(|source| source.path.starts_with(BOT) && source.path.ends_with(ROUTES))
        .collect();
    if sources.is_empty() {
        return Vec::new();
    }
    let mut paths: Vec<String> = sources
        .iter()
        .flat_map(|source| literals(source))
        .filter(|text| text.starts_with('/'))
        .collect();
    let constants = constants::texts(tree, "shared/wire/src/");
    let text: String = sources
        .iter()
        .filter_map(|source| tree.text(&source.path))
        .collect();
    paths.extend(
        constants
            .into_iter()
            .filter(|(name, value)| value.starts_with('/') && text.contains(name))
            .map(|(_, value)| value),
    );
    let pages: Vec<&str> = tree
        .with_path(|path| path.starts_with(PAGES))
        .map(|file| file.text.as_str())
        .collect();
    let is_named = |path: &String| {
        let ends = ["`", "?", " "].map(|end| format!("{path}{end}"));
        pages
            .iter()
            .any(|page| ends.iter().any(|path| page.contains(path.as_str())))
    };
    paths
        .iter()
        .filter(|path| !is_named(path))
        .map(|path| format!("{PAGES}: no page names the route `{path}`"))
        .collect()
}

/// Every enum variant has a row with the fields.
fn variants(tree: &Tree, name: &str, heading: &str) -> Vec<Violation> {
    let page_name = "events.md";
    let items = tree
        .sources
        .iter()
        .filter(|source| source.path.starts_with("shared/events/"))
        .flat_map(|source| &source.syntax.items);
    let mut enums = items.filter_map(|item| match item {
        Item::Enum(item) if item.ident == name => Some(item),
        _ => None,
    });
    let Some(found) = enums.next() else {
        return Vec::new();
    };
    let rows = rows(page(tree, page_name), heading);
    let row_of = |kind: &str| {
        rows.iter().find(|(_, cells)| {
            cells
                .first()
                .is_some_and(|cell| quoted(cell).next() == Some(kind))
        })
    };
    let mut problems = Vec::new();
    let mut kinds = BTreeSet::new();
    for variant in &found.variants {
        let kind = snake(&variant.ident.to_string());
        let Some((line, cells)) = row_of(&kind) else {
            problems.push(missing(page_name, heading, &kind));
            kinds.insert(kind);
            continue;
        };
        if let Fields::Named(fields) = &variant.fields {
            let row = cells.join(" ");
            for field in fields.named.iter().filter_map(field_name) {
                if !quoted(&row).any(|text| text.trim_end_matches('?') == field) {
                    let what = format!("the field `{field}` of `{kind}` is missing");
                    problems.push(at(&format!("{PAGES}{page_name}"), *line, what));
                }
            }
        }
        kinds.insert(kind);
    }
    let listed = rows
        .iter()
        .filter_map(|(line, cells)| Some((*line, quoted(cells.first()?).next()?)));
    problems.extend(
        listed
            .filter(|(_, kind)| !kinds.contains(*kind))
            .map(|(line, kind)| gone(page_name, line, kind)),
    );
    problems
}

/// Returns a field's name on the wire: the `rename`, else camel case.
fn field_name(field: &syn::Field) -> Option<String> {
    let mut renamed = None;
    for attribute in field
        .attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("serde"))
    {
        // The attribute's other arguments do not matter here.
        drop(attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("rename") {
                renamed = Some(meta.value()?.parse::<syn::LitStr>()?.value());
            } else if meta.input.peek(syn::Token![=]) {
                meta.value()?.parse::<Expr>()?;
            }
            Ok(())
        }));
    }
    renamed.or_else(|| Some(camel(&field.ident.as_ref()?.to_string())))
}

fn snake(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(c.to_lowercase());
    }
    text
}

fn camel(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (initial, rest) = part.split_at(part.len().min(1));
        text + &initial.to_uppercase() + rest
    })
}

/// Every name that the bot reads, or the edge forwards, has a row; every named row is read.
fn environment(tree: &Tree) -> Vec<Violation> {
    let page_name = "environment.md";
    let text = page(tree, page_name);
    let sources = tree
        .sources
        .iter()
        .filter(|source| READERS.iter().any(|folder| source.path.starts_with(folder)));
    let names: BTreeSet<String> = sources
        .flat_map(literals)
        .filter(|text| is_variable(text) && !text.starts_with("CARGO_"))
        .collect();
    let listed: BTreeSet<&str> = text.lines().flat_map(quoted).collect();
    let mut found: Vec<_> = names
        .iter()
        .filter(|name| !listed.contains(name.as_str()))
        .map(|name| missing(page_name, "Bot", name))
        .collect();
    for heading in ["Bot", "Container"] {
        for (line, cells) in rows(text, heading) {
            let old = cells
                .iter()
                .flat_map(|cell| quoted(cell))
                .filter(|name| is_variable(name));
            found.extend(
                old.filter(|name| !names.contains(*name))
                    .map(|name| gone(page_name, line, name)),
            );
        }
    }
    found
}

/// Capitals, digits and underscores, with at least one underscore inside.
fn is_variable(text: &str) -> bool {
    text.contains('_')
        && text.starts_with(|c: char| c.is_ascii_uppercase())
        && text
            .bytes()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == b'_')
}

/// Every limit has a row with the value, found by the constant's name.
fn limits(tree: &Tree) -> Vec<Violation> {
    let page_name = "limits.md";
    let text = page(tree, page_name);
    let listed: Vec<(usize, &str, &str)> = text
        .lines()
        .enumerate()
        .filter_map(|(index, line)| {
            let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
            match &cells[..] {
                [_, value, name] if name.starts_with('`') => {
                    Some((index + 1, *value, name.trim_matches('`')))
                }
                _ => None,
            }
        })
        .collect();
    let limits: Vec<Constant> = constants::limits(tree);
    let is_unlisted = |limit: &&Constant| {
        !listed
            .iter()
            .any(|(_, value, name)| *name == limit.name && *value == limit.value)
    };
    let mut found: Vec<_> = limits
        .iter()
        .filter(is_unlisted)
        .map(|limit| {
            format!(
                "{PAGES}{page_name}: add `| {} | {} | `{}` |` ({})",
                limit.doc, limit.value, limit.name, limit.path
            )
        })
        .collect();
    let is_old = |(_, value, name): &&(usize, &str, &str)| {
        !limits
            .iter()
            .any(|limit| limit.name == *name && limit.value == *value)
    };
    found.extend(
        listed
            .iter()
            .filter(is_old)
            .map(|(line, value, name)| gone(page_name, *line, &format!("{name} = {value}"))),
    );
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    const EVENTS: &str = "//! x\npub enum EventBody {\n    ToolCall { call_id: u8, #[serde(default, rename = \"ref\")] git_ref: u8 },\n}\n";

    #[test]
    fn event_without_a_row_is_reported() {
        let with = |page: &str| {
            let tree = planted(&[
                ("shared/events/src/event.rs", EVENTS),
                ("docs/reference/events.md", page),
            ]);
            variants(&tree, "EventBody", "Kinds").len()
        };
        assert_eq!(
            with(
                "## Kinds\n\n| Kind | Fields | When |\n|---|---|---|\n| `tool_call` | `callId`, `ref?` | x |\n"
            ),
            0
        );
        assert_eq!(
            with(
                "## Kinds\n\n| Kind | Fields | When |\n|---|---|---|\n| `tool_call` | `callId` | x |\n"
            ),
            1
        );
        assert_eq!(
            with("## Kinds\n\n| Kind | Fields | When |\n|---|---|---|\n| `gone` | | x |\n"),
            2
        );
    }

    #[test]
    fn state_route_without_a_row_is_reported() {
        let code = "//! x\nverbs! { A \"/runs/put\" RECORD, B \"/runs/get\" OTHER }\n";
        let page =
            "## Routes\n\n| Route | Key |\n|---|---|\n| `/runs/put` | x |\n| `/gone` | x |\n";
        let tree = planted(&[(STATE, code), ("docs/reference/state-worker.md", page)]);
        let found = state_routes(&tree);
        assert!(found[0].contains("`/runs/get` has no row"), "{found:?}");
        assert!(found[1].contains("`/gone` is not in the code"), "{found:?}");
    }

    #[test]
    fn bot_route_without_a_page_is_reported() {
        let router =
            "//! x\nfn r() { router.route(\"/runs\", a).route(ars_wire::health::ROUTE, b); }\n";
        let wire = "//! x\npub const ROUTE: &str = \"/healthz\";\n";
        let files = [
            ("containers/bot/http/src/surfaces/health/routes.rs", router),
            ("shared/wire/src/health.rs", wire),
            ("docs/reference/runs.md", "`GET /runs`\n"),
        ];
        assert_eq!(
            bot_routes(&planted(&files)),
            ["docs/reference/: no page names the route `/healthz`"]
        );
    }

    #[test]
    fn variable_without_a_row_is_reported() {
        let code = "//! x\nconst A: &str = \"ARS_NEW\";\nconst B: &str = \"ARS_OLD\";\n";
        let page =
            "## Bot\n\n| Variable | Use |\n|---|---|\n| `ARS_OLD` | x |\n| `ARS_GONE` | x |\n";
        let tree = planted(&[
            ("containers/bot/app/src/a.rs", code),
            ("docs/reference/environment.md", page),
        ]);
        let found = environment(&tree);
        assert!(found[0].contains("`ARS_NEW` has no row"), "{found:?}");
        assert!(
            found[1].contains("`ARS_GONE` is not in the code"),
            "{found:?}"
        );
    }

    #[test]
    fn limit_without_a_row_is_reported() {
        let code = "//! x\nconst MAX_TEXT: usize = 4000;\n";
        let with = |row: &str| {
            let page = format!("| Limit | Value | Constant |\n|---|---|---|\n{row}\n");
            limits(&planted(&[
                ("shared/a/src/lib.rs", code),
                ("docs/reference/limits.md", &page),
            ]))
            .len()
        };
        assert_eq!(with("| text | 4,000 | `MAX_TEXT` |"), 0);
        assert_eq!(with("| text | 5,000 | `MAX_TEXT` |"), 2);
        assert_eq!(with(""), 1);
    }
}
