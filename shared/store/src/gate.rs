//! Checks a request before the body is read, in the contract's order, as a pure function.
//!
//! See docs/reference/state-worker.md#order-of-checks. Each check has a separate status, so their
//! order matters. The Worker and the in-process stand-in for tests share this code. Not here: body
//! checks.

use ars_auth::{
    gate::{self, Credentials, Rules},
    strict_bearer,
};
use ars_wire::{health, state::Route};

pub use ars_auth::Rejection;

/// A request without the body.
pub struct Head<'a> {
    /// The method as sent.
    pub method: &'a str,
    /// Path, without a query.
    pub path: &'a str,
    /// Value of the `Authorization` header.
    pub authorization: Option<&'a str>,
    /// Value of the `Content-Length` header.
    pub content_length: Option<&'a str>,
}

/// A request that passed the gate.
#[derive(Debug, PartialEq, Eq)]
pub enum Admitted {
    /// A health probe, without a call.
    Health,
    /// A call, with the body's declared length.
    Call {
        /// Route that is called.
        route: Route,
        /// Declared length, within the route's limit.
        length: usize,
    },
}

/// Runs the checks before the body. Without a credential no call is authorized.
///
/// # Errors
///
/// Returns the first failing check.
pub fn admit(head: &Head<'_>, credentials: &impl Credentials) -> Result<Admitted, Rejection> {
    if head.method == "GET" && head.path == health::ROUTE {
        return Ok(Admitted::Health);
    }
    let route = Route::from_path(head.path);
    let rules = Rules::new(gate::order::STATE, credentials);
    let rules = match route {
        Some(route) => rules.with_limit(route.max_body_bytes()),
        None => rules.without_route(),
    };
    let presented = head.authorization.and_then(strict_bearer);
    let read = gate::Head {
        method: head.method,
        presented,
        content_length: head.content_length,
    };
    let length = gate::admit(&rules, &read)?.length.unwrap_or_default();
    route
        .map(|route| Admitted::Call { route, length })
        .ok_or(Rejection::NotFound)
}

#[cfg(test)]
mod tests {
    use ars_auth::{Secret, gate::Credentials};
    use ars_wire::state::{RunVerb, body_limit};

    use super::*;

    const COMPLETE: Head<'_> = Head {
        method: "POST",
        path: "/runs/put",
        authorization: Some("Bearer s3cret"),
        content_length: Some("2"),
    };

    const PUT: Route = Route::Runs(RunVerb::Put);

    fn decide(head: &Head<'_>) -> Result<Admitted, Rejection> {
        admit(head, &Secret::parse(Some("s3cret".to_owned())).as_ref())
    }

    #[test]
    fn every_route_is_open_to_a_complete_request() {
        for route in Route::all() {
            assert_eq!(
                decide(&Head {
                    path: route.path(),
                    ..COMPLETE
                }),
                Ok(Admitted::Call { route, length: 2 })
            );
        }
    }

    #[test]
    fn checks_run_in_order() {
        // A request that fails several checks gets the first check's response.
        let nothing = Head {
            method: "GET",
            path: "/nowhere",
            authorization: None,
            content_length: None,
        };
        assert_eq!(decide(&nothing), Err(Rejection::NotFound));
        let known = Head {
            path: "/runs/put",
            ..nothing
        };
        assert_eq!(decide(&known), Err(Rejection::Method));
        let posted = Head {
            method: "POST",
            ..known
        };
        assert_eq!(decide(&posted), Err(Rejection::Unauthenticated));
        let too_long = Head {
            content_length: Some("99999999"),
            ..posted
        };
        assert_eq!(decide(&too_long), Err(Rejection::Unauthenticated));
        let authorized = Head {
            authorization: COMPLETE.authorization,
            ..posted
        };
        assert_eq!(decide(&authorized), Err(Rejection::LengthRequired));
        let declared = Head {
            content_length: Some("99999999"),
            ..authorized
        };
        assert_eq!(
            decide(&declared),
            Err(Rejection::TooLarge {
                max_body_bytes: body_limit::RECORD
            })
        );
    }

    #[test]
    fn health_is_exactly_a_get_of_its_path() {
        let health = Head {
            method: "GET",
            path: "/healthz",
            authorization: None,
            content_length: None,
        };
        assert_eq!(admit(&health, &None::<&Secret>), Ok(Admitted::Health));
        for (method, path) in [
            ("POST", "/healthz"),
            ("HEAD", "/healthz"),
            ("GET", "/healthz/"),
        ] {
            assert_eq!(
                decide(&Head {
                    method,
                    path,
                    ..health
                }),
                Err(Rejection::NotFound),
                "{method} {path}"
            );
        }
    }

    #[test]
    fn only_the_exact_token_in_strict_form_is_accepted() {
        for authorization in [
            "",
            "s3cret",
            "Basic s3cret",
            "bearer s3cret",
            "Bearer",
            "Bearer ",
            "Bearer s3cre",
            "Bearer s3crett",
        ] {
            let head = Head {
                authorization: Some(authorization),
                ..COMPLETE
            };
            assert_eq!(
                decide(&head),
                Err(Rejection::Unauthenticated),
                "{authorization:?}"
            );
        }
    }

    #[test]
    fn without_a_secret_no_call_is_authorized() {
        for secret in [None, Some(String::new())] {
            let secret = Secret::parse(secret);
            for authorization in ["Bearer ", "Bearer s3cret", ""] {
                let head = Head {
                    authorization: Some(authorization),
                    ..COMPLETE
                };
                assert_eq!(
                    admit(&head, &secret.as_ref()),
                    Err(Rejection::Unauthenticated)
                );
            }
        }
    }

    /// Two secrets, one of which is for short bodies only.
    struct Two(Secret, Secret);

    impl Credentials for Two {
        type Holder = Secret;

        fn is_configured(&self) -> bool {
            true
        }

        fn authenticate<'a>(&'a self, presented: &'a str) -> Option<&'a Secret> {
            [&self.0, &self.1]
                .into_iter()
                .find(|secret| secret.matches(presented.as_bytes()))
        }
    }

    #[test]
    fn each_of_two_secrets_is_accepted() {
        let secret = |text: &str| Secret::parse(Some(text.to_owned())).unwrap();
        let both = Two(secret("s3cret"), secret("other"));
        for (authorization, expected) in [
            (
                "Bearer s3cret",
                Ok(Admitted::Call {
                    route: PUT,
                    length: 2,
                }),
            ),
            (
                "Bearer other",
                Ok(Admitted::Call {
                    route: PUT,
                    length: 2,
                }),
            ),
            ("Bearer third", Err(Rejection::Unauthenticated)),
        ] {
            let head = Head {
                authorization: Some(authorization),
                ..COMPLETE
            };
            assert_eq!(admit(&head, &both), expected, "{authorization}");
        }
    }

    #[test]
    fn length_is_digits_within_the_limit() {
        let put = |length| {
            decide(&Head {
                content_length: length,
                ..COMPLETE
            })
        };
        for length in [
            None,
            Some(""),
            Some("  "),
            Some("0x10"),
            Some("1e3"),
            Some("1.0"),
            Some("+1"),
            Some("-1"),
        ] {
            assert_eq!(put(length), Err(Rejection::LengthRequired), "{length:?}");
        }
        assert_eq!(
            put(Some(" 7 ")),
            Ok(Admitted::Call {
                route: PUT,
                length: 7
            })
        );
        assert_eq!(
            put(Some("2097152")),
            Ok(Admitted::Call {
                route: PUT,
                length: 2_097_152
            })
        );
        let refused = Err(Rejection::TooLarge {
            max_body_bytes: 2_097_152,
        });
        for length in ["2097153", "99999999999999999999999999"] {
            assert_eq!(put(Some(length)), refused, "{length}");
        }
        for route in Route::all() {
            let limit = route.max_body_bytes();
            let at = |length: usize| {
                decide(&Head {
                    path: route.path(),
                    content_length: Some(&length.to_string()),
                    ..COMPLETE
                })
            };
            assert!(at(limit).is_ok(), "{route:?}");
            assert_eq!(
                at(limit + 1),
                Err(Rejection::TooLarge {
                    max_body_bytes: limit
                }),
                "{route:?}"
            );
        }
    }
}
