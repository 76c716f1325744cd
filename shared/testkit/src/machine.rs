//! Programs that a test can go without where the machine lacks them.
//!
//! Not here: runtimes. Their tests fail without them.

/// The variable that CI sets, where nothing may be left out.
const CI: &str = "ARS_CI";

/// Names a program that this machine lacks, with what the test leaves out for it.
///
/// # Panics
/// In CI, which installs every program.
pub fn leave_out(what: &str) {
    assert!(std::env::var_os(CI).is_none(), "left out in CI: {what}");
    eprintln!("SKIPPED: {what}");
}
