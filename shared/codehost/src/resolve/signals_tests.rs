//! Tests a text's signals.

use proptest::prelude::*;

use super::*;

fn read_at(text: &str, host: &Host) -> Vec<String> {
    let shown = |signal: Signal| {
        let item = signal.item.map_or(String::new(), |item| {
            format!(" {:?} {}", item.kind, item.number)
        });
        format!("{:?} {}{item}", signal.strength, signal.repository)
    };
    signals(text, host).into_iter().map(shown).collect()
}

fn read(text: &str) -> Vec<String> {
    read_at(text, &Host::default())
}

#[test]
fn addresses_are_strong() {
    for (text, expected) in [
        ("see https://github.com/Acme/App", "Strong acme/app"),
        ("(https://www.github.com/acme/app.git).", "Strong acme/app"),
        (
            "<http://github.com/acme/app/tree/main/src>",
            "Strong acme/app",
        ),
        (
            "[it](https://github.com/acme/app/pull/12)",
            "Strong acme/app PullRequest 12",
        ),
        (
            "https://github.com/acme/app/pull/12/files?w=1#r2,",
            "Strong acme/app PullRequest 12",
        ),
        (
            "https://github.com/acme/app/issues/3",
            "Strong acme/app Issue 3",
        ),
        ("https://github.com/acme/app/pull/0", "Strong acme/app"),
        ("git@github.com:acme/app.git", "Strong acme/app"),
    ] {
        assert_eq!(read(text), [expected], "{text}");
    }
}

#[test]
fn addresses_of_others_are_no_signal() {
    for text in [
        "https://github.com.evil.example/acme/app",
        "https://github.com@evil.example/acme/app",
        "https://evil.example/github.com/acme/app",
        "https://evil.example#github.com/acme/app",
        "https://github.com/acme%2fapp/x",
        "https://github.com/settings/tokens",
        "https://github.com/acme",
        "git@evil.example:acme/app",
    ] {
        assert!(read(text).is_empty(), "{text}");
    }
}

#[test]
fn enterprise_host_replaces_the_public_one() {
    let own = Host::parse("https://code.example:8443").unwrap();
    assert_eq!(
        read_at("https://code.example:8443/acme/app/pull/1", &own),
        ["Strong acme/app PullRequest 1"]
    );
    assert!(
        read_at(
            "https://code.example/acme/app https://github.com/acme/app",
            &own
        )
        .is_empty()
    );
    let plain = Host::parse("https://code.example").unwrap();
    assert_eq!(
        read_at("git@code.example:acme/app", &plain),
        ["Strong acme/app"]
    );
}

#[test]
fn slugs_are_weak_unless_numbered_or_a_place() {
    assert_eq!(read("fix acme/app#12."), ["Strong acme/app Either 12"]);
    assert_eq!(
        read("test it In **Acme/App**, please"),
        ["Vettable acme/app"]
    );
    assert_eq!(
        read("either and/or src/main"),
        ["Weak and/or", "Weak src/main"]
    );
    for text in [
        "acme/app#",
        "acme/app#x",
        "acme/app#012",
        "#12",
        "a/b/c",
        "in the acme",
    ] {
        assert!(read(text).is_empty(), "{text}");
    }
}

#[test]
fn code_is_no_signal() {
    for text in [
        "`https://github.com/acme/app`",
        "run `git clone x` in `acme/app`",
        "```\nin acme/app\nacme/app#1\n```",
        "x`y`acme/app#1",
        "~~~\nhttps://github.com/acme/app/pull/1",
    ] {
        assert!(read(text).is_empty(), "{text}");
    }
    assert_eq!(read("in `x` acme/app"), ["Weak acme/app"]);
}

proptest! {
    #[test]
    fn any_text_is_read_within_the_cap(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "https://", "github.com", "/", "acme", "git@", ":", "#", "1", " ", "in ", "`", "é", "%", "\n", ".git",
            ]),
            0..300,
        )
    ) {
        let found = signals(&pieces.concat(), &Host::default());
        prop_assert!(found.len() <= MAX_SIGNALS);
    }
}
