//! Check order on every route, and requests outside all routes. See
//! docs/reference/state-worker.md#order-of-checks.

use ars_tests_contract::{Length, Native, Sent, Subject, TOKEN, WRONG, Workerd};
use ars_wire::state::{Key, Route};
use serde_json::json;

/// Asserts an error's status and beginning. It must be the only field and repeat no value.
fn assert_error(subject: &mut impl Subject, sent: &Sent<'_>, status: u16, text: &str) {
    let answer = subject.send(sent);
    let error = answer.body["error"].as_str().unwrap_or_default();
    let is_alone = answer.body.as_object().unwrap().len() == 1;
    let is_right = answer.status == status && error.starts_with(text) && is_alone;
    assert!(
        is_right,
        "{} {}, not {status} {text}: {answer:?}",
        sent.method, sent.path
    );
    assert!(!error.contains(TOKEN) && !error.contains(WRONG), "{error}");
}

/// Returns a body with this byte size in two-byte characters, so about half as many characters.
fn sized(bytes: usize) -> Vec<u8> {
    let room = bytes - r#"{"pad":""}"#.len();
    format!(
        r#"{{"pad":"{}{}"}}"#,
        "é".repeat(room / 2),
        "x".repeat(room % 2)
    )
    .into_bytes()
}

/// Sends requests to each route with fewer faults each time, starting with all faults.
fn every_route_checks_in_order(subject: &mut impl Subject) {
    let bearer = format!("Bearer {TOKEN}");
    for route in Route::all() {
        let (path, limit) = (route.path(), route.max_body_bytes());
        let [longer, upper, query] = [
            format!("{path}x"),
            path.to_uppercase(),
            format!("{path}?token={TOKEN}"),
        ];
        let [just, above] = [limit, limit + 1].map(sized);
        assert_eq!((just.len(), above.len()), (limit, limit + 1));
        let get = Sent {
            method: "GET",
            path,
            authorization: None,
            length: Length::Undeclared,
            body: b"no json",
        };
        let other = |method| Sent {
            method,
            length: Length::True,
            body: b"",
            ..get
        };
        let post = Sent {
            method: "POST",
            ..get
        };
        let known = Sent {
            authorization: Some(&bearer),
            ..post
        };
        let measured = Sent {
            length: Length::True,
            ..known
        };
        for (sent, status, text) in [
            (
                Sent {
                    path: &longer,
                    ..get
                },
                404,
                "not found",
            ),
            (
                Sent {
                    path: &upper,
                    ..get
                },
                404,
                "not found",
            ),
            (other("GET"), 405, "method not allowed"),
            (other("PUT"), 405, "method not allowed"),
            (other("OPTIONS"), 405, "method not allowed"),
            (post, 401, "unauthorized"),
            (
                Sent {
                    length: Length::Unsent(limit + 1),
                    ..post
                },
                401,
                "unauthorized",
            ),
            (known, 411, "a numeric Content-Length is needed"),
            (
                Sent {
                    body: &above,
                    ..measured
                },
                413,
                &format!("the body may have at most {limit} bytes"),
            ),
            (measured, 400, "body must be "),
            (
                Sent {
                    path: &query,
                    ..measured
                },
                400,
                "body must be ",
            ),
        ] {
            assert_error(subject, &sent, status, text);
        }
        let exact = Sent {
            body: &just,
            ..measured
        };
        match route.key() {
            // The body is read: the answer names a field.
            Key::Named(field) | Key::Run(field) | Key::Slug(field) => {
                assert_error(subject, &exact, 400, &format!("{field} must "));
            }
            Key::Single => assert!([200, 400].contains(&subject.send(&exact).status), "{path}"),
        }
    }
}

/// Bodies that are no object and malformed keys of each kind have the same code on every route.
fn bodies_and_keys_are_checked(subject: &mut impl Subject) {
    let bearer = format!("Bearer {TOKEN}");
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    for (path, field) in [
        ("/retrieve", "scopeKey"),
        ("/runs/transcript/read", "runId"),
        ("/config/get", "key"),
    ] {
        let mut refuse = |body: &[u8], text: &str| {
            let authorization = Some(bearer.as_str());
            let sent = Sent {
                method: "POST",
                path,
                authorization,
                length: Length::True,
                body,
            };
            assert_error(subject, &sent, 400, text);
        };
        for body in ["", "null", "7", "[]", "{", "{\"a\":1,}", "{}{}"] {
            refuse(body.as_bytes(), "body must be ");
        }
        refuse(b"{\"key\":\"\xff\"}", "body must be UTF-8");
        refuse(
            format!(r#"{{"{field}":"deep","a":{deep}}}"#).as_bytes(),
            "body must be valid JSON",
        );
        refuse(b"{}", &format!("{field} must "));
        let long = "x".repeat(201);
        for key in [
            json!(null),
            json!(7),
            json!([WRONG]),
            json!(""),
            json!(WRONG),
            json!("a\u{0}"),
            json!(long),
        ] {
            refuse(
                json!({ field: key }).to_string().as_bytes(),
                &format!("{field} must "),
            );
        }
    }
}

fn only_health_is_open(subject: &mut impl Subject) {
    for (method, path, status) in [
        ("GET", "/healthz", 200),
        ("GET", "/healthz?probe=1", 200),
        ("POST", "/healthz", 404),
        ("GET", "/healthz/", 404),
        ("GET", "//healthz", 404),
        ("GET", "/Healthz", 404),
        ("POST", "/", 404),
        ("POST", "/runs", 404),
        ("POST", "/runs/", 404),
        // Routes in other implementations.
        ("POST", "/runs/inbox/read", 404),
        ("POST", "/runs/abandon", 404),
        ("POST", "/config/secrets/get", 404),
    ] {
        let sent = Sent {
            method,
            path,
            authorization: None,
            length: Length::True,
            body: b"",
        };
        if status == 404 {
            assert_error(subject, &sent, 404, "not found");
        } else {
            let features =
                json!({ "ok": true, "features": ["memory", "friction", "schedules", "runs"] });
            let answer = subject.send(&sent);
            assert_eq!((answer.status, answer.body), (200, features), "{path}");
        }
    }
}

/// Returns the status for a read with this `Authorization` header.
fn read_with(subject: &mut impl Subject, authorization: Option<&str>) -> u16 {
    let body = br#"{"storeKey":"of-credentials","id":"a"}"#;
    subject
        .send(&Sent {
            method: "POST",
            path: "/runs/get",
            authorization,
            length: Length::True,
            body,
        })
        .status
}

fn only_the_exact_bearer_is_accepted(subject: &mut impl Subject) {
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(read_with(subject, Some(&bearer)), 200);
    let wrong = [
        String::new(),
        TOKEN.to_owned(),
        "Bearer".to_owned(),
        format!("Basic {TOKEN}"),
        format!("bearer {TOKEN}"),
        format!("Bearer  {TOKEN}"),
        format!("{bearer}x"),
        bearer[..bearer.len() - 1].to_owned(),
        format!("Bearer {}", TOKEN.to_uppercase()),
        // An absent secret's text.
        "Bearer undefined".to_owned(),
    ];
    for authorization in wrong.iter().map(|text| Some(text.as_str())).chain([None]) {
        assert_eq!(read_with(subject, authorization), 401, "{authorization:?}");
    }
}

fn whole_order_holds(subject: &mut impl Subject) {
    every_route_checks_in_order(subject);
    bodies_and_keys_are_checked(subject);
    only_health_is_open(subject);
    only_the_exact_bearer_is_accepted(subject);
}

#[test]
fn order_holds_in_process() {
    whole_order_holds(&mut Native::start());
}

#[test]
fn order_holds_on_workerd() {
    let mut worker = Workerd::start();
    whole_order_holds(&mut worker);
    assert!(!worker.log().contains("fault"), "{}", worker.log());
}

fn former_secret_is_accepted(subject: &mut impl Subject) {
    for (secret, status) in [(TOKEN, 200), ("the-former-one", 200), ("another-one", 401)] {
        assert_eq!(
            read_with(subject, Some(&format!("Bearer {secret}"))),
            status,
            "{secret}"
        );
    }
}

#[test]
fn rotation_accepts_both_secrets() {
    former_secret_is_accepted(&mut Native::in_place_of("the-former-one"));
    former_secret_is_accepted(&mut Workerd::in_place_of("the-former-one"));
}

#[test]
fn worker_without_secret_serves_only_health() {
    for secret in [None, Some("")] {
        let mut worker = Workerd::with_secret(secret);
        only_health_is_open(&mut worker);
        for authorization in [None, Some("Bearer "), Some("Bearer undefined"), Some("")] {
            assert_eq!(
                read_with(&mut worker, authorization),
                401,
                "{authorization:?}"
            );
        }
    }
}
