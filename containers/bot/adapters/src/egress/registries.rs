//! Allowed hosts for package registries and their documentation.
//!
//! The tree rule `hosts` exempts this file.

/// Public package registry hosts: crates.io, npm, `PyPI`, Go and `RubyGems`.
///
/// Linux distribution mirrors are absent, because commands cannot install system packages.
/// Registries whose clients ignore proxy variables (Maven) are absent as well.
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

/// Documentation hosts for these packages and languages, for `web_fetch`. They take no uploads.
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
