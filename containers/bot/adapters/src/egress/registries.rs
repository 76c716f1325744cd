//! The allowed hosts of package registries. The rule `hosts` of the tree exempts this file.

/// Hosts of public package registries: crates.io, npm, `PyPI`, Go and `RubyGems`.
///
/// Mirrors of Linux distributions are absent, because commands cannot install system packages. Registries whose clients
/// ignore the variables of a proxy (Maven) are absent as well.
pub(super) const REGISTRIES: &[&str] = &[
    "crates.io",
    "index.crates.io",
    "static.crates.io",
    "registry.npmjs.org",
    "pypi.org",
    "files.pythonhosted.org",
    "proxy.golang.org",
    "sum.golang.org",
    "rubygems.org",
    "index.rubygems.org",
];
