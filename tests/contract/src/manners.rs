//! Common behavior of all routes: the order of checks, the body limit, bodies that are no object, keys
//! (docs/reference/state-worker.md#order-of-checks).

use ars_wire::state::{Key, Route};
use serde_json::json;

use crate::{
    Answer, Length, Sent, Subject, TOKEN, WRONG,
    ask::{error, post, render},
    redact::{Redactor, base},
    sheet::Sheet,
};

/// Sends the requests that every route of one kind of key answers alike; returns the name and the text of their
/// snapshot. The answers of a route without a key become part of its own sheet.
pub(crate) fn check(
    route: Route,
    subject: &mut impl Subject,
    own: &mut Sheet,
) -> Option<(&'static str, String)> {
    let (name, field) = match route.key() {
        Key::Named(field) => ("manners_named", field),
        Key::Run(field) => ("manners_run", field),
        Key::Slug(field) => ("manners_slug", field),
        Key::Single => {
            ask(route, subject, own, Vec::new());
            return None;
        }
    };
    // The routes differ in their path, the name of their key and their largest body.
    let path = route.path();
    let words = vec![
        (path.to_owned(), "ROUTE"),
        (path.to_uppercase(), "UPPER"),
        (format!("{field} "), "KEY "),
        (format!(" {field}"), " KEY"),
        (route.max_body_bytes().to_string(), "LIMIT"),
    ];
    let mut sheet = Sheet::of(name);
    ask(route, subject, &mut sheet, words);
    Some((name, sheet.finish()))
}

fn ask(route: Route, subject: &mut impl Subject, sheet: &mut Sheet, words: Vec<(String, &'static str)>) {
    let mut report = Report { sheet, redactor: Redactor::new(base()), words };
    report.order(route, subject);
    report.bodies(route, subject);
    report.keys(route, subject);
}

/// Checks requests outside all routes: health, unknown paths, credentials.
pub fn of_any_path(subject: &mut impl Subject) -> String {
    let mut sheet = Sheet::of("any path");
    let mut report = Report { sheet: &mut sheet, redactor: Redactor::new(base()), words: Vec::new() };
    for (method, path) in [
        ("GET", "/healthz"),
        ("GET", "/healthz?probe=1"),
        ("POST", "/healthz"),
        ("GET", "/healthz/"),
        ("GET", "//healthz"),
        ("GET", "/Healthz"),
        ("GET", "/"),
        ("POST", "/"),
        ("POST", "/runs"),
        ("POST", "/runs/"),
        ("POST", "/nothing"),
        // Routes of other implementations.
        ("POST", "/runs/inbox/read"),
        ("POST", "/runs/abandon"),
        ("POST", "/config"),
        ("POST", "/config/secrets/get"),
        ("POST", "/config/tickets/put"),
    ] {
        let sent = Sent { method, path, authorization: None, length: Length::True, body: b"" };
        report.line(&format!("{method} {path}, anonymous"), &subject.send(&sent));
    }
    for (what, authorization) in credentials() {
        let body = br#"{"storeKey":"of-credentials","id":"a"}"#;
        let authorization = authorization.as_deref();
        let sent = Sent { method: "POST", path: "/runs/get", authorization, length: Length::True, body };
        report.line(&format!("POST /runs/get, {what}"), &subject.send(&sent));
    }
    sheet.finish()
}

fn credentials() -> Vec<(&'static str, Option<String>)> {
    vec![
        ("the bearer", Some(format!("Bearer {TOKEN}"))),
        ("no credential", None),
        ("an empty one", Some(String::new())),
        ("the token alone", Some(TOKEN.to_owned())),
        ("the scheme alone", Some("Bearer".to_owned())),
        ("another scheme", Some(format!("Basic {TOKEN}"))),
        ("the scheme in lower case", Some(format!("bearer {TOKEN}"))),
        ("two blanks", Some(format!("Bearer  {TOKEN}"))),
        ("a token that is longer", Some(format!("Bearer {TOKEN}x"))),
        ("a token that is shorter", Some(format!("Bearer {}", &TOKEN[..TOKEN.len() - 1]))),
        ("another token of the same length", Some(format!("Bearer {}", TOKEN.to_uppercase()))),
        ("a token named by its absence", Some("Bearer undefined".to_owned())),
    ]
}

struct Report<'a> {
    sheet: &'a mut Sheet,
    redactor: Redactor,
    /// Words for the parts in which routes differ.
    words: Vec<(String, &'static str)>,
}

impl Report<'_> {
    fn line(&mut self, what: &str, answer: &Answer) {
        if answer.status >= 400 {
            assert!(!error(answer).contains(TOKEN) && !error(answer).contains(WRONG), "{what}: {answer:?}");
        }
        let neutral = |text: &str| {
            self.words.iter().fold(text.to_owned(), |text, (part, word)| text.replace(part, word))
        };
        let question = neutral(what);
        let answer = neutral(&render(&self.redactor, answer));
        self.sheet.add(&question, &answer, &[]);
    }

    /// Sends requests with one fault less each time, starting with all of them.
    fn order(&mut self, route: Route, subject: &mut impl Subject) {
        let path = route.path();
        let fence = route.max_body_bytes();
        let bearer = format!("Bearer {TOKEN}");
        let too_long = sized(fence + 1);
        let just = sized(fence);
        assert_eq!((too_long.len(), just.len()), (fence + 1, fence));
        let nothing =
            Sent { method: "GET", path, authorization: None, length: Length::Undeclared, body: b"no json" };
        for other in [format!("{path}/"), format!("{path}x"), path.to_uppercase(), format!("/{path}")] {
            let answer = subject.send(&Sent { path: &other, ..nothing });
            assert_eq!(answer.status, 404, "{other}");
            self.line(&format!("GET {other}, anonymous"), &answer);
        }
        for method in ["GET", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            let answer = subject.send(&Sent { method, length: Length::True, body: b"", ..nothing });
            assert_eq!(answer.status, 405, "{method}");
            self.line(&format!("{method}, anonymous"), &answer);
        }
        let post = Sent { method: "POST", ..nothing };
        let known = Sent { authorization: Some(&bearer), ..post };
        let measured = Sent { length: Length::True, ..known };
        let with_query = format!("{path}?token={TOKEN}");
        for (what, status, sent) in [
            ("anonymous, without a length", 401, post),
            ("anonymous, one byte over the limit", 401, Sent { length: Length::Unsent(fence + 1), ..post }),
            ("without a length", 411, known),
            ("one byte over the limit, in characters half of it", 413, Sent { body: &too_long, ..measured }),
            ("no JSON", 400, measured),
            ("no JSON, with a query", 400, Sent { path: &with_query, ..measured }),
        ] {
            let answer = subject.send(&sent);
            assert_eq!(answer.status, status, "{what}");
            self.line(what, &answer);
        }
        // The body is read: the answer names a field.
        let answer = subject.send(&Sent { body: &just, ..measured });
        assert!([200, 400].contains(&answer.status), "{answer:?}");
        self.line("exactly the limit", &answer);
    }

    fn bodies(&mut self, route: Route, subject: &mut impl Subject) {
        let bearer = format!("Bearer {TOKEN}");
        let key = match route.key() {
            Key::Named(field) | Key::Run(field) | Key::Slug(field) => field,
            Key::Single => "none",
        };
        let deep = format!("{{\"{key}\":\"deep\",\"a\":{}{}}}", "[".repeat(10_000), "]".repeat(10_000));
        let bodies: [(&str, &[u8]); 10] = [
            ("an empty body", b""),
            ("null", b"null"),
            ("a number", b"7"),
            ("a string", b"\"hunter2 hunter2\""),
            ("an array", b"[]"),
            ("an object that does not end", b"{"),
            ("an object with a comma too many", b"{\"id\":\"a\",}"),
            ("two objects", b"{}{}"),
            ("no UTF-8", b"{\"storeKey\":\"\xff\"}"),
            ("ten thousand levels", deep.as_bytes()),
        ];
        for (what, body) in bodies {
            let sent = Sent {
                method: "POST",
                path: route.path(),
                authorization: Some(&bearer),
                length: Length::True,
                body,
            };
            let answer = subject.send(&sent);
            assert!(answer.status == 400 || route.key() == Key::Single, "{what}: {answer:?}");
            self.line(what, &answer);
        }
    }

    fn keys(&mut self, route: Route, subject: &mut impl Subject) {
        let (field, keys) = match route.key() {
            Key::Single => return,
            Key::Named(field) => (field, wrong_keys()),
            Key::Run(field) => (field, wrong_ids()),
            Key::Slug(field) => (field, wrong_slugs()),
        };
        let answer = post(subject, route.path(), "{}");
        self.refused_key(&format!("without {field}"), field, &answer);
        for (what, key) in keys {
            let answer = post(subject, route.path(), &format!(r#"{{"{field}":{key}}}"#));
            self.refused_key(&format!("{field} {what}"), field, &answer);
        }
    }

    fn refused_key(&mut self, what: &str, field: &str, answer: &Answer) {
        assert!(
            answer.status == 400 && error(answer).starts_with(&format!("{field} ")),
            "{what}: {answer:?}"
        );
        self.line(what, answer);
    }
}

/// Returns a body of this size in two-byte characters, so that its length in characters is about half.
fn sized(bytes: usize) -> Vec<u8> {
    let open = r#"{"pad":""#;
    let close = r#""}"#;
    let room = bytes - open.len() - close.len();
    format!("{open}{}{}{close}", "é".repeat(room / 2), "x".repeat(room % 2)).into_bytes()
}

/// Returns invalid keys, as JSON.
fn wrong_keys() -> Vec<(&'static str, String)> {
    let mut keys = vec![
        ("null", "null".to_owned()),
        ("a number", "7".to_owned()),
        ("an array", r#"["a"]"#.to_owned()),
        ("empty", r#""""#.to_owned()),
        ("of 201 characters", format!("\"{}\"", "é".repeat(201))),
        ("with a blank", format!("\"{WRONG}\"")),
        ("with half a surrogate pair (Cs)", r#""a\ud800""#.to_owned()),
    ];
    let characters = [
        ("with a tab", '\t'),
        ("with a NUL", '\0'),
        ("with a delete (Cc)", '\u{7f}'),
        ("with a next line (Cc)", '\u{85}'),
        ("with a no-break space", '\u{a0}'),
        ("with an ideographic space", '\u{3000}'),
        ("with a line separator", '\u{2028}'),
        ("with a soft hyphen (Cf)", '\u{ad}'),
        ("with a zero-width joiner (Cf)", '\u{200d}'),
        ("with a byte order mark (Cf)", '\u{feff}'),
        ("with a private character (Co)", '\u{e000}'),
        ("with a private character beyond (Co)", '\u{10fffd}'),
        ("with an unassigned character (Cn)", '\u{378}'),
        ("with a noncharacter (Cn)", '\u{ffff}'),
    ];
    keys.extend(characters.map(|(what, character)| (what, json!(format!("a{character}b")).to_string())));
    keys
}

/// Returns invalid run ids.
fn wrong_ids() -> Vec<(&'static str, String)> {
    vec![
        ("null", "null".to_owned()),
        ("a number", "7".to_owned()),
        ("empty", r#""""#.to_owned()),
        ("of 65 characters", format!("\"{}\"", "x".repeat(65))),
        ("with a blank", format!("\"{WRONG}\"")),
        ("with a colon", r#""a:b""#.to_owned()),
        ("with a letter beyond ASCII", r#""é""#.to_owned()),
        ("with a line break at its end", r#""a\n""#.to_owned()),
    ]
}

/// Returns invalid keys of configuration documents.
fn wrong_slugs() -> Vec<(&'static str, String)> {
    vec![
        ("null", "null".to_owned()),
        ("a number", "7".to_owned()),
        ("empty", r#""""#.to_owned()),
        ("of 65 characters", format!("\"{}\"", "x".repeat(65))),
        ("with a blank", format!("\"{WRONG}\"")),
        ("in upper case", r#""Overrides""#.to_owned()),
        ("with an underscore", r#""a_b""#.to_owned()),
        ("with a colon", r#""a:b""#.to_owned()),
        ("with a letter beyond ASCII", r#""é""#.to_owned()),
        ("with a line break at its end", r#""a\n""#.to_owned()),
    ]
}
