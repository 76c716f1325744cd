//! The bot as it is built by default cannot be told to kill itself (docs/testing.md, the drills).

/// What every build with kill points says of them.
const VARIABLE: &[u8] = b"ARS_KILL_AT";

#[test]
fn the_binary_has_no_kill_points() {
    let program = std::fs::read(env!("CARGO_BIN_EXE_ars")).unwrap();
    let has = |words: &[u8]| program.windows(words.len()).any(|window| window == words);
    assert!(has(b"SERVICE_INGRESS_TOKENS"), "the names of variables are not found at all");
    assert!(!has(VARIABLE), "ars was built with kill points");
}
