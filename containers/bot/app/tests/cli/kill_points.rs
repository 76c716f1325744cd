//! The bot's default build has no kill points (docs/testing.md, the drills).

/// A text that every build with kill points contains.
const VARIABLE: &[u8] = b"ARS_KILL_AT";

#[test]
fn the_binary_has_no_kill_points() {
    let program = std::fs::read(env!("CARGO_BIN_EXE_ars")).unwrap();
    let has = |words: &[u8]| program.windows(words.len()).any(|window| window == words);
    assert!(
        has(b"SERVICE_INGRESS_TOKENS"),
        "the names of variables are not found at all"
    );
    assert!(!has(VARIABLE), "ars was built with kill points");
}
