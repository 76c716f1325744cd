//! The routes, and the check order before a body is read.

use crate::refusal::{Refusal, Token};

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Anyone, without a token.
    None,
    /// Administrators, and no others.
    Admin,
    /// Administrators and readers only.
    Read,
    /// Administrators and operators.
    Operator,
}

/// A request's token, after a comparison in constant time with the three secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// No token, or an unknown token.
    None,
    /// The token for administrators.
    Admin,
    /// The token for operators.
    Operator,
    /// The token for readers.
    Read,
}

/// A route in the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Route {
    /// The route `GET /healthz`.
    Health,
    /// The route `POST /onboard`.
    Onboard,
    /// The route `POST /offboard`.
    Offboard,
    /// The route `POST /reconfigure`.
    Reconfigure,
    /// The route `POST /rebuild`.
    Rebuild,
    /// The route `GET /residents`.
    Residents,
    /// The route `POST /debug`.
    Debug,
    /// The route `GET /status`.
    Status,
    /// The route `POST /attach`.
    Attach,
    /// The route `POST /detach`.
    Detach,
    /// The route `POST /op`.
    Op,
    /// The route `POST /exec`.
    Exec,
    /// The route `POST /read`.
    Read,
    /// The route `POST /write`.
    Write,
    /// The route `POST /push`.
    Push,
    /// The route `POST /checkout`.
    CheckOut,
    /// The route `POST /checkpoint`.
    Checkpoint,
    /// The route `POST /restore`.
    Restore,
}

impl Route {
    /// Every route, in order.
    pub const ALL: [Self; 18] = [
        Self::Health,
        Self::Onboard,
        Self::Offboard,
        Self::Reconfigure,
        Self::Rebuild,
        Self::Residents,
        Self::Debug,
        Self::Status,
        Self::Attach,
        Self::Detach,
        Self::Op,
        Self::Exec,
        Self::Read,
        Self::Write,
        Self::Push,
        Self::CheckOut,
        Self::Checkpoint,
        Self::Restore,
    ];

    /// Returns the path, the only method, and the scope.
    pub const fn parts(self) -> (&'static str, &'static str, Scope) {
        match self {
            Self::Health => ("/healthz", "GET", Scope::None),
            Self::Onboard => ("/onboard", "POST", Scope::Admin),
            Self::Offboard => ("/offboard", "POST", Scope::Admin),
            Self::Reconfigure => ("/reconfigure", "POST", Scope::Admin),
            Self::Rebuild => ("/rebuild", "POST", Scope::Admin),
            Self::Residents => ("/residents", "GET", Scope::Read),
            // The read token passes here, and the operation decides.
            Self::Debug => ("/debug", "POST", Scope::Read),
            Self::Status => ("/status", "GET", Scope::Operator),
            Self::Attach => ("/attach", "POST", Scope::Operator),
            Self::Detach => ("/detach", "POST", Scope::Operator),
            Self::Op => ("/op", "POST", Scope::Operator),
            Self::Exec => ("/exec", "POST", Scope::Operator),
            Self::Read => ("/read", "POST", Scope::Operator),
            Self::Write => ("/write", "POST", Scope::Operator),
            Self::Push => ("/push", "POST", Scope::Operator),
            Self::CheckOut => ("/checkout", "POST", Scope::Operator),
            Self::Checkpoint => ("/checkpoint", "POST", Scope::Operator),
            Self::Restore => ("/restore", "POST", Scope::Operator),
        }
    }

    /// Returns a path's route.
    pub fn of_path(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|route| route.parts().0 == path)
    }

    /// Returns whether the response is streamed. Headers are sent at once, line feeds while the
    /// work runs, then a single JSON document.
    pub const fn is_streamed(self) -> bool {
        matches!(
            self,
            Self::Attach
                | Self::Op
                | Self::Exec
                | Self::Push
                | Self::CheckOut
                | Self::Checkpoint
                | Self::Restore
        )
    }
}

impl Scope {
    const fn admits(self, credential: Credential) -> bool {
        match (self, credential) {
            (Self::None, _) | (_, Credential::Admin) => true,
            (Self::Read, Credential::Read) | (Self::Operator, Credential::Operator) => true,
            (Self::Admin | Self::Read | Self::Operator, _) => false,
        }
    }
}

/// Checks a request in order: route, scope, method. An unknown path requires the admin token.
///
/// # Errors
/// 401, then 404, then 405.
pub fn authorize(path: &str, method: &str, credential: Credential) -> Result<Route, Refusal> {
    let route = Route::of_path(path);
    let scope = route.map_or(Scope::Admin, |route| route.parts().2);
    if !scope.admits(credential) {
        return Err(Refusal::new(Token::Unauthorized, ""));
    }
    let route = route.ok_or_else(|| Refusal::new(Token::UnknownRoute, ""))?;
    let allowed = route.parts().1;
    if allowed != method {
        return Err(Refusal::new(
            Token::MethodNotAllowed,
            &format!("use {allowed}"),
        ));
    }
    Ok(route)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: [Credential; 4] = [
        Credential::None,
        Credential::Admin,
        Credential::Operator,
        Credential::Read,
    ];

    #[test]
    fn unknown_path_is_unauthorized_before_it_is_missing() {
        for credential in CREDENTIALS {
            let status = authorize("/nope", "GET", credential).unwrap_err().status();
            assert_eq!(
                status,
                if credential == Credential::Admin {
                    404
                } else {
                    401
                }
            );
        }
    }

    #[test]
    fn each_route_admits_its_scope() {
        for route in Route::ALL {
            let (path, method, scope) = route.parts();
            let admitted: Vec<bool> = CREDENTIALS
                .iter()
                .map(|credential| authorize(path, method, *credential).is_ok())
                .collect();
            let expected = match scope {
                Scope::None => [true, true, true, true],
                Scope::Admin => [false, true, false, false],
                Scope::Operator => [false, true, true, false],
                Scope::Read => [false, true, false, true],
            };
            assert_eq!(admitted, expected, "{path}");
        }
    }

    #[test]
    fn other_method_is_rejected_after_the_scope() {
        assert_eq!(
            authorize("/attach", "GET", Credential::Read)
                .unwrap_err()
                .status(),
            401
        );
        let refusal = authorize("/attach", "GET", Credential::Operator).unwrap_err();
        assert_eq!(
            (refusal.status(), refusal.error()),
            (405, "method-not-allowed: use POST")
        );
        assert_eq!(
            authorize("/healthz", "POST", Credential::None)
                .unwrap_err()
                .status(),
            405
        );
    }
}
