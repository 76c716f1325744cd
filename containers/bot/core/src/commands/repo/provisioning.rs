//! The second reply after a resident began to be provisioned.

use std::time::Duration;

use ars_bot_ports::ResidentsError;
use ars_commands::Settle;
use ars_resident::{
    lifecycle::StateWord,
    refusal::Token,
    wire::{StatusRequest, StatusResponse},
};
use ars_types::RepoSlug;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    super::{call::Call, error::CommandError, settle::Settled},
    subject::{failed, residents, resource},
};

/// Polling interval.
const SETTLE_INTERVAL: Duration = Duration::from_secs(10);
/// Time after which the polls end.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(12 * 60);
/// How provisioning is polled.
pub(super) const SETTLE: Settle = Settle {
    every: SETTLE_INTERVAL,
    within: SETTLE_TIMEOUT,
};
/// Provisioning steps that run a command from the command table.
const TABLE_STEPS: [&str; 3] = ["install", "build", "test"];

/// Returns the second reply if provisioning has ended. A dry run has none.
pub(super) async fn settled(call: Call<'_>, output: &Value) -> Result<Settled, CommandError> {
    let Some(slug) = slug(output) else {
        return Ok(Settled::Silent);
    };
    let request = StatusRequest {
        resource: resource(&slug)?,
    };
    match residents(&call)?
        .status(&request, &CancellationToken::new())
        .await
    {
        Ok(status) => Ok(reply(&slug, &status)),
        Err(ResidentsError::Refused(refusal)) if refusal.token() == Token::NotOnboarded => {
            let text = format!(
                "`{slug}` has no resident any more: it was removed, or provisioning took too long."
            );
            Ok(Settled::Reply(text))
        }
        Err(error) => Err(failed(error)),
    }
}

/// Returns the second reply if provisioning does not end in time.
pub(super) fn late(output: &Value) -> Option<String> {
    let slug = slug(output)?;
    let minutes = SETTLE_TIMEOUT.as_secs() / 60;
    Some(format!(
        "`{slug}` is not ready after {minutes} minutes. See its state with `repo list`."
    ))
}

fn slug(output: &Value) -> Option<RepoSlug> {
    if output["dryRun"] == true {
        return None;
    }
    RepoSlug::parse(output["slug"].as_str()?).ok()
}

fn reply(slug: &RepoSlug, status: &StatusResponse) -> Settled {
    if status.is_serviceable() {
        return Settled::Reply(format!(
            "`{slug}` is ready: runs on it start in a warm environment."
        ));
    }
    match status.state {
        StateWord::Onboarding | StateWord::Restoring | StateWord::Warm | StateWord::Refreshing => {
            Settled::Pending
        }
        StateWord::Degraded | StateWord::Down => {
            let reason = status
                .reason
                .as_deref()
                .unwrap_or("no reason is known")
                .replace(['\n', '\r'], " ");
            Settled::Reply(format!(
                "`{slug}` is {}: {reason}\n{}",
                status.state.as_str(),
                hint(slug, &reason)
            ))
        }
    }
}

/// Returns what to do next.
fn hint(slug: &RepoSlug, reason: &str) -> String {
    let token = reason.split_once(':').map_or(reason, |(token, _)| token);
    let is_of_table = TABLE_STEPS.iter().any(|step| {
        token == format!("provision-failed at {step}") || token == format!("{step}-failed")
    });
    match is_of_table {
        true => format!(
            "Change its commands with `repo reconfigure {slug} --install … --build … --test …`, then `repo rebuild {slug}`."
        ),
        false => format!("Try again with `repo rebuild {slug}`."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled(state: StateWord, reason: Option<&str>) -> Settled {
        let slug = RepoSlug::parse("acme/app").unwrap();
        reply(
            &slug,
            &StatusResponse {
                state,
                reason: reason.map(str::to_owned),
            },
        )
    }

    #[test]
    fn only_a_failed_table_command_hints_at_the_table() {
        assert_eq!(settled(StateWord::Onboarding, None), Settled::Pending);
        assert!(
            matches!(settled(StateWord::Warm, None), Settled::Reply(text) if text.contains("is ready"))
        );
        let text = |reason: &str| match settled(StateWord::Down, Some(reason)) {
            Settled::Reply(text) => text,
            other => format!("{other:?}"),
        };
        let install = text("provision-failed at install: exit 1\nmore");
        assert!(
            install.contains("repo reconfigure acme/app") && install.lines().count() == 2,
            "{install}"
        );
        let clone = text("provision-failed at clone: exit 128");
        assert!(
            !clone.contains("reconfigure") && clone.contains("repo rebuild acme/app"),
            "{clone}"
        );
    }
}
