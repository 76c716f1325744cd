//! The allowed hosts of package registries and of their documentation.
//!
//! The rule `hosts` of the tree exempts this file.

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

/// Hosts with the documentation of these packages and languages, for `web_fetch`. They take no uploads.
pub(crate) const DOCUMENTATION: &[&str] = &[
    "docs.rs",
    "doc.rust-lang.org",
    "www.npmjs.com",
    "docs.npmjs.com",
    "nodejs.org",
    "docs.python.org",
    "packaging.python.org",
    "pkg.go.dev",
    "go.dev",
    "guides.rubygems.org",
    "docs.ruby-lang.org",
    "www.rubydoc.info",
];
