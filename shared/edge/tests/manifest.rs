//! The secrets an operator is told of are those that the container is given.

use ars_edge::environment::{SECRETS, VARIABLES};

/// The deployment's settings.
const SETTINGS: &str = include_str!("../../../wrangler.toml");

#[test]
fn the_secrets_of_the_settings_are_those_that_are_forwarded() {
    let named: Vec<_> = SETTINGS.lines().filter_map(|line| line.strip_prefix("# secret: ")).collect();
    assert_eq!(named, SECRETS);
}

#[test]
fn no_secret_has_a_value_in_the_settings() {
    for name in SECRETS {
        assert!(!SETTINGS.contains(&format!("{name} =")), "{name}");
    }
    assert!(VARIABLES.iter().all(|name| !SECRETS.contains(name)));
}
