//! How many inputs a property test has.

use proptest::test_runner::Config;

/// Returns a property's configuration with this many inputs. The default reads `PROPTEST_CASES`,
/// which wins.
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
