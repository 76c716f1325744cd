//! The rules, applied to the checkout. Each is shown to fail on a planted tree beside its code.

use std::path::{Path, PathBuf};

use ars_tests_architecture::{Graph, Tree, Violation, rules};

fn tree() -> Tree {
    Tree::load(&root()).unwrap_or_else(|error| panic!("{error:#}"))
}

fn graph() -> Graph {
    Graph::load(&root()).unwrap_or_else(|error| panic!("{error:#}"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[track_caller]
fn holds(violations: &[Violation]) {
    assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
}

#[test]
fn dependencies_point_one_way() {
    holds(&rules::dependencies::check(&graph()));
}

#[test]
fn every_crate_takes_lints_and_versions_from_the_workspace() {
    holds(&rules::manifests::check(&tree(), &graph()));
}

#[test]
fn every_crate_holds_code() {
    holds(&rules::emptiness::check(&tree(), &graph()));
}

#[test]
fn every_source_file_says_what_it_is() {
    holds(&rules::headers::check(&tree()));
}

#[test]
fn no_file_is_too_long() {
    holds(&rules::sizes::files(&tree()));
}

#[test]
fn no_function_is_too_long() {
    holds(&rules::sizes::functions(&tree()));
}

#[test]
fn shared_logic_does_no_io() {
    holds(&rules::purity::check(&tree()));
}

#[test]
fn store_sql_leaves_transactions_to_the_port() {
    holds(&rules::sql_text::check(&tree()));
}

#[test]
fn migrations_are_append_only() {
    holds(&rules::migrations::check(&tree()));
}

#[test]
fn durable_objects_are_declared_in_workers() {
    holds(&rules::durable_objects::check(&tree()));
}

#[test]
fn lints_are_expected_with_a_reason_and_no_test_is_ignored() {
    holds(&rules::attributes::check(&tree()));
}

#[test]
fn tests_wait_for_conditions() {
    holds(&rules::sleeps::check(&tree()));
}

#[test]
fn every_line_of_the_log_says_what_happened() {
    holds(&rules::messages::check(&tree()));
}

#[test]
fn nothing_is_left_for_later() {
    holds(&rules::unfinished::check(&tree()));
}

#[test]
fn no_file_says_where_packages_come_from() {
    holds(&rules::hosts::check(&tree()));
}

#[test]
fn what_the_documents_name_is_there() {
    holds(&rules::named_paths::check(&tree()));
}
