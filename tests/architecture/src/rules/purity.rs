//! Shared logic does no I/O: no file, socket, process, thread or environment. Clippy forbids the clock.

use syn::visit::{self, Visit};
use syn::{UseTree, spanned::Spanned};

use crate::{Source, Tree, Violation, at};

/// Standard library modules with side effects.
const OUTSIDE: [&str; 4] = ["env", "fs", "process", "thread"];
/// Types in `std::net` with side effects; addresses are values.
const SOCKETS: [&str; 3] = ["TcpListener", "TcpStream", "UdpSocket"];
/// Crates that are native on purpose.
const NATIVE: [&str; 2] = ["shared/sql-native/", "shared/testkit/"];

/// Reports I/O in shared logic.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in &tree.sources {
        if source.path.starts_with("shared/")
            && !NATIVE.iter().any(|place| source.path.starts_with(place))
        {
            Outside {
                source,
                found: &mut found,
            }
            .visit_file(&source.syntax);
        }
    }
    found
}

struct Outside<'a> {
    source: &'a Source,
    found: &'a mut Vec<Violation>,
}

impl Outside<'_> {
    fn note(&mut self, segments: &[String], line: usize) {
        let [std, module, rest @ ..] = segments else {
            return;
        };
        let socket = module == "net"
            && rest
                .first()
                .is_some_and(|item| SOCKETS.contains(&item.as_str()));
        let outside = OUTSIDE.contains(&module.as_str()) || socket;
        if std == "std" && outside && !self.source.is_test_line(line) {
            self.found.push(at(
                &self.source.path,
                line,
                format!("shared logic may not use std::{module}"),
            ));
        }
    }

    fn walk(&mut self, tree: &UseTree, before: &[String]) {
        let mut path = before.to_vec();
        match tree {
            UseTree::Path(part) => {
                path.push(part.ident.to_string());
                self.walk(&part.tree, &path);
            }
            UseTree::Group(group) => group.items.iter().for_each(|item| self.walk(item, &path)),
            UseTree::Name(name) => {
                path.push(name.ident.to_string());
                self.note(&path, name.span().start().line);
            }
            UseTree::Rename(rename) => {
                path.push(rename.ident.to_string());
                self.note(&path, rename.span().start().line);
            }
            UseTree::Glob(glob) => {
                path.push("*".into());
                self.note(&path, glob.span().start().line);
            }
        }
    }
}

impl<'ast> Visit<'ast> for Outside<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.walk(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<_> = path
            .segments
            .iter()
            .map(|segment| segment.ident.to_string())
            .collect();
        self.note(&segments, path.span().start().line);
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    #[test]
    fn io_in_shared_logic_is_reported() {
        let text = "//! x\nuse std::{net::{IpAddr, TcpStream}, fs::{self, File}};\nfn a() { let _ = ::std::env::var(\"x\"); }\n\
            #[cfg(test)]\nmod tests { use std::fs; }\n";
        let tree = planted(&[
            ("shared/a/src/lib.rs", text),
            ("shared/a/tests/t.rs", text),
            ("shared/sql-native/src/lib.rs", text),
            ("containers/bot/core/src/lib.rs", text),
        ]);
        let found = check(&tree);
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[3].starts_with("shared/a/src/lib.rs:3: shared logic may not use std::env"));
    }
}
