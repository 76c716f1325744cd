//! The deployment's settings list exactly the secrets that the container receives.
//!
//! One container with a chosen size, one tick a minute.

use ars_proxy::environment::{SECRETS, VARIABLES};

/// Settings that the deployment uses.
const SETTINGS: &str = include_str!("../../../wrangler.toml");

#[test]
fn listed_secrets_are_the_forwarded_ones() {
    let named: Vec<_> = SETTINGS
        .lines()
        .filter_map(|line| line.strip_prefix("# secret: "))
        .collect();
    assert_eq!(named, SECRETS);
    // Setting the tokens replaces the running bot, so every other secret is set before.
    assert_eq!(named.last(), Some(&"SERVICE_INGRESS_TOKENS"));
}

#[test]
fn no_secret_has_a_value_in_the_settings() {
    for name in SECRETS {
        assert!(!SETTINGS.contains(&format!("{name} =")), "{name}");
    }
    assert!(VARIABLES.iter().all(|name| !SECRETS.contains(name)));
}

#[test]
fn one_container_is_ticked_every_minute() {
    let settings: toml::Table = toml::from_str(SETTINGS).unwrap();
    let production = &settings["env"]["production"];
    let containers = production["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    assert_eq!(
        containers[0]["max_instances"].as_integer(),
        Some(1),
        "there is one bot"
    );
    // The default is the smallest size, which has room for an idle bot only.
    assert_eq!(containers[0]["instance_type"].as_str(), Some("basic"));
    let crons = production["triggers"]["crons"].as_array().unwrap();
    assert_eq!(crons, &[toml::Value::from("* * * * *")]);
}
