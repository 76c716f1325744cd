//! The rules, applied to the checkout. Tests beside each rule show that it fails on a planted tree.

use std::path::{Path, PathBuf};

use ars_tests_architecture::{Graph, Tree, rules::*};

fn tree() -> Tree {
    Tree::load(&root()).unwrap_or_else(|error| panic!("{error:#}"))
}

fn graph() -> Graph {
    Graph::load(&root()).unwrap_or_else(|error| panic!("{error:#}"))
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Makes a test for each rule, which fails with the violations.
macro_rules! holds {
    ($($name:ident: $violations:expr;)*) => {$(
        #[test]
        fn $name() {
            let violations = $violations;
            assert!(violations.is_empty(), "\n{}\n", violations.join("\n"));
        }
    )*};
}

holds! {
    dependencies_point_one_way: dependencies::check(&graph());
    lints_and_versions_come_from_the_workspace: manifests::check(&tree(), &graph());
    every_crate_contains_code: emptiness::check(&tree(), &graph());
    every_source_file_has_a_header: headers::check(&tree());
    no_file_is_too_long: sizes::files(&tree());
    no_function_is_too_long: sizes::functions(&tree());
    imports_have_no_large_circle: circles::check(&tree());
    modules_have_no_large_circle: module_circles::check(&tree());
    mod_rs_files_only_declare: declarations::check(&tree());
    shared_logic_does_no_io: purity::check(&tree());
    store_sql_contains_no_transactions: sql_text::check(&tree());
    migrations_are_append_only: migrations::check(&tree());
    durable_objects_are_declared_in_workers: durable_objects::check(&tree());
    lints_are_expected_with_a_reason: attributes::check(&tree());
    tests_wait_for_conditions: sleeps::check(&tree());
    every_log_event_has_a_message: messages::check(&tree());
    no_placeholder_remains: unfinished::check(&tree());
    no_file_names_a_registry: hosts::check(&tree());
    documented_paths_exist: named_paths::check(&tree());
    comments_and_test_names_are_plain: language::check(&tree());
    code_has_no_dense_habits: habits::check(&tree());
    citations_lead_somewhere: citations::check(&tree());
    reference_matches_the_code: reference::check(&tree());
    named_tests_exist: evidence::check(&tree());
    image_versions_are_exact_and_verified: images::check(&tree());
    request_text_passes_few_files: request_path::check(&tree());
}
