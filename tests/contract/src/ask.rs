//! Runs a table of cases against a subject and renders the answers.

use serde_json::Value;

use crate::{
    Answer, Case, Length, Sent, Subject, TOKEN, Table, WRONG,
    case::{Call, Expected},
    layout::layout,
    manners,
    redact::{Redactor, base, fold_records},
    sheet::Sheet,
    subject::now,
};

/// A subject's answers to a table.
pub struct Answers {
    /// The answers to the cases, in their order.
    pub cases: String,
    /// The name of the snapshot that all routes of this kind of key share, and its text.
    pub manners: Option<(&'static str, String)>,
}

/// Asks a subject the table that `make` returns for a base of all times.
pub fn answers(make: impl Fn(i64) -> Table, subject: &mut impl Subject) -> Answers {
    let base = base();
    let table = make(base);
    let mut sheet = Sheet::of(table.route.path());
    let mut redactor = Redactor::new(base);
    let manners = manners::check(table.route, subject, &mut sheet);
    for case in &table.cases {
        ask(case, &mut redactor, subject, &mut sheet);
    }
    Answers { cases: sheet.finish(), manners }
}

fn ask(case: &Case, redactor: &mut Redactor, subject: &mut impl Subject, sheet: &mut Sheet) {
    let mut last = 0;
    let mut send = |call: &Call| {
        // No two requests of a case share a millisecond, so that timestamps order them.
        while now() <= last {
            std::hint::spin_loop();
        }
        let text = call.text(&case.key);
        redactor.note(&text);
        let answer = post(subject, call.route.path(), &text);
        last = now();
        let named = without_key(&answer, &case.key);
        let rendered = if case.whole { render_whole(redactor, &named) } else { render(redactor, &named) };
        (answer, rendered)
    };
    for call in &case.given {
        let (answer, _) = send(call);
        assert_eq!(answer.status, 200, "{}: before it, {}: {answer:?}", case.name, call.route.path());
    }
    let (answer, said) = send(&case.call);
    check(case, &answer);
    let seen: Vec<_> = case.then.iter().map(|call| (call.route.path(), send(call).1)).collect();
    sheet.add(&case.name, &said, &seen);
}

/// Sends a body with the bearer.
pub(crate) fn post(subject: &mut impl Subject, path: &str, body: &str) -> Answer {
    let bearer = format!("Bearer {TOKEN}");
    let sent = Sent {
        method: "POST",
        path,
        authorization: Some(&bearer),
        length: Length::True,
        body: body.as_bytes(),
    };
    subject.send(&sent)
}

fn check(case: &Case, answer: &Answer) {
    let name = &case.name;
    match &case.expected {
        Expected::Ok => assert_eq!(answer.status, 200, "{name}: {answer:?}"),
        Expected::Refused(field) => {
            assert_eq!(answer.status, 400, "{name}: {answer:?}");
            let error = error(answer);
            let named =
                error.strip_prefix(field.as_str()).is_some_and(|rest| rest.starts_with([' ', '.', '[']));
            assert!(named, "{name}: {error}");
        }
        Expected::Conflict(reason) => {
            assert_eq!(answer.status, 409, "{name}: {answer:?}");
            assert_eq!(
                (&answer.body["ok"], &answer.body["reason"]),
                (&false.into(), &(*reason).into()),
                "{name}"
            );
        }
        Expected::Stale(version) => {
            assert_eq!((answer.status, &answer.body["version"]), (409, &(*version).into()), "{name}");
            assert!(answer.body["error"].is_string(), "{name}: {answer:?}");
        }
        Expected::TooLarge => {
            assert_eq!(answer.status, 413, "{name}: {answer:?}");
            error(answer);
        }
    }
    if answer.status != 200 {
        let text = answer.body.to_string();
        assert!(!text.contains(WRONG) && !text.contains(TOKEN), "{name}: {text}");
    }
}

/// Returns the text of an error body, which must have no other field.
pub(crate) fn error(answer: &Answer) -> &str {
    let fields = answer.body.as_object().expect("an object");
    assert_eq!(fields.len(), 1, "{answer:?}");
    fields.get("error").and_then(Value::as_str).expect("an error text")
}

/// Renders status and body.
pub(crate) fn render(redactor: &Redactor, answer: &Answer) -> String {
    let mut body = redactor.apply(&answer.body);
    fold_records(&mut body);
    format!("{} {}", answer.status, layout(&body, 4))
}

/// Replaces the case's key, which some ids contain, by a placeholder.
fn without_key(answer: &Answer, key: &str) -> Answer {
    let body = answer.body.to_string().replace(key, "KEY");
    Answer { status: answer.status, body: serde_json::from_str(&body).expect("a key is plain text") }
}

fn render_whole(redactor: &Redactor, answer: &Answer) -> String {
    format!("{} {}", answer.status, layout(&redactor.apply(&answer.body), 4))
}
