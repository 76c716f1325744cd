//! The gate in front of every bearer surface: the first failing check rejects the request.
//!
//! A surface states checks, their order and credentials as data. Each check has a separate status,
//! so callers see the order and it is part of the contract. Not here: the header's grammar
//! (`bearer`) and the body of a rejection (`surface`).

use crate::{Rejection, Secret};

/// Each surface's check order.
pub mod order {
    use super::Check;

    /// Checks for `POST /ingress` (docs/reference/ingress.md#order-of-checks).
    pub const INGRESS: &[Check] = &[
        Check::Method,
        Check::Configured,
        Check::Credential,
        Check::Scope,
    ];
    /// Checks for `POST /mcp`, where each tool has a separate permission.
    pub const MCP: &[Check] = &[Check::Method, Check::Configured, Check::Credential];
    /// The bot's admin routes.
    pub const ADMIN: &[Check] = INGRESS;
    /// Checks at the edge, for every surface with an ingress token. The bot decides about the
    /// scope, because grants are part of its configuration.
    pub const EDGE: &[Check] = &[Check::Method, Check::Configured, Check::Credential];
    /// Checks in the state Worker: an unknown path is 404 even for an anonymous caller.
    ///
    /// See docs/reference/state-worker.md#order-of-checks.
    pub const STATE: &[Check] = &[
        Check::Route,
        Check::Method,
        Check::Credential,
        Check::Length,
    ];
    /// The run pages in mode `token`.
    pub const DASHBOARD: &[Check] = &[Check::Credential];
    /// Checks in the resident Worker. Its routes come afterwards, because each has a separate scope.
    pub const RESIDENT: &[Check] = &[Check::Credential];
    /// Checks in the daemon of a resident's container.
    pub const DAEMON: &[Check] = &[Check::Credential];
}

/// A single check in a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// The route exists.
    Route,
    /// The method is the route's.
    Method,
    /// The surface has a credential configured.
    Configured,
    /// The presented bearer is a configured credential.
    Credential,
    /// The credential's holder has the permission.
    Scope,
    /// The declared length is numeric and within the limit.
    Length,
}

/// The request parts that a gate reads. The body is not among them.
#[derive(Clone, Copy, Default)]
pub struct Head<'a> {
    /// The method as sent.
    pub method: &'a str,
    /// The bearer token, read by the surface's grammar.
    pub presented: Option<&'a str>,
    /// Value of the `Content-Length` header.
    pub content_length: Option<&'a str>,
}

/// Looks up a surface's credentials.
pub trait Credentials {
    /// Identifies who holds a credential.
    type Holder: ?Sized;

    /// Returns `true` if there is any credential.
    fn is_configured(&self) -> bool;

    /// Returns a presented token's holder. Every comparison takes constant time for its length.
    fn authenticate<'a>(&'a self, presented: &'a str) -> Option<&'a Self::Holder>;
}

/// Method that every route behind a gate uses.
const METHOD: &str = "POST";

/// A gate's data for a single route.
pub struct Rules<'a, C: Credentials + ?Sized> {
    order: &'a [Check],
    credentials: &'a C,
    exists: bool,
    permits: &'a dyn Fn(&C::Holder) -> bool,
    max_body_bytes: usize,
}

impl<'a, C: Credentials + ?Sized> Rules<'a, C> {
    /// Returns the rules for an existing POST route that every credential opens, without a body
    /// limit.
    pub fn new(order: &'a [Check], credentials: &'a C) -> Self {
        Self {
            order,
            credentials,
            exists: true,
            permits: &|_| true,
            max_body_bytes: usize::MAX,
        }
    }

    /// Returns the rules for a path without a route.
    #[must_use]
    pub fn without_route(self) -> Self {
        Self {
            exists: false,
            ..self
        }
    }

    /// Returns the rules with a permission that the holder needs.
    #[must_use]
    pub fn with_scope(self, permits: &'a dyn Fn(&C::Holder) -> bool) -> Self {
        Self { permits, ..self }
    }

    /// Returns the rules with a body limit.
    #[must_use]
    pub fn with_limit(self, max_body_bytes: usize) -> Self {
        Self {
            max_body_bytes,
            ..self
        }
    }
}

/// A request that passed every check.
#[derive(Debug, PartialEq, Eq)]
pub struct Admitted<'a, H: ?Sized> {
    /// Who holds the presented credential.
    pub holder: &'a H,
    /// The declared length, where the gate checks it.
    pub length: Option<usize>,
}

/// Runs the checks in their order. An order without [`Check::Credential`] admits no request.
///
/// # Errors
///
/// Returns the first failing check.
pub fn admit<'a, C: Credentials + ?Sized>(
    rules: &Rules<'a, C>,
    head: &Head<'a>,
) -> Result<Admitted<'a, C::Holder>, Rejection> {
    let mut holder = None;
    let mut length = None;
    for check in rules.order {
        match check {
            Check::Route => ensure(rules.exists, Rejection::NotFound)?,
            Check::Method => ensure(head.method == METHOD, Rejection::Method)?,
            Check::Configured => ensure(rules.credentials.is_configured(), Rejection::Disabled)?,
            Check::Credential => {
                let found = head
                    .presented
                    .and_then(|presented| rules.credentials.authenticate(presented));
                holder = Some(found.ok_or(Rejection::Unauthenticated)?);
            }
            Check::Scope => ensure(holder.is_some_and(rules.permits), Rejection::Forbidden)?,
            Check::Length => {
                length = Some(declared_length(head.content_length, rules.max_body_bytes)?);
            }
        }
    }
    let holder = holder.ok_or(Rejection::Unauthenticated)?;
    Ok(Admitted { holder, length })
}

fn ensure(passes: bool, rejection: Rejection) -> Result<(), Rejection> {
    if passes { Ok(()) } else { Err(rejection) }
}

fn declared_length(header: Option<&str>, max_body_bytes: usize) -> Result<usize, Rejection> {
    let digits = header.map(str::trim).unwrap_or_default();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Rejection::LengthRequired);
    }
    // A number that overflows exceeds every limit.
    let length = digits
        .parse()
        .ok()
        .filter(|length| *length <= max_body_bytes);
    length.ok_or(Rejection::TooLarge { max_body_bytes })
}

/// A single secret that opens everything; `None` opens nothing.
impl Credentials for Option<&Secret> {
    type Holder = ();

    fn is_configured(&self) -> bool {
        self.is_some()
    }

    fn authenticate<'a>(&'a self, presented: &'a str) -> Option<&'a ()> {
        self.filter(|secret| secret.matches(presented.as_bytes()))
            .map(|_| &())
    }
}

/// A single secret that opens everything. Both sides are hashed, so that the duration reveals no
/// length.
pub struct Hashed<'s>(pub &'s Secret);

impl Credentials for Hashed<'_> {
    type Holder = ();

    fn is_configured(&self) -> bool {
        true
    }

    fn authenticate<'a>(&'a self, presented: &'a str) -> Option<&'a ()> {
        self.0.matches_digest(presented.as_bytes()).then_some(&())
    }
}

/// Several secrets, each with a holder. An unset secret opens nothing.
pub struct HeldSecrets<H, const N: usize>([(Option<Secret>, H); N]);

impl<H, const N: usize> HeldSecrets<H, N> {
    /// Returns the secrets from configuration values. Of two equal secrets the first counts.
    pub fn parse(values: [(Option<String>, H); N]) -> Self {
        Self(values.map(|(value, holder)| (Secret::parse(value), holder)))
    }
}

impl<H, const N: usize> Credentials for HeldSecrets<H, N> {
    type Holder = H;

    fn is_configured(&self) -> bool {
        self.0.iter().any(|(secret, _)| secret.is_some())
    }

    fn authenticate<'a>(&'a self, presented: &'a str) -> Option<&'a H> {
        let mut found = None;
        // Each is compared, so that the time does not show which matches.
        for (secret, holder) in &self.0 {
            let matches = secret
                .as_ref()
                .is_some_and(|secret| secret.matches(presented.as_bytes()));
            if matches && found.is_none() {
                found = Some(holder);
            }
        }
        found
    }
}

/// A secret and the predecessor. Both open everything, so that senders can change in turn.
#[derive(Clone, Default)]
pub struct RotatingSecret {
    current: Option<Secret>,
    previous: Option<Secret>,
}

impl RotatingSecret {
    /// Returns the secrets from two configuration values. Without a current secret, neither opens
    /// anything.
    pub fn parse(current: Option<String>, previous: Option<String>) -> Self {
        let current = Secret::parse(current);
        let previous = Secret::parse(previous).filter(|_| current.is_some());
        Self { current, previous }
    }
}

impl Credentials for RotatingSecret {
    type Holder = ();

    fn is_configured(&self) -> bool {
        self.current.is_some()
    }

    fn authenticate<'a>(&'a self, presented: &'a str) -> Option<&'a ()> {
        let both = [&self.current, &self.previous].into_iter().flatten();
        // Each is compared, so that the time does not show which matches.
        both.fold(false, |matched, secret| {
            matched | secret.matches(presented.as_bytes())
        })
        .then_some(&())
    }
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
