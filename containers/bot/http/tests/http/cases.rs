//! The number of inputs of a property test.

use proptest::test_runner::Config;

/// Returns the configuration of a property with this many inputs.
/// The default reads `PROPTEST_CASES`, which wins.
pub fn property(cases: u32) -> Config {
    let config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() {
        config.cases
    } else {
        cases
    };
    Config { cases, ..config }
}
