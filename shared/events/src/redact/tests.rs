//! Tests redaction, one test per row in docs/reference/events.md#redaction.

use std::borrow::Cow;

use ars_types::StopMode;
use proptest::prelude::*;
use serde_json::json;

use super::shapes::assert_engines_agree;
use super::*;
use crate::{
    Actor, ActorKind, ArtifactKind, AttachedFile, COMMAND_MAX, DiffProvider, EventBody,
    InputSource, NoteKind, OUTPUT_MAX, SkillUpstream, SpanStatus,
};

/// Asserts for each pair that the first text is redacted to the second.
fn assert_redacted(pairs: &[(&str, &str)]) {
    for (text, want) in pairs {
        assert_engines_agree(text);
        assert_eq!(redact(text), *want, "{text:?}");
        assert_eq!(redact(want), *want, "redacted twice: {text:?}");
    }
}

fn assert_untouched(texts: &[&str]) {
    for text in texts {
        assert_engines_agree(text);
        assert!(
            matches!(redact(text), Cow::Borrowed(same) if same == *text),
            "{text:?} became {:?}",
            redact(text)
        );
    }
}

#[test]
fn private_keys_are_redacted() {
    assert_redacted(&[
        (
            "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nowIB\n-----END RSA PRIVATE KEY-----\nb",
            "a\n[redacted]\nb",
        ),
        (
            "-----BEGIN PRIVATE KEY-----\\nMIIE\\n-----END PRIVATE KEY-----\\n",
            "[redacted]\\n",
        ),
        (
            "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----",
            "[redacted]",
        ),
        (
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQdG\n-----END PGP PRIVATE KEY BLOCK-----",
            "[redacted]",
        ),
        ("x -----BEGIN EC PRIVATE KEY----- y", "x [redacted] y"),
        (
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSj\nthe end",
            "[redacted]\nthe end",
        ),
    ]);
    assert_untouched(&[
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----",
    ]);
}

#[test]
fn passwords_in_urls_are_redacted() {
    assert_redacted(&[
        (
            "postgres://app:hunter2@db:5432/x",
            "postgres://app:[redacted]@db:5432/x",
        ),
        ("redis://:hunter2@cache", "redis://:[redacted]@cache"),
        (
            "https://u:p@ss:w@host/path",
            "https://u:[redacted]@host/path",
        ),
        (
            "git clone https://u:p@host/a && b",
            "git clone https://u:[redacted]@host/a && b",
        ),
    ]);
    assert_untouched(&[
        "http://localhost:4873/@scope/pkg",
        "https://host/a:b@c",
        "ssh://git@host:22/x",
        r#"["http://a:80","x@y"]"#,
    ]);
}

#[test]
fn passwords_in_user_arguments_are_redacted() {
    assert_redacted(&[
        (
            "curl -u ann:hunter2 http://h",
            "curl -u ann:[redacted] http://h",
        ),
        ("curl --user=ann:hunter2", "curl --user=ann:[redacted]"),
        (
            "curl --proxy-user 'ann:two words' x",
            "curl --proxy-user 'ann:[redacted]' x",
        ),
        ("curl -u \"ann:/hunter2\" x", "curl -u \"ann:[redacted]\" x"),
    ]);
    assert_untouched(&[
        "tool -u https://example.com/x",
        "id -u ann",
        "git diff -u a b",
        "a-u b:c",
    ]);
}

#[test]
fn authorization_headers_keep_their_scheme() {
    assert_redacted(&[
        (
            "Authorization: Bearer abc",
            "Authorization: Bearer [redacted]",
        ),
        (
            "authorization: basic dXNlcjpwdw==",
            "authorization: basic [redacted]",
        ),
        (
            "Proxy-Authorization: Basic abc",
            "Proxy-Authorization: Basic [redacted]",
        ),
        (
            "Authorization: token abc",
            "Authorization: token [redacted]",
        ),
        (
            "Authorization: Token token=\"abc\"",
            "Authorization: Token token=\"[redacted]\"",
        ),
        (
            "curl -H 'Authorization: Bearer abc' http://h",
            "curl -H 'Authorization: Bearer [redacted]' http://h",
        ),
        (
            r#"{"Authorization":"Bearer abc","n":1}"#,
            r#"{"Authorization":"Bearer [redacted]","n":1}"#,
        ),
        (
            r#"{\"authorization\": \"Basic abc\"}"#,
            r#"{\"authorization\": \"Basic [redacted]\"}"#,
        ),
    ]);
}

#[test]
fn bare_bearer_of_twelve_characters_is_redacted() {
    assert_redacted(&[
        ("got Bearer abcdefghijkl.", "got Bearer [redacted]"),
        ("BEARER abc_def-ghi/jkl=", "BEARER [redacted]"),
    ]);
    assert_untouched(&[
        "Bearer abcdefghijk",
        "the bearer of this",
        "forbearer abcdefghijkl",
    ]);
}

#[test]
fn cookie_values_are_redacted() {
    assert_redacted(&[
        ("Cookie: a=b; c=d\nHost: x", "Cookie: [redacted]\nHost: x"),
        ("set-cookie: sid=1; Path=/\n", "set-cookie: [redacted]\n"),
        (
            "curl -H 'Cookie: a=b' http://h",
            "curl -H 'Cookie: [redacted]' http://h",
        ),
        (
            "curl -H \"Cookie: a=b\" http://h",
            "curl -H \"Cookie: [redacted]\" http://h",
        ),
        (
            r#"{"cookie":"a=b; c","n":1}"#,
            r#"{"cookie":"[redacted]","n":1}"#,
        ),
        (
            r#"{"set-cookie": ["sid=1", "b=2"], "n": 1}"#,
            r#"{"set-cookie": [redacted], "n": 1}"#,
        ),
    ]);
}

#[test]
fn prefixed_keys_are_redacted_anywhere() {
    let long = "A1b2C3d4E5f6G7h8J9k0";
    let digits35 = "0123456789abcdefghij0123456789abcde";
    let prefixes = "xoxb-12345- xoxp- xapp-1- ghp_ gho_ ghu_ ghs_ ghr_ github_pat_11AB_ sk-ant-api03- sk- sk-proj- sk_live_ \
        rk_live_ sk_test_ whsec_";
    let keys = prefixes
        .split_whitespace()
        .map(|prefix| format!("{prefix}{long}"));
    let others = [
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        "ASIAIOSFODNN7EXAMPLE".to_owned(),
        format!("AIza{digits35}"),
    ];
    for key in keys.chain(others) {
        assert_redacted(&[
            (&key, "[redacted]"),
            (&format!("use {key}, then"), "use [redacted], then"),
            (&format!("(\"{key}\")"), "(\"[redacted]\")"),
            (
                &format!("https://x-access-token:{key}@github.com/o/n"),
                "https://x-access-token:[redacted]@github.com/o/n",
            ),
        ]);
    }
    assert_redacted(&[("x-access-token:abcd git", "x-access-token:[redacted] git")]);
}

#[test]
fn words_ending_like_a_prefix_stay() {
    assert_untouched(&[
        "task-scheduler-with-a-long-name",
        "disk-0123456789abcdefghij",
        "sk-learn",
        "AKIA1234",
        "AIzaShort",
        "ghp_",
        "xox-",
    ]);
}

#[test]
fn values_of_secret_names_are_redacted() {
    assert_redacted(&[
        ("password=hunter2", "password=[redacted]"),
        ("DB_PASSWORD = hunter2 # x", "DB_PASSWORD = [redacted] # x"),
        (
            "export AWS_SECRET_ACCESS_KEY=abc/def+ghi",
            "export AWS_SECRET_ACCESS_KEY=[redacted]",
        ),
        ("api-key: abcd", "api-key: [redacted]"),
        ("x-api-key: abcd\nnext: x", "x-api-key: [redacted]\nnext: x"),
        ("passwd:hunter2,", "passwd:[redacted],"),
        ("pwd=ab,cd;", "pwd=[redacted];"),
        ("credential: abcd", "credential: [redacted]"),
        ("app_credentials = abcd", "app_credentials = [redacted]"),
        ("apikey=abcd", "apikey=[redacted]"),
        ("auth=abcd", "auth=[redacted]"),
        ("session: abcd", "session: [redacted]"),
        ("sessionid=abcd", "sessionid=[redacted]"),
        ("csrf_cookie=abcd", "csrf_cookie=[redacted]"),
        (
            "http://h/?access_token=abcd&page=2",
            "http://h/?access_token=[redacted]&page=2",
        ),
        ("?token=a%20b&key=abcd", "?token=[redacted]&key=[redacted]"),
        (
            "--password=hunter2 --verbose",
            "--password=[redacted] --verbose",
        ),
        ("accessToken: abcd", "accessToken: [redacted]"),
        ("DBPassword=abcd", "DBPassword=[redacted]"),
        ("key := abcd", "key := [redacted]"),
        ("API_KEY ?= abcd", "API_KEY ?= [redacted]"),
        ("foo=password=hunter2", "foo=password=[redacted]"),
        ("(token=abcd)", "(token=[redacted])"),
    ]);
}

#[test]
fn quoted_names_and_values_are_understood() {
    assert_redacted(&[
        (
            r#"{"api_key": "a b", "n": 1}"#,
            r#"{"api_key": "[redacted]", "n": 1}"#,
        ),
        (
            r#"{"token":"x","key":"y"}"#,
            r#"{"token":"[redacted]","key":"[redacted]"}"#,
        ),
        (r#""password": "a\"b" ,"#, r#""password": "[redacted]" ,"#),
        (
            r#"{\"secret\": \"ab\\\"c\", \"n\": 1}"#,
            r#"{\"secret\": \"[redacted]\", \"n\": 1}"#,
        ),
        (
            r#"env["API_KEY"] = 'x'"#,
            r#"env["API_KEY"] = '[redacted]'"#,
        ),
        ("'password' => 'x'", "'password' => '[redacted]'"),
        ("key = b\"x\"", "key = b\"[redacted]\""),
        ("token = `x`", "token = `[redacted]`"),
        (
            "password = \"never closed\nnext line",
            "password = \"[redacted]\nnext line",
        ),
        (r#""{\"key\": \"abc"#, r#""{\"key\": \"[redacted]"#),
    ]);
}

#[test]
fn ordinary_text_is_unchanged() {
    assert_untouched(&[
        "",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
        "version: 1.2.3-rc.4",
        "tiktoken==0.5.1 token==1.2.3",
        "PORT=3000",
        "MONKEY_BARS=swings",
        "keyboard: qwerty, tokenizer=gpt2, author: alice, input_tokens: 12345",
        "key=abc",
        "password:",
        "password=\"\"",
        "Token::new and std::env::key::thing",
        "if token == expected and key != other",
        "12:34:56 INFO started",
        "let x: Vec<String> = vec![]; a = b",
        "the password is in the vault",
    ]);
}

#[test]
fn values_of_error_names_stay() {
    assert_untouched(&[
        "auth_error: connection reset",
        "token-expired = true",
        "KEY_MISSING: value",
        "authFailed: timeout",
        "session_refused=busy",
        "credential-mismatch: other",
        "password_unset: true",
        "invalid_token: please",
        "auth_denied: no grant",
    ]);
}

#[test]
fn secret_split_by_control_sequences_is_redacted() {
    assert_eq!(
        clean("ghp_\u{1b}[0mA1b2C3d4\u{1b}]0;x\u{7}E5f6G7h8", 100),
        "[redacted]"
    );
    assert_eq!(
        clean("pass\u{0}word=hunter2\r\n", 100),
        "password=[redacted]\n"
    );
}

#[test]
fn cap_never_leaves_half_a_secret() {
    let text = format!("{} ghp_A1b2C3d4E5f6G7h8J9k0", "x".repeat(90));
    let cleaned = clean(&text, 98);
    assert_eq!(cleaned, format!("{} [redac…", "x".repeat(90)));
}

#[test]
fn configured_secrets_are_redacted() {
    let known = [
        "plain horse",
        "plain horse battery",
        "with\"quote\\s",
        " padded-secret\n",
        "short",
        "redacted",
        "two\r\nlines",
    ];
    let redactor = Redactor::new(known.map(str::to_owned));
    let cases = [
        (
            "a plain horse battery b plain horse c",
            "a [redacted] b [redacted] c",
        ),
        (
            r#"with"quote\s and {"x":"with\"quote\\s"}"#,
            r#"[redacted] and {"x":"[redacted]"}"#,
        ),
        ("Xpadded-secretX", "X[redacted]X"),
        ("two\nlines", "[redacted]"),
        (r"two\nlines", "[redacted]"),
        (
            "short and redacted words stay",
            "short and redacted words stay",
        ),
    ];
    for (text, want) in cases {
        assert_eq!(redactor.redact(text), want, "{text}");
        assert_eq!(redactor.redact(want), want, "redacted twice: {text}");
    }
    assert_eq!(redactor.clean("plain\u{1b}[1m horse", 100), "[redacted]");
}

#[test]
fn long_lines_of_a_secret_are_redacted() {
    let key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\r\n  9w0BAQEFAASCBKcwggSj\nAgEAAoIB\n-----END KEY-----\n";
    let redactor = Redactor::new([key.to_owned()]);
    let cases = [
        (
            "key.pem:2: MIIEvQIBADANBgkqhkiG\n    3\t  9w0BAQ",
            "key.pem:2: [redacted]\n    3\t  9w0BAQ",
        ),
        ("3: 9w0BAQEFAASCBKcwggSj", "3: [redacted]"),
        (
            "-----BEGIN KEY-----\nAgEAAoIB",
            "-----BEGIN KEY-----\nAgEAAoIB",
        ),
    ];
    for (text, want) in cases {
        assert_eq!(redactor.hide_known(text), want, "{text}");
    }
    assert_eq!(redactor.hide_known(&key.replace('\r', "")), "[redacted]\n");
}

/// Long unbroken or repetitive inputs, each quadratic under some plausible scan.
#[test]
fn adversarial_megabyte_is_scanned_linearly() {
    const SIZE: usize = 1_000_000;
    let units = "a|key|key=|key=a |key:\"|\"key\":\"a\",|key=\\|key\\\"=|=|:|::|://|://a:|://a:b@|@| |\\|\"|-\
        |-----BEGIN PRIVATE KEY-----|-----BEGIN PRIVATE KEY-----\n |bearer |Bearer\t|authorization: |authorization: token \
        |cookie:|\"cookie:|'cookie: \"|\"cookie\": [|-u | -u a:| -u \"a:|sk-|sk-ant-|xoxb-|AKIA|x-access-token:|[redacted]\
        |é|_|A|aA";
    for unit in units.split('|') {
        let text = unit.repeat(SIZE / unit.len());
        let once = redact(&text);
        assert_eq!(redact(&once), once, "{unit:?}");
    }
}

fn span_attrs() -> serde_json::Map<String, serde_json::Value> {
    json!({
        "command": "curl -u a:hunter2",
        "nested": [{"password": "pw", "url": "redis://:hunter2@h"}, "token=abcd", 7, null, true],
        "api_key": "x",
        "token": 5,
        "ghp_A1b2C3d4E5f6": "n",
    })
    .as_object()
    .unwrap()
    .clone()
}

#[test]
fn nested_span_attributes_are_redacted() {
    let body = EventBody::SpanStart {
        span_id: "s1".into(),
        parent_span_id: Some("s0".into()),
        name: "tool.bash".into(),
        attrs: Some(span_attrs()),
    };
    let EventBody::SpanStart {
        attrs: Some(attrs), ..
    } = redact_event(body)
    else {
        panic!("another kind")
    };
    let want = json!({
        "command": "curl -u a:[redacted]",
        "nested": [{"password": "[redacted]", "url": "redis://:[redacted]@h"}, "token=[redacted]", 7, null, true],
        "api_key": "[redacted]",
        "token": 5,
        "[redacted]": "n",
    });
    assert_eq!(serde_json::Value::Object(attrs), want);
}

/// Returns an event of every kind, with `text` in every string field.
fn every_event(text: &str) -> Vec<EventBody> {
    let some = || Some(text.to_owned());
    let attrs = Some(
        json!({ text: text, "list": [text] })
            .as_object()
            .unwrap()
            .clone(),
    );
    let span = || (text.to_owned(), some(), text.to_owned());
    let (span_id, parent_span_id, name) = span();
    let start = EventBody::SpanStart {
        span_id,
        parent_span_id,
        name,
        attrs: attrs.clone(),
    };
    let (span_id, parent_span_id, name) = span();
    let actor = Some(Actor {
        kind: ActorKind::Cli,
        id: text.to_owned(),
    });
    vec![
        EventBody::Input {
            text: text.into(),
            attachments: vec![AttachedFile {
                name: text.into(),
                media_type: text.into(),
                bytes: 1,
            }],
            source: Some(InputSource {
                url: some(),
                channel: some(),
                user: some(),
            }),
        },
        EventBody::Context { text: text.into() },
        EventBody::RunMeta {
            agent: text.into(),
            model: some(),
            effort: some(),
            trace_id: some(),
            repo: some(),
            git_ref: some(),
            head_sha: some(),
            pr: None,
            sandbox: None,
            sandbox_skipped: some(),
            network: None,
            cgroup: None,
            tree: None,
        },
        EventBody::Assistant { text: text.into() },
        EventBody::ToolCall {
            tool: text.into(),
            summary: text.into(),
            call_id: some(),
            command: some(),
        },
        EventBody::ToolResult {
            tool: text.into(),
            ok: true,
            summary: text.into(),
            call_id: some(),
            exit_code: Some(0),
            output: some(),
            infra: None,
        },
        EventBody::RunNote {
            kind: NoteKind::StopRequested,
            summary: text.into(),
            mode: Some(StopMode::Soft),
            actor,
            from: None,
            to: None,
        },
        EventBody::SkillUse {
            skill: text.into(),
            description: text.into(),
            agent: text.into(),
            source: some(),
            upstream: Some(SkillUpstream {
                repo: text.into(),
                commit: text.into(),
            }),
            body_bytes: 1,
        },
        EventBody::ReviewArtifact {
            artifact: ArtifactKind::ReadingDiff,
            powered_by: DiffProvider::Git,
            base_ref: text.into(),
            diff: text.into(),
            truncated: false,
            summary: some(),
            meat_tokens: None,
        },
        EventBody::PrDescription {
            description: serde_json::Map::from_iter([("tldr".to_owned(), text.into())]),
        },
        EventBody::PrOpened {
            url: text.into(),
            number: 1,
            created: true,
        },
        EventBody::Answer {
            text: text.into(),
            raw: some(),
        },
        start,
        EventBody::SpanEnd {
            span_id,
            parent_span_id,
            name,
            attrs,
            started_at: 1,
            duration_ms: 2,
            status: SpanStatus::Error,
            error: some(),
        },
    ]
}

#[test]
fn every_event_string_is_redacted() {
    let redactor = Redactor::new(["known-one".to_owned()]);
    for event in every_event("\u{1b}[1mknown-one ghp_A1b2C3d4E5f6") {
        let json = serde_json::to_string(&redactor.redact_event(event)).unwrap();
        assert!(
            !json.contains("known-one") && !json.contains("ghp_") && !json.contains("u001b"),
            "{json}"
        );
        assert!(json.contains("[redacted] [redacted]"), "{json}");
    }
    for event in every_event("plain words") {
        assert_eq!(redactor.redact_event(event.clone()), event);
    }
}

#[test]
fn commands_and_outputs_are_capped_after_redaction() {
    let secret = "ghp_A1b2C3d4E5f6G7h8J9k0";
    let output = format!(
        "{}{secret} {}",
        "x".repeat(OUTPUT_MAX - 16),
        "y".repeat(100)
    );
    let body = EventBody::ToolResult {
        tool: "bash".into(),
        ok: true,
        summary: String::new(),
        call_id: None,
        exit_code: None,
        output: Some(output),
        infra: None,
    };
    let EventBody::ToolResult {
        output: Some(output),
        ..
    } = redact_event(body)
    else {
        panic!("another kind")
    };
    assert_eq!(output.trim_start_matches('x'), "[redacted] yyyy…");
    assert_eq!(output.chars().count(), OUTPUT_MAX);
    for event in every_event(&"x".repeat(9000)) {
        let (text, max) = match redact_event(event) {
            EventBody::ToolCall { command, .. } => (command, COMMAND_MAX),
            EventBody::ToolResult { output, .. } => (output, OUTPUT_MAX),
            EventBody::SpanEnd { error, .. } => (error, 200),
            _ => continue,
        };
        assert_eq!(text.unwrap().chars().count(), max);
    }
}

/// Generates texts that contain many pattern fragments.
fn dense_text() -> impl Strategy<Value = String> {
    const PIECES: &str = "password|token|api_key|error|Key|=|:| |\t|\n|\"|'|`|\\|\\\"|://|@|/|&|?|-u |Bearer \
        |Authorization: |Basic |Cookie:|set-cookie|[|]|,|;|)|.|hunter2hunter2|user:|abc|sk-|sk-ant-|ghp_|xoxb-|AKIA\
        |A1B2C3D4E5F6G7H8|whsec_|x-access-token:|-----BEGIN PRIVATE KEY-----|-----END PRIVATE KEY-----|[redacted]\
        |é|…|_|-";
    let pieces: Vec<_> = PIECES.split('|').collect();
    prop::collection::vec(prop::sample::select(pieces), 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn redaction_is_idempotent(text in dense_text()) {
        let once = redact(&text).into_owned();
        prop_assert_eq!(redact(&once), once.as_str());
    }

    #[test]
    fn configured_secret_never_remains(text in dense_text(), secret in "[a-zA-Z0-9]{6,12}", at in 0_usize..60) {
        prop_assume!(!PLACEHOLDER.contains(&secret));
        let at = (0..=text.len().min(at)).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        let with = format!("{}{secret}{}", &text[..at], &text[at..]);
        let shown = Redactor::new([secret.clone()]).redact(&with).into_owned();
        prop_assert!(!shown.contains(&secret), "{shown}");
    }

    #[test]
    fn cleaned_text_stays_within_its_cap(text in dense_text(), max in 0_usize..40) {
        prop_assert!(clean(&text, max).chars().count() <= max);
    }
}

#[test]
fn text_with_a_secret_name_is_redacted() {
    let redactor = Redactor::new(["correct-horse".to_owned()]);
    assert_eq!(redactor.clean_named("api_key", "abc", 40), PLACEHOLDER);
    assert_eq!(redactor.clean_named("api_key", "", 40), "");
    assert_eq!(
        redactor.clean_named("auth_error", "connection reset", 40),
        "connection reset"
    );
    assert_eq!(
        redactor.clean_named("message", "a correct-horse", 40),
        "a [redacted]"
    );
    assert_eq!(redactor.clean_named("message", "abcdef", 3), "ab…");
}
