//! The HTTP surface over real connections (docs/testing.md, layer 4): one binary, one file per subject.

mod admin;
mod ingress;
mod metrics;
mod pages;
mod probe;
mod remote_ledger;
mod remote_runs;
mod streams;
mod support;
mod wire;
