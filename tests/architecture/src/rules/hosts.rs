//! No file names package registry hosts, which are a machine's configuration. The list with the
//! hosts that commands may reach has to name them.

use crate::{Tree, Violation, at};

/// Public registry hosts, concatenated so that this file does not contain them.
const REGISTRIES: [&str; 8] = [
    concat!("registry.", "npmjs.org"),
    concat!("registry.", "yarnpkg.com"),
    concat!("static.", "crates.io"),
    concat!("index.", "crates.io"),
    concat!("files.", "pythonhosted.org"),
    concat!("pypi.", "org"),
    concat!("deb.", "debian.org"),
    concat!("proxy.", "golang.org"),
];
/// The allowed host list, and the documentation.
const ALLOWED: [&str; 2] = [
    "containers/bot/adapters/src/egress/registries.rs",
    "docs/reference/workspace.md",
];
/// The default registry in Cargo's lockfile, which is the same on every machine.
const CARGO_DEFAULT: &str = concat!("registry+https://github.com/rust-lang/", "crates.io-index");

/// Reports registry hosts, and any address in the files that package managers read.
pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut found = Vec::new();
    for file in tree
        .files
        .iter()
        .filter(|file| !ALLOWED.contains(&file.path.as_str()))
    {
        for (index, line) in file.text.lines().enumerate() {
            let line = line.replace(CARGO_DEFAULT, "");
            let registry = REGISTRIES.iter().any(|host| line.contains(host));
            if registry || (is_for_package_managers(&file.path) && line.contains("://")) {
                found.push(at(&file.path, index + 1, "names where packages come from"));
            }
        }
    }
    found
}

fn is_for_package_managers(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    [
        "Cargo.lock",
        "package-lock.json",
        ".npmrc",
        "config.toml",
        "pip.conf",
        "package.json",
    ]
    .contains(&name)
        || (name.starts_with("requirements") && name.ends_with(".txt"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::planted;

    #[test]
    fn registry_host_is_reported() {
        let text = format!("see https://{}/x\n", REGISTRIES[0]);
        assert_eq!(check(&planted(&[("docs/a.md", &text)])).len(), 1);
    }

    #[test]
    fn package_manager_files_contain_no_address() {
        let mirror = "\"resolved\": \"https://mirror.example/a.tgz\"\n";
        let cargo = format!("source = \"{CARGO_DEFAULT}\"\n");
        let tree = planted(&[
            ("package-lock.json", mirror),
            ("Cargo.lock", &cargo),
            ("docs/a.md", "https://mirror.example\n"),
            (
                "tests/models/requirements.txt",
                "--index-url https://mirror.example\n",
            ),
        ]);
        assert_eq!(check(&tree).len(), 2);
    }
}
