//! A client's checks: a service address, and what it permits the token in `ARS_TOKEN`.

use crate::{
    commands::{Failure, registry::Server},
    finding::Finding,
};

/// How to fix a token that neither route accepts.
const SET_TOKEN: &str = "set ARS_TOKEN to a token of SERVICE_INGRESS_TOKENS (for `ars ask --server`), or to \
                         the secret of its run pages, DASHBOARD_TOKEN (for commands with `--server`)";
/// How to fix a token without the ingress.
const INGRESS_TOKEN: &str = "`ars ask --server` needs a token of the service's SERVICE_INGRESS_TOKENS with the scope \
                             dispatch; commands with `--server` work";
/// How to fix a token without the command routes.
const VIEWER_TOKEN: &str = "commands with `--server` and the live steps of `ars ask --server` need the secret of the \
                            service's run pages, DASHBOARD_TOKEN; requests work";

/// Asks the service and returns the findings.
pub(super) async fn checks(url: &str) -> Result<Vec<Finding>, Failure> {
    let server = Server::at(url)?;
    if let Err(failure) = server.is_there().await {
        let mend =
            "check the address and the network; `ars serve` prints its address as `listening`";
        return Ok(vec![Finding::failure("service", failure.message(), mend)]);
    }
    let mut findings = vec![Finding::ok("service", format!("answers at {url}"))];
    let (ingress, api) = (
        server.accepts_requests().await,
        server.accepts_commands().await,
    );
    let has_one = ingress.is_ok() || api.is_ok();
    for (check, accepted, about, mend) in [
        (
            "ingress",
            ingress,
            "/ingress accepts requests with this token",
            INGRESS_TOKEN,
        ),
        (
            "api",
            api,
            "/api accepts commands with this token",
            VIEWER_TOKEN,
        ),
    ] {
        findings.push(match accepted {
            Ok(()) => Finding::ok(check, about),
            Err(failure) if has_one => Finding::warning(check, failure.message(), mend),
            Err(failure) => Finding::failure(check, failure.message(), SET_TOKEN),
        });
    }
    Ok(findings)
}
