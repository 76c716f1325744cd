//! Doctor's checks: both tokens, and every scope that the surface needs.

use ars_bot_slack::{
    SlackSettings,
    api::{Account, Api, ApiError},
};
use ars_slack::manifest::BOT_SCOPES;

use crate::{environment::name, finding::Finding};

const CHECK: &str = "slack";

/// Checks the tokens with the platform.
pub(super) async fn check(settings: &SlackSettings, warning: Option<String>) -> Vec<Finding> {
    let (base, bot, app) = (&settings.base, &settings.bot_token, &settings.app_token);
    let Ok(api) = Api::new(base.clone(), bot.clone(), app.clone()) else {
        return vec![Finding::failure(
            CHECK,
            "the TLS roots of this machine cannot be read",
            "install ca-certificates, or set SSL_CERT_FILE",
        )];
    };
    let mut findings = match api.account().await {
        Ok(account) => of_account(&account),
        Err(error) => vec![of_error(name::SLACK_BOT_TOKEN, &error)],
    };
    if let Err(error) = api.open_connection().await {
        findings.push(of_error(name::SLACK_APP_TOKEN, &error));
    }
    findings.extend(warning.map(|warning| {
        Finding::warning(
            CHECK,
            warning,
            "set slack.catchUp.windowMinutes to 20 or more",
        )
    }));
    findings
}

/// Names each missing scope on a line of its own.
fn of_account(account: &Account) -> Vec<Finding> {
    let is_missing = |scope: &&&str| {
        !account.scopes.is_empty() && !account.scopes.iter().any(|one| one == **scope)
    };
    let missing = BOT_SCOPES.iter().filter(is_missing).map(|scope| {
        Finding::failure(
            CHECK,
            format!("the bot token lacks the scope {scope}"),
            "add it to the app (docs/guide/slack.md), and install the app again",
        )
    });
    let mut findings: Vec<_> = missing.collect();
    if findings.is_empty() {
        findings.push(Finding::ok(
            CHECK,
            format!("connected as {}", account.bot.user_id),
        ));
    }
    findings
}

fn of_error(variable: &str, error: &ApiError) -> Finding {
    let mend = match error.is_revoked() {
        true => format!("set {variable} to a valid token (docs/guide/slack.md)"),
        false => format!("check {variable}, and that this machine reaches Slack"),
    };
    Finding::failure(CHECK, format!("{variable}: {error}"), mend)
}

#[cfg(test)]
mod tests {
    use ars_slack::event::Bot;

    use super::*;

    #[test]
    fn every_missing_scope_has_its_own_line() {
        let account = |scopes: &[&str]| Account {
            team: "T1".into(),
            enterprise: None,
            url: "https://a/".into(),
            bot: Bot {
                user_id: "U1".into(),
                bot_id: "B1".into(),
            },
            scopes: scopes.iter().map(|scope| (*scope).to_owned()).collect(),
        };
        assert_eq!(of_account(&account(&BOT_SCOPES[2..])).len(), 2);
        assert_eq!(of_account(&account(BOT_SCOPES)), of_account(&account(&[])));
    }
}
