//! Each order against the contract: a request that fails several checks is rejected by the first.

use super::*;
use crate::TokenMap;

const TOKENS: &str =
    r#"{"good":{"subject":"ann"},"reader":{"subject":"bo","scopes":["runs:read"]}}"#;

/// A surface's worst request, and one repair per step with the rejection that precedes it.
struct Case {
    order: &'static [Check],
    rejections: &'static [Rejection],
}

const LIMIT: usize = 10;

/// Repairs a request's failing checks in turn and compares the remaining rejections.
fn assert_order(case: &Case) {
    let map = TokenMap::parse(Some(TOKENS)).map;
    let empty = TokenMap::default();
    let may_dispatch = |entry: &crate::TokenEntry| entry.has_scope("dispatch");
    let mut repaired: Vec<Rejection> = Vec::new();
    for expected in case.rejections.iter().copied().map(Some).chain([None]) {
        let is_repaired = |rejection| repaired.contains(&rejection);
        let credentials =
            if is_repaired(Rejection::Disabled) || !case.order.contains(&Check::Configured) {
                &map
            } else {
                &empty
            };
        let mut rules = Rules::new(case.order, credentials)
            .with_scope(&may_dispatch)
            .with_limit(LIMIT);
        if !is_repaired(Rejection::NotFound) {
            rules = rules.without_route();
        }
        let presented = match (
            is_repaired(Rejection::Unauthenticated),
            is_repaired(Rejection::Forbidden),
        ) {
            (false, _) => None,
            (true, false) if case.order.contains(&Check::Scope) => Some("reader"),
            (true, _) => Some("good"),
        };
        let too_large = Rejection::TooLarge {
            max_body_bytes: LIMIT,
        };
        let content_length = match (
            is_repaired(Rejection::LengthRequired),
            is_repaired(too_large),
        ) {
            (false, _) => None,
            (true, false) => Some("11"),
            (true, true) => Some("10"),
        };
        let method = if is_repaired(Rejection::Method) {
            "POST"
        } else {
            "GET"
        };
        let outcome = admit(
            &rules,
            &Head {
                method,
                presented,
                content_length,
            },
        );
        assert_eq!(
            outcome.err(),
            expected,
            "{:?} after {repaired:?}",
            case.order
        );
        repaired.extend(expected);
    }
}

#[test]
fn orders_are_the_specified_ones() {
    let too_large = Rejection::TooLarge {
        max_body_bytes: LIMIT,
    };
    assert_eq!(too_large.code().http_status(), 413);
    for case in [
        Case {
            order: order::INGRESS,
            rejections: &[
                Rejection::Method,
                Rejection::Disabled,
                Rejection::Unauthenticated,
                Rejection::Forbidden,
            ],
        },
        Case {
            order: order::MCP,
            rejections: &[
                Rejection::Method,
                Rejection::Disabled,
                Rejection::Unauthenticated,
            ],
        },
        Case {
            order: order::EDGE,
            rejections: &[
                Rejection::Method,
                Rejection::Disabled,
                Rejection::Unauthenticated,
            ],
        },
        Case {
            order: order::STATE,
            rejections: &[
                Rejection::NotFound,
                Rejection::Method,
                Rejection::Unauthenticated,
                Rejection::LengthRequired,
                Rejection::TooLarge {
                    max_body_bytes: LIMIT,
                },
            ],
        },
        Case {
            order: order::DASHBOARD,
            rejections: &[Rejection::Unauthenticated],
        },
        Case {
            order: order::RESIDENT,
            rejections: &[Rejection::Unauthenticated],
        },
        Case {
            order: order::DAEMON,
            rejections: &[Rejection::Unauthenticated],
        },
    ] {
        assert_order(&case);
    }
    assert_eq!(order::ADMIN, order::INGRESS);
}

#[test]
fn statuses_are_the_specified_ones() {
    for (rejection, status) in [
        (Rejection::NotFound, 404),
        (Rejection::Method, 405),
        (Rejection::Disabled, 503),
        (Rejection::Unauthenticated, 401),
        (Rejection::Forbidden, 403),
        (Rejection::LengthRequired, 411),
        (Rejection::TooLarge { max_body_bytes: 1 }, 413),
    ] {
        assert_eq!(rejection.code().http_status(), status);
    }
}

#[test]
fn order_without_credential_admits_no_request() {
    let map = TokenMap::parse(Some(TOKENS)).map;
    let head = Head {
        method: "POST",
        presented: Some("good"),
        content_length: None,
    };
    for order in [
        &[][..],
        &[Check::Method],
        &[Check::Method, Check::Configured],
    ] {
        assert_eq!(
            admit(&Rules::new(order, &map), &head).err(),
            Some(Rejection::Unauthenticated)
        );
    }
    let scope_first = Rules::new(&[Check::Scope, Check::Credential], &map);
    assert_eq!(admit(&scope_first, &head).err(), Some(Rejection::Forbidden));
}

#[test]
fn length_is_plain_digits_within_the_limit() {
    let secret = Secret::parse(Some("s".to_owned()));
    let credentials = secret.as_ref();
    let rules = Rules::new(order::STATE, &credentials).with_limit(7);
    let length = |content_length| {
        let head = Head {
            method: "POST",
            presented: Some("s"),
            content_length,
        };
        admit(&rules, &head).map(|admitted| admitted.length)
    };
    for header in [
        None,
        Some(""),
        Some("  "),
        Some("0x1"),
        Some("1e0"),
        Some("1.0"),
        Some("+1"),
        Some("-1"),
    ] {
        assert_eq!(length(header), Err(Rejection::LengthRequired), "{header:?}");
    }
    assert_eq!(length(Some(" 7 ")), Ok(Some(7)));
    for header in ["8", "99999999999999999999999999"] {
        assert_eq!(
            length(Some(header)),
            Err(Rejection::TooLarge { max_body_bytes: 7 }),
            "{header}"
        );
    }
}

#[test]
fn unset_secret_authenticates_no_token() {
    let unset: Option<&Secret> = None;
    assert!(!unset.is_configured());
    assert_eq!(unset.authenticate(""), None);
}

#[test]
fn both_secrets_of_a_rotation_are_accepted() {
    let text = |text: &str| Some(text.to_owned());
    let both = RotatingSecret::parse(text("new"), text("old"));
    let opens = |secret: &RotatingSecret| {
        ["new", "old", "", "other"].map(|presented| secret.authenticate(presented).is_some())
    };
    assert_eq!(opens(&both), [true, true, false, false]);
    assert_eq!(
        opens(&RotatingSecret::parse(text("new"), None)),
        [true, false, false, false]
    );
    assert_eq!(
        opens(&RotatingSecret::parse(text("new"), text(""))),
        [true, false, false, false]
    );
    // The former secret alone is a deployment without a secret.
    let former = RotatingSecret::parse(None, text("old"));
    assert_eq!(
        (opens(&former), former.is_configured()),
        ([false; 4], false)
    );
}

#[test]
fn each_held_secret_authenticates_its_holder() {
    let text = |text: &str| Some(text.to_owned());
    let secrets = HeldSecrets::parse([
        (text("first"), 1),
        (text(""), 2),
        (None, 3),
        (text("first"), 4),
        (text("last"), 5),
    ]);
    assert!(secrets.is_configured());
    for (presented, holder) in [
        ("first", Some(&1)),
        ("last", Some(&5)),
        ("", None),
        ("firs", None),
        ("other", None),
    ] {
        assert_eq!(secrets.authenticate(presented), holder, "{presented}");
    }
    assert!(!HeldSecrets::parse([(text(""), 1), (None, 2)]).is_configured());
}
