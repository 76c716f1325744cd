//! Store SQL contains no transactions and settings, which the storage port provides. Durable
//! Objects reject `BEGIN`, `SAVEPOINT` and `PRAGMA`, and only at run time.

use syn::visit::Visit;

use crate::{Source, Tree, Violation, at};

/// Words that only the storage port may use.
const REFUSED: [&str; 5] = ["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "PRAGMA"];
/// The native adapter, which implements the port.
const ADAPTER: &str = "shared/sql-native/";

/// Reports such words in migrations and in the store crates' texts.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree.with_path(|path| path.starts_with("migrations/") && path.ends_with(".sql")) {
        for (index, line) in file.text.lines().enumerate() {
            let statement = line.split("--").next().unwrap_or_default().to_uppercase();
            found.extend(
                refused(&statement)
                    .into_iter()
                    .map(|word| at(&file.path, index + 1, told(word))),
            );
        }
    }
    for source in &tree.sources {
        let holds_stores = ["shared/", "durable-objects/", "workers/"]
            .iter()
            .any(|root| source.path.starts_with(root));
        if holds_stores && !source.path.starts_with(ADAPTER) {
            Texts {
                source,
                found: &mut found,
            }
            .visit_file(&source.syntax);
        }
    }
    found
}

fn told(word: &str) -> String {
    format!("`{word}` is refused by the edge platform: use the storage port")
}

/// Returns the forbidden words that open a statement; elsewhere they are names.
fn refused(text: &str) -> Vec<&'static str> {
    let openings = text
        .split(';')
        .filter_map(|statement| statement.split_whitespace().next());
    openings
        .filter_map(|opening| REFUSED.into_iter().find(|word| *word == opening))
        .collect()
}

struct Texts<'a> {
    source: &'a Source,
    found: &'a mut Vec<Violation>,
}

impl<'ast> Visit<'ast> for Texts<'_> {
    // Documentation is an attribute, and may mention any word.
    fn visit_attribute(&mut self, _: &'ast syn::Attribute) {}

    fn visit_lit_str(&mut self, text: &'ast syn::LitStr) {
        let line = text.span().start().line;
        if !self.source.is_test_line(line) {
            let words = refused(&text.value())
                .into_iter()
                .map(|word| at(&self.source.path, line, told(word)));
            self.found.extend(words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    #[test]
    fn transactions_in_store_sql_are_reported() {
        let text = "//! BEGIN\n/// PRAGMA\npub const A: &str = \"SELECT 1; BEGIN\";\n\
            pub const B: &str = \"-----BEGIN KEY\";\n#[cfg(test)]\nmod t { const C: &str = \"PRAGMA x\"; }\n";
        let tree = planted(&[
            ("shared/runs/src/lib.rs", text),
            ("shared/sql-native/src/lib.rs", text),
            (
                "migrations/s/0001_a.sql",
                "-- BEGIN is not for here\npragma user_version = 1;\n",
            ),
        ]);
        let found = check(&tree);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("migrations/s/0001_a.sql:2:"));
        assert!(found[1].starts_with("shared/runs/src/lib.rs:3:"));
    }
}
