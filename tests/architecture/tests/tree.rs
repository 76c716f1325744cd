//! The rules, applied to the checkout. Tests beside each rule show that it fails on a planted tree.

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
fn lints_and_versions_come_from_the_workspace() {
    holds(&rules::manifests::check(&tree(), &graph()));
}

#[test]
fn every_crate_contains_code() {
    holds(&rules::emptiness::check(&tree(), &graph()));
}

#[test]
fn every_source_file_has_a_header() {
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
fn imports_have_no_large_circle() {
    holds(&rules::circles::check(&tree()));
}

#[test]
fn mod_rs_files_only_declare() {
    holds(&rules::declarations::check(&tree()));
}

#[test]
fn shared_logic_does_no_io() {
    holds(&rules::purity::check(&tree()));
}

#[test]
fn store_sql_contains_no_transactions() {
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
fn lints_are_expected_with_a_reason() {
    holds(&rules::attributes::check(&tree()));
}

#[test]
fn tests_wait_for_conditions() {
    holds(&rules::sleeps::check(&tree()));
}

#[test]
fn every_log_event_has_a_message() {
    holds(&rules::messages::check(&tree()));
}

#[test]
fn no_placeholder_remains() {
    holds(&rules::unfinished::check(&tree()));
}

#[test]
fn no_file_names_a_registry() {
    holds(&rules::hosts::check(&tree()));
}

#[test]
fn documented_paths_exist() {
    holds(&rules::named_paths::check(&tree()));
}

#[test]
fn comments_and_test_names_are_plain() {
    holds(&rules::language::check(&tree()));
}

#[test]
fn citations_lead_somewhere() {
    holds(&rules::citations::check(&tree()));
}

#[test]
fn reference_matches_the_code() {
    holds(&rules::reference::check(&tree()));
}
