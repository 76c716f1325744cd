//! Minimum length for secrets that open the service to others.
//!
//! On the loopback interface only programs on this machine can guess them. Elsewhere a short secret
//! is found by trying, in spite of the limit on wrong bearers. Not here: other services' secrets,
//! whose length their vendors choose.

use std::net::SocketAddr;

use ars_auth::Secret;
use ars_bot_http::Dashboard;

use crate::{commands::Failure, compose::Plan, config::dashboard::DASHBOARD_TOKEN};

/// Minimum secret length in characters, unless the service listens on loopback only.
pub const MIN_SECRET_CHARS: usize = 20;

/// How to make a secret that is long enough.
pub const MEND: &str = "make one with `openssl rand -hex 32`";

/// Checks the secrets for a service that listens at an address.
///
/// # Errors
/// The variable with the first short secret.
pub fn check(address: SocketAddr, plan: &Plan) -> Result<(), Failure> {
    accept(address, first_short(plan))
}

fn accept(address: SocketAddr, short: Option<String>) -> Result<(), Failure> {
    match short {
        Some(variable) if !address.ip().is_loopback() => Err(Failure::InvalidInput(format!(
            "{variable}: a secret must have at least {MIN_SECRET_CHARS} characters, because {address} is not on the \
             loopback interface; {MEND}"
        ))),
        Some(_) | None => Ok(()),
    }
}

/// Returns the variable with the first short secret.
pub fn first_short(plan: &Plan) -> Option<String> {
    let dashboard = match &plan.dashboard {
        Dashboard::Token { secret, .. } => Some(secret),
        Dashboard::Loopback | Dashboard::Access(_) => None,
    };
    let of_dashboard = plan
        .file
        .dashboard
        .token
        .env
        .as_deref()
        .unwrap_or(DASHBOARD_TOKEN);
    let surfaces = plan.surfaces.secrets();
    let own = dashboard.map(|secret| (of_dashboard, secret));
    let others = surfaces
        .iter()
        .map(|(variable, secret)| (*variable, secret));
    first_short_of(others.chain(own))
}

fn first_short_of<'a>(mut secrets: impl Iterator<Item = (&'a str, &'a Secret)>) -> Option<String> {
    secrets
        .find(|(_, secret)| is_short(secret))
        .map(|(variable, _)| variable.to_owned())
}

fn is_short(secret: &Secret) -> bool {
    secret.expose().chars().count() < MIN_SECRET_CHARS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_secret_serves_loopback_only() {
        let short = "s".repeat(MIN_SECRET_CHARS - 1);
        let long = "s".repeat(MIN_SECRET_CHARS);
        for (address, secret, is_accepted) in [
            ("127.0.0.1:80", &short, true),
            ("[::1]:80", &short, true),
            ("0.0.0.0:80", &short, false),
            ("[::]:80", &short, false),
            ("10.0.0.1:80", &short, false),
            ("0.0.0.0:80", &long, true),
        ] {
            let address = address.parse().unwrap();
            let secret = Secret::parse(Some(secret.clone())).unwrap();
            match accept(address, first_short_of([("A_TOKEN", &secret)].into_iter())) {
                Ok(()) => assert!(is_accepted, "{address}"),
                Err(Failure::InvalidInput(text)) => {
                    assert!(
                        !is_accepted && text.contains("A_TOKEN") && !text.contains("sss"),
                        "{text}"
                    );
                }
                Err(_) => panic!("{address}"),
            }
        }
    }

    #[test]
    fn first_short_secret_names_its_variable() {
        let secret = |length| Secret::parse(Some("é".repeat(length))).unwrap();
        let (short, long) = (secret(MIN_SECRET_CHARS - 1), secret(MIN_SECRET_CHARS));
        let found = |secrets: &[(&str, &Secret)]| {
            first_short_of(secrets.iter().map(|&(name, secret)| (name, secret)))
        };
        assert_eq!(
            found(&[("A", &long), ("B", &short), ("C", &short)]).as_deref(),
            Some("B")
        );
        assert_eq!(found(&[("A", &long)]), None);
    }
}
