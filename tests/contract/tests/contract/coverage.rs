//! Every route has cases, and every snapshot a route.

use std::collections::BTreeSet;
use std::path::Path;

use ars_wire::state::Route;

use crate::TABLES;

/// Snapshots that no single route has.
const SHARED: [&str; 5] =
    ["any_path.snap", "manners_named.snap", "manners_run.snap", "manners_slug.snap", "without_secret.snap"];
/// Minimum number of cases. A smaller table tests only the behavior common to all routes.
const MIN_CASES: usize = 3;

#[test]
fn every_route_has_a_table_of_cases() {
    let tables: Vec<_> = TABLES.iter().map(|(_, make)| make(0)).collect();
    for route in Route::all() {
        let cases = tables.iter().filter(|table| table.route() == route).map(|table| table.len());
        assert!(cases.sum::<usize>() >= MIN_CASES, "{} has no cases", route.path());
    }
}

#[test]
fn every_snapshot_belongs_to_its_table() {
    let names = TABLES.iter().map(|(name, make)| {
        assert_eq!(*name, make(0).route().path().trim_start_matches('/').replace(['/', '-'], "_"));
        format!("{name}.snap")
    });
    let expected: BTreeSet<_> = names.chain(SHARED.map(str::to_owned)).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contract/snapshots");
    let found =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(found.collect::<BTreeSet<_>>(), expected);
}
