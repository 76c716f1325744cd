//! What is deployed: the secrets an operator is told of are those that the container is given, one container of a size
//! that was chosen, and the tick of each minute.

use ars_proxy::environment::{SECRETS, VARIABLES};

/// The deployment's settings.
const SETTINGS: &str = include_str!("../../../wrangler.toml");

#[test]
fn the_secrets_of_the_settings_are_those_that_are_forwarded() {
    let named: Vec<_> = SETTINGS.lines().filter_map(|line| line.strip_prefix("# secret: ")).collect();
    assert_eq!(named, SECRETS);
    // They replace the bot that runs, and the next one is started with what was set before them.
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
fn one_container_of_the_chosen_size_is_deployed_and_ticked_every_minute() {
    let settings: toml::Table = toml::from_str(SETTINGS).unwrap();
    let production = &settings["env"]["production"];
    let containers = production["containers"].as_array().unwrap();
    assert_eq!(containers.len(), 1);
    assert_eq!(containers[0]["max_instances"].as_integer(), Some(1), "there is one bot");
    // What is not named is the smallest, which has room for a bot at rest.
    assert_eq!(containers[0]["instance_type"].as_str(), Some("basic"));
    let crons = production["triggers"]["crons"].as_array().unwrap();
    assert_eq!(crons, &[toml::Value::from("* * * * *")]);
}
