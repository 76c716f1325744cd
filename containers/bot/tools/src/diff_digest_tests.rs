//! Digests scripted git output. `containers/bot/adapters/tests/workspace/ranges.rs` tests real git.

use super::*;

/// Joins fields as `-z` does.
fn z(fields: &[&str]) -> Vec<u8> {
    fields
        .iter()
        .flat_map(|field| field.bytes().chain([0]))
        .collect()
}

fn raw(status: &str) -> String {
    format!(":100644 100644 1111111 2222222 {status}")
}

fn modified(path: &str, added: u64, removed: u64) -> Change {
    Change {
        kind: 'M',
        path: path.into(),
        from: None,
        counts: Some((added, removed)),
    }
}

#[test]
fn renames_binaries_and_odd_paths_are_parsed() {
    let odd = "a\tb\n: c";
    let (m, r, a, d) = (raw("M"), raw("R087"), raw("A"), raw("D"));
    let output = z(&[
        &m,
        odd,
        &r,
        "old.rs",
        "new.rs",
        &a,
        "logo.png",
        &d,
        "gone.rs", // the change
        &format!("1\t2\t{odd}"),
        "3\t0\t",
        "old.rs",
        "new.rs",
        "-\t-\tlogo.png",
        "0\t9\tgone.rs",
    ]);
    let change = |kind, path: &str, from: Option<&str>, counts| Change {
        kind,
        path: path.into(),
        from: from.map(str::to_owned),
        counts,
    };
    assert_eq!(
        changes::read(&output),
        [
            change('M', odd, None, Some((1, 2))),
            change('R', "new.rs", Some("old.rs"), Some((3, 0))),
            change('A', "logo.png", None, None),
            change('D', "gone.rs", None, Some((0, 9))),
        ]
    );
    assert_eq!(changes::read(b""), []);
    assert_eq!(changes::read(b"warning: something\0:\0"), []);
}

#[test]
fn digest_lists_largest_files_first() {
    let text = digest(
        "origin/main",
        vec![modified("a.rs", 1, 0), modified("b\u{1b}[31m\n.rs", 20, 5)],
    );
    assert_eq!(
        text,
        "Since origin/main: 2 files, +21 -5 lines.\n\nFiles:\nM +20 -5 b\u{fffd}[31m\u{fffd}.rs\nM +1 -0 a.rs\n"
    );
    assert_eq!(
        digest("x", Vec::new()),
        "Nothing is committed here that x does not have."
    );
}

#[test]
fn digest_of_many_files_is_bounded() {
    let many: Vec<_> = (0..MAX_FILES as u64 + 3)
        .map(|n| modified(&format!("f{n}"), n, 1))
        .collect();
    let text = digest("origin/main", many);
    assert!(
        text.ends_with("[3 more files, +3 -3]\n"),
        "{}",
        &text[text.len() - 60..]
    );
    assert_eq!(
        text.lines().filter(|line| line.starts_with("M ")).count(),
        MAX_FILES
    );
}

#[test]
fn each_risk_has_its_own_triggers() {
    let flags = |change: Change| -> Vec<&str> {
        risks::raised(&[change])
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    };
    for (path, flag) in [
        ("db/migrations/0001_users.sql", "migrations"),
        ("Cargo.lock", "lock files"),
        ("web/package-lock.json", "lock files"),
        (".github/workflows/ci.yml", "CI"),
        ("Jenkinsfile", "CI"),
        ("src/auth/mod.rs", "authentication"),
        ("src/UserLogin.java", "authentication"),
        ("api_token.py", "authentication"),
    ] {
        assert_eq!(flags(modified(path, 1, 1)), [flag], "{path}");
    }
    for plain in "src/author.rs docs/tokenizer.md src/main.rs tests/a.rs github/workflows.md \
        immigration.rs"
        .split(' ')
    {
        assert_eq!(flags(modified(plain, 1, 1)), Vec::<&str>::new(), "{plain}");
    }
    assert_eq!(
        flags(Change {
            kind: 'D',
            ..modified("src/parse_test.go", 0, 9)
        }),
        ["deleted tests"]
    );
    assert_eq!(
        flags(Change {
            kind: 'D',
            ..modified("src/latest.go", 0, 9)
        }),
        Vec::<&str>::new()
    );
    assert_eq!(
        flags(Change {
            counts: None,
            ..modified("a.png", 0, 0)
        }),
        ["binary"]
    );
    assert_eq!(flags(modified("src/main.rs", 300, 200)), ["large"]);
    assert_eq!(flags(modified("src/main.rs", 300, 199)), Vec::<&str>::new());
}

#[test]
fn many_files_of_one_risk_are_counted() {
    let many = (0..MAX_NAMED + 2)
        .map(|n| modified(&format!("migrations/{n}.sql"), 1, 0))
        .collect();
    assert!(digest("x", many).contains(", migrations/9.sql and 2 more\n"));
}
