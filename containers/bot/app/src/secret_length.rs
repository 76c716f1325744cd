//! The minimum length of the secrets that open the service to others.
//!
//! On the loopback interface only programs of this machine can guess them. Elsewhere a short one is found by trying, in
//! spite of the limit of wrong bearers. Not here: secrets of other services, whose length their vendors choose.

use std::net::SocketAddr;

use ars_auth::Secret;
use ars_bot_http::Dashboard;

use crate::{
    commands::Failure,
    compose::Plan,
    config::dashboard::DASHBOARD_TOKEN,
    environment::{self, name},
};

/// Minimum characters of a secret, unless the service listens on loopback only.
const MIN_SECRET_CHARS: usize = 20;

/// Checks the secrets of a service that listens at an address.
///
/// # Errors
/// The variable with the first short secret.
pub fn check<'a>(
    address: SocketAddr,
    tokens: impl Iterator<Item = &'a Secret>,
    plan: &Plan,
) -> Result<(), Failure> {
    let dashboard = match &plan.dashboard {
        Dashboard::Token { secret, .. } => Some(secret),
        Dashboard::Loopback | Dashboard::Access(_) => None,
    };
    let of_dashboard = plan.file.dashboard.token.env.as_deref().unwrap_or(DASHBOARD_TOKEN);
    let webhooks = Secret::parse(environment::variable(name::GITHUB_WEBHOOK_SECRET));
    let tokens = tokens.map(|token| (name::INGRESS_TOKENS, token));
    let others = [(of_dashboard, dashboard), (name::GITHUB_WEBHOOK_SECRET, webhooks.as_ref())];
    let others = others.into_iter().filter_map(|(name, secret)| Some((name, secret?)));
    check_each(address, tokens.chain(others))
}

fn check_each<'a>(
    address: SocketAddr,
    mut secrets: impl Iterator<Item = (&'a str, &'a Secret)>,
) -> Result<(), Failure> {
    let is_short = |secret: &Secret| secret.expose().chars().count() < MIN_SECRET_CHARS;
    match secrets.find(|(_, secret)| !address.ip().is_loopback() && is_short(secret)) {
        None => Ok(()),
        Some((variable, _)) => Err(Failure::InvalidInput(format!(
            "{variable}: a secret must have at least {MIN_SECRET_CHARS} characters, because {address} is not on the \
             loopback interface; make one with `openssl rand -hex 32`"
        ))),
    }
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
            match check_each(address, [("A_TOKEN", &secret)].into_iter()) {
                Ok(()) => assert!(is_accepted, "{address}"),
                Err(Failure::InvalidInput(text)) => {
                    assert!(!is_accepted && text.contains("A_TOKEN") && !text.contains("sss"), "{text}");
                }
                Err(_) => panic!("{address}"),
            }
        }
    }
}
