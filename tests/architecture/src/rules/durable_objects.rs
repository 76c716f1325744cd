//! `#[durable_object]` occurs only in deployables: the objects themselves are libraries.

use syn::spanned::Spanned;
use syn::visit::Visit;

use crate::{Tree, Violation, at};

/// Folders that may instantiate objects: the Workers, and the fixture for tests.
const DEPLOYABLE: [&str; 2] = ["workers/", "tests/workerd/fixture/"];

/// Reports objects declared elsewhere.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for source in &tree.sources {
        if !DEPLOYABLE
            .iter()
            .any(|place| source.path.starts_with(place))
        {
            Objects {
                path: &source.path,
                found: &mut found,
            }
            .visit_file(&source.syntax);
        }
    }
    found
}

struct Objects<'a> {
    path: &'a str,
    found: &'a mut Vec<Violation>,
}

impl<'ast> Visit<'ast> for Objects<'_> {
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if attribute
            .path()
            .segments
            .last()
            .is_some_and(|last| last.ident == "durable_object")
        {
            let what = "a Durable Object is declared in a Worker, on a newtype around the library's struct";
            self.found
                .push(at(self.path, attribute.span().start().line, what));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    #[test]
    fn object_outside_a_worker_is_reported() {
        let text = "//! x\n#[worker::durable_object]\npub struct O;\n";
        let tree = planted(&[
            ("durable-objects/o/src/lib.rs", text),
            ("workers/w/src/objects.rs", text),
        ]);
        assert_eq!(check(&tree).len(), 1);
    }
}
