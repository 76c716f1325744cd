//! The migrations produce the schemas.

use ars_resident_engine::{REGISTRY_MIGRATIONS, RESIDENT_MIGRATIONS};
use ars_testkit::migrations;

#[test]
fn migrations_produce_the_schemas() {
    migrations::assert_matches_folder("resident", RESIDENT_MIGRATIONS);
    migrations::assert_matches_folder("resident-registry", REGISTRY_MIGRATIONS);
}
