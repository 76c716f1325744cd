//! Compares the Workers' engine with the native engine: both redact every text alike.

use proptest::prelude::*;

use super::*;

/// Compiles every pattern with the native engine and with the Workers' engine.
static BOTH: LazyLock<Vec<(Regex, regex_lite::Regex, &str)>> = LazyLock::new(|| {
    let vendors = TOKENS.iter().map(|&(_, pattern)| (pattern, PLACEHOLDER));
    let all = SHAPES.iter().copied().chain(vendors);
    all.map(|(pattern, replacement)| {
        (
            Regex::new(pattern).unwrap(),
            regex_lite::Regex::new(pattern).unwrap(),
            replacement,
        )
    })
    .collect()
});

/// Asserts that both engines find the same in the text.
pub(in super::super) fn assert_engines_agree(text: &str) {
    for (native, small, replacement) in &*BOTH {
        let want = native.replace_all(text, *replacement);
        assert_eq!(
            small.replace_all(text, *replacement),
            want,
            "{native} in {text:?}"
        );
    }
}

#[test]
fn every_pattern_inserts_the_placeholder() {
    assert_eq!(COMPILED.as_ref().unwrap().len(), SHAPES.len());
    assert_eq!(VENDORS.as_ref().unwrap().len(), TOKENS.len());
    assert!(
        SHAPES
            .iter()
            .all(|(_, replacement)| replacement.contains(PLACEHOLDER))
    );
}

/// White space and letters that only Unicode folds count in every pattern, in a Worker too.
#[test]
fn texts_of_other_scripts_are_redacted_alike() {
    let spaces = (0..=0xffff)
        .filter_map(char::from_u32)
        .filter(|c| c.is_whitespace());
    for space in spaces {
        for text in [
            format!("{space}-u ann:hunter2{space}x"),
            format!("(--user=ann{space}:hunter2"),
            format!("-----BEGIN PRIVATE KEY-----{space}MIIEvQIBADANBgkqhkiG9w0B"),
            format!("Authorization: Bearer hunter2{space}rest"),
            format!("Cookie: {space}a=b"),
            format!("db://ann:hun{space}ter2@host"),
        ] {
            assert_engines_agree(&text);
        }
    }
    for (text, want) in [
        (
            "\u{3000}-u ann:hunter2\u{3000}x",
            "\u{3000}-u ann:[redacted]\u{3000}x",
        ),
        (
            "Authorization: to\u{212a}en hunter2",
            "Authorization: to\u{212a}en [redacted]",
        ),
        (
            "authorization: ba\u{17f}ic dXNl",
            "authorization: ba\u{17f}ic [redacted]",
        ),
        (
            "\u{17f}et-coo\u{212a}ie: a=b",
            "\u{17f}et-coo\u{212a}ie: [redacted]",
        ),
        ("bearer \u{17f}\u{212a}cdefghijkl", "bearer [redacted]"),
        ("redis://:пароль@кэш", "redis://:[redacted]@кэш"),
        ("curl -u 安:密码密码 x", "curl -u 安:[redacted] x"),
    ] {
        assert_eq!(redact_shapes(text), want);
        assert_engines_agree(text);
    }
}

/// Generates texts from pattern fragments and non-ASCII characters.
fn foreign_text() -> impl Strategy<Value = String> {
    const PIECES: &str = "=|:| |\t|\n|\"|'|\\|://|@|/|-u |--user=|Bearer |bearer |Authorization: |auth=|Basic |token |token=\
        |Cookie:|set-cookie: |\"cookie\": [|]|,|;|hunter2hunter2|user:|sk-|sk-ant-|ghp_|xoxb-|AKIA|A1B2C3D4E5F6G7H8\
        |-----BEGIN PRIVATE KEY-----|-----END PRIVATE KEY-----|eyJ|.eyJ|npm_|glpat-|[redacted]\
        |é|…|\u{17f}|\u{212a}|\u{85}|\u{a0}|\u{2003}|\u{2028}|\u{3000}|密码|\u{1f511}|_|-|\u{b}";
    let pieces: Vec<_> = PIECES.split('|').collect();
    prop::collection::vec(prop::sample::select(pieces), 0..16).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn small_engine_redacts_like_the_native_one(text in foreign_text()) {
        assert_engines_agree(&text);
    }
}
