//! The decision order, and refusals of unreadable responses.

use serde_json::json;

use super::*;

const TOKENS: &str = r#"{"good":{"subject":"ann"},"other":{"subject":"bo","scopes":[]}}"#;

fn status<T>(outcome: &Result<T, Answer>) -> u16 {
    outcome
        .as_ref()
        .map_or_else(|answer| answer.status, |_| 200)
}

#[test]
fn every_question_hides_the_ones_after_it() {
    for (method, authorization, tokens, expected) in [
        ("GET", None, None, 405),
        ("PUT", Some("Bearer good"), Some(TOKENS), 405),
        ("post", Some("Bearer good"), Some(TOKENS), 405),
        ("POST", Some("Bearer good"), None, 503),
        ("POST", Some("Bearer good"), Some(" "), 503),
        ("POST", Some("Bearer good"), Some("[]"), 503),
        ("POST", Some("Bearer good"), Some(r#"{"good":{}}"#), 503),
        ("POST", None, Some(TOKENS), 401),
        ("POST", Some("good"), Some(TOKENS), 401),
        ("POST", Some("Bearer goo"), Some(TOKENS), 401),
        // The runtime joins repeated headers.
        ("POST", Some("Bearer good, Bearer good"), Some(TOKENS), 401),
    ] {
        let outcome = caller(method, authorization, tokens);
        assert_eq!(
            status(&outcome),
            expected,
            "{method} {authorization:?} {tokens:?}"
        );
        let body: Value = serde_json::from_str(&outcome.unwrap_err().body).unwrap();
        assert!(
            body["ok"] == json!(false) && body["error"].is_string(),
            "{body}"
        );
    }
    assert_eq!(
        caller("POST", Some("bearer  good "), Some(TOKENS)),
        Ok("ann".to_owned())
    );
    assert_eq!(
        caller("POST", Some("Bearer other"), Some(TOKENS)),
        Ok("bo".to_owned())
    );
}

#[test]
fn body_is_empty_or_holds_force_only() {
    assert_eq!(forced(Some(b"")), Ok(false));
    assert_eq!(forced(Some(b"{}")), Ok(false));
    assert_eq!(forced(Some(br#" {"force": false} "#)), Ok(false));
    assert_eq!(forced(Some(br#"{"force":true}"#)), Ok(true));
    let bad: [&[u8]; 9] = [
        b"[]",
        b"[true]",
        b"true",
        b"null",
        b"{",
        b"\xff",
        br#"{"force":1}"#,
        br#"{"force":null}"#,
        br#"{"force":true,"now":"s3cret"}"#,
    ];
    for body in bad {
        let outcome = forced(Some(body));
        assert_eq!(status(&outcome), 400, "{body:?}");
        assert!(!outcome.unwrap_err().body.contains("s3cret"));
    }
    assert_eq!(status(&forced(None)), 400);
}

#[test]
fn only_an_authorization_of_this_subject_passes() {
    assert_eq!(
        authorized("ann", Some((200, br#"{"ok":true,"subject":"ann"}"#))),
        Ok(())
    );
    let unreadable: [(u16, &[u8]); 9] = [
        (200, br#"{"ok":true,"subject":"bo"}"#),
        (200, br#"{"ok":false,"subject":"ann"}"#),
        (200, br#"{"ok":true}"#),
        (200, b"ok"),
        (200, b""),
        (201, br#"{"ok":true,"subject":"ann"}"#),
        (404, br#"{"ok":false,"error":"no"}"#),
        (500, b""),
        (302, b""),
    ];
    for answer in unreadable {
        assert_eq!(status(&authorized("ann", Some(answer))), 503, "{answer:?}");
    }
    assert_eq!(status(&authorized("ann", None)), 503);
}

#[test]
fn the_bots_refusals_are_relayed_with_their_reason() {
    for refusal in [401, 403, 503] {
        let outcome = authorized(
            "ann",
            Some((
                refusal,
                br#"{"ok":false,"error":"deploy:write is missing"}"#,
            )),
        );
        assert_eq!(
            outcome,
            Err(Answer::failed(refusal, "deploy:write is missing"))
        );
        assert_eq!(
            authorized("ann", Some((refusal, b"<html>"))),
            Err(Answer::failed(refusal, "refused"))
        );
    }
}

fn health(in_flight: &Value, draining: &Value) -> Vec<u8> {
    json!({ "ok": true, "inFlight": in_flight, "draining": draining, "startedAt": "t0", "more": 1 })
        .to_string()
        .into_bytes()
}

#[test]
fn busy_bot_is_restarted_by_force_only() {
    let restart = |force, body: &[u8]| decide(force, Some((200, body)));
    let idle = restart(false, &health(&json!(0), &json!(false))).unwrap();
    assert_eq!(
        (
            idle.in_flight,
            idle.previous_started_at.as_deref(),
            idle.forced
        ),
        (Some(0), Some("t0"), false)
    );
    for (body, problems) in [
        (
            health(&json!(1), &json!(false)),
            json!(["1 run is in flight"]),
        ),
        (
            health(&json!(0), &json!(true)),
            json!(["the bot is draining already"]),
        ),
        (
            health(&json!(2), &json!(true)),
            json!(["2 runs are in flight", "the bot is draining already"]),
        ),
    ] {
        let refused = restart(false, &body).unwrap_err();
        assert_eq!(refused.status, 409);
        let told: Value = serde_json::from_str(&refused.body).unwrap();
        assert_eq!(
            told,
            json!({ "ok": false, "refused": true, "problems": problems })
        );
        assert!(restart(true, &body).unwrap().forced);
    }
    assert_eq!(
        restart(true, &health(&json!(3), &json!(false)))
            .unwrap()
            .in_flight,
        Some(3)
    );
}

#[test]
fn impossible_health_is_refused_unless_forced() {
    let good = health(&json!(0), &json!(false));
    let mut all = vec![
        None,
        Some((500, good.clone())),
        Some((200, b"ok".to_vec())),
        Some((200, Vec::new())),
    ];
    for count in [
        json!(-1),
        json!(1.5),
        json!("0"),
        json!(null),
        json!(1_u64 << 60),
    ] {
        all.push(Some((200, health(&count, &json!(false)))));
    }
    all.push(Some((200, health(&json!(0), &json!("false")))));
    all.push(Some((200, br#"{"ok":true}"#.to_vec())));
    for health in all {
        let health = health
            .as_ref()
            .map(|(status, body)| (*status, body.as_slice()));
        assert_eq!(status(&decide(false, health)), 409, "{health:?}");
        let forced = decide(true, health).unwrap();
        assert_eq!((forced.in_flight, forced.previous_started_at), (None, None));
    }
}

#[test]
fn without_a_bot_only_the_scope_is_answered() {
    let tokens = r#"{"a":{"subject":"ann","scopes":["dispatch","deploy:write"]},"b":{"subject":"ann","scopes":["deploy:write"]},
        "c":{"subject":"bo"},"f":{"subject":"flo","scopes":["deploy:write"]},"g":{"subject":"flo","scopes":["dispatch"]},"d":{"subject":"cy","scopes":["deploy:read","deploy:*","deploy:write:x"]},
        "e":{"subject":"di","scopes":["deploy:write",1]}}"#;
    // Each of the subject's tokens counts, not only the presented token.
    assert_eq!(without_bot("ann", Some(tokens)), not_running());
    for stranger in ["bo", "cy", "di", "flo", "eve", ""] {
        let refused = without_bot(stranger, Some(tokens));
        assert_eq!((refused.status, refused.header), (403, None), "{stranger}");
        let body: Value = serde_json::from_str(&refused.body).unwrap();
        assert_eq!(body["ok"], json!(false));
        assert!(
            body["error"].as_str().unwrap().contains("deploy:write"),
            "{body}"
        );
    }
    assert_eq!(without_bot("ann", None).status, 403);
}
