//! The core's configuration, parsed and checked by the composition root.

use std::collections::BTreeMap;

use ars_agent::{
    Budget, Limits,
    context::ContextLimit,
    money::{MoneyCap, PriceTable},
};
use ars_auth::{Actor, Grants, Restrictions, grants::granted, people::People};
use ars_bot_ports::Repository;
use ars_bot_tools::agents::AgentSpec;
use ars_codehost::review::ReadingDiffSettings;
use ars_settings::Scopes;
use ars_types::{Effort, ModelRef, Platform, RepoSlug, RunId};

use crate::limits::load_limits::LoadLimits;

/// The installation's settings.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Agent for requests that name none. `general` when unset.
    pub default_agent: Option<String>,
    /// Model for requests that name none if the agent has no model.
    pub default_model: Option<ModelRef>,
    /// Model used after the first has been overloaded for long.
    pub fallback_model: Option<ModelRef>,
    /// Configured model per agent.
    pub models: BTreeMap<String, ModelRef>,
    /// Configured effort per agent.
    pub efforts: BTreeMap<String, Effort>,
    /// Maximum output tokens per model call, in place of the agent's own.
    pub max_tokens: Option<u32>,
    /// Channel and user settings.
    pub scopes: Scopes,
    /// Budget per agent, where it differs from the agent's own.
    pub budgets: BTreeMap<String, Budget>,
    /// Model windows in tokens, by `provider/model`, where they differ from the default.
    pub windows: BTreeMap<String, u64>,
    /// Price table by model.
    pub prices: PriceTable,
    /// Caps on run cost.
    pub money: MoneyCaps,
    /// Repositories a request may name, by slug or short name.
    pub repositories: Vec<Repository>,
    /// Repository for a coding request if neither the request nor the thread has any.
    pub default_repository: Option<String>,
    /// Path and URL prefixes that any request may name directly. The machine's own user may name
    /// any.
    pub allowed_origins: Vec<String>,
    /// Agents and repositories closed to all without a grant.
    pub restrictions: Restrictions,
    /// Grants added to actors by id.
    pub grants: BTreeMap<String, Grants>,
    /// People with accounts on several surfaces.
    pub people: People,
    /// Request and run limits.
    pub load: LoadLimits,
    /// Base URL for run links, without a trailing slash.
    pub public_base_url: Option<String>,
    /// The thread's earlier turns are published as `context` events.
    pub include_context: bool,
    /// Answers are asked for in blocks, and checked.
    pub structured_output: bool,
    /// Minimum runs with the same friction cause for a report to show it, in place of the report's
    /// default.
    pub report_min_runs: Option<usize>,
    /// Settings for friction issues.
    pub proposals: ProposalSettings,
    /// Settings for reviews' reading diffs.
    pub reading_diff: ReadingDiffSettings,
}

/// Where issues about friction are filed, and how many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProposalSettings {
    /// The repository for a call that names none.
    pub repository: Option<RepoSlug>,
    /// Issue label, in place of the default.
    pub label: Option<String>,
    /// Maximum issues per call, in place of the default.
    pub top: Option<usize>,
}

/// Run cost caps in micro-dollars. No cap by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MoneyCaps {
    /// Cap for each run.
    pub run: Option<u64>,
    /// Cap for a day's runs together (UTC).
    pub day: Option<u64>,
}

/// Default model window: the smallest among current models, except Anthropic's.
const WINDOW_TOKENS: u64 = 128_000;
/// Default model window at Anthropic: the smallest among current models.
const ANTHROPIC_WINDOW_TOKENS: u64 = 200_000;
/// The provider for which that default holds.
const ANTHROPIC: &str = "anthropic";

impl Settings {
    /// Returns an actor with the configured grants, as the person it belongs to.
    #[must_use]
    pub fn identify(&self, actor: &Actor) -> Actor {
        self.people.identify(granted(actor, &self.grants))
    }

    /// Returns the caller that an actor counts as. A person is a single caller, and so is a token's
    /// subject over HTTP and MCP.
    pub fn caller(&self, actor: &str) -> String {
        let main = self.people.main_account(actor);
        match Platform::split(main) {
            Some((platform, name)) => platform.rules().counts_as.unwrap_or(platform).id(name),
            None => main.to_owned(),
        }
    }

    /// Returns the limits for a run with this agent and model, apart from the budget.
    pub fn limits(&self, agent: &AgentSpec, model: &ModelRef) -> Limits {
        Limits {
            context: Some(ContextLimit::new(
                self.window(model),
                self.max_output_tokens(agent).into(),
            )),
            price: self.prices.price(model),
            cap: self.money.run.map(|run_microusd| MoneyCap { run_microusd }),
        }
    }

    /// Returns the tokens that a model's window holds.
    pub fn window(&self, model: &ModelRef) -> u64 {
        let default = if model.provider() == ANTHROPIC {
            ANTHROPIC_WINDOW_TOKENS
        } else {
            WINDOW_TOKENS
        };
        self.windows
            .get(&model.to_string())
            .copied()
            .unwrap_or(default)
    }

    /// Returns the maximum output tokens per model call for this agent.
    pub fn max_output_tokens(&self, agent: &AgentSpec) -> u32 {
        self.max_tokens.unwrap_or(agent.max_output_tokens)
    }

    /// Returns a run's address: below the public base, or the path alone.
    pub fn run_url(&self, run: &RunId) -> String {
        format!(
            "{}/runs/{run}",
            self.public_base_url
                .as_deref()
                .unwrap_or_default()
                .trim_end_matches('/')
        )
    }
}

#[cfg(test)]
mod tests {
    use ars_auth::Set;
    use ars_bot_tools::agents;

    use super::*;

    #[test]
    fn subject_and_person_are_one_caller() {
        let mut settings = Settings::default();
        let caller = |settings: &Settings, account: &str| settings.caller(account);
        assert_eq!(caller(&settings, "mcp:ann"), "http:ann");
        assert_eq!(caller(&settings, "http:ann"), "http:ann");
        for own in ["access:ann", "github:ann", "mcpann"] {
            assert_eq!(caller(&settings, own), own);
        }
        settings.people.add(&["access:ann", "http:ann"]).unwrap();
        for own in ["access:ann", "http:ann", "mcp:ann"] {
            assert_eq!(caller(&settings, own), "access:ann");
        }
        assert_eq!(caller(&settings, "access:bob"), "access:bob");
    }

    #[test]
    fn grants_stay_with_the_account() {
        let mut settings = Settings::default();
        settings.people.add(&["slack:U1", "access:ann"]).unwrap();
        let exec = Grants {
            actions: Set::only(&["repo:exec"]),
            repos: Set::All,
            ..Grants::default()
        };
        settings.grants.insert("slack:U1".to_owned(), exec.clone());
        let known = |id: &str| settings.identify(&Actor::new(id, Grants::default()));
        assert_eq!(known("slack:U1").grants, exec);
        assert_eq!(known("access:ann").grants, Grants::default());
        assert_eq!(known("access:ann").main_account(), "slack:U1");
    }

    #[test]
    fn configured_output_tokens_replace_the_agents_own() {
        let general = agents::find("general").unwrap();
        let own = Settings::default();
        assert_eq!(own.max_output_tokens(general), general.max_output_tokens);
        let configured = Settings {
            max_tokens: Some(900),
            ..Settings::default()
        };
        assert_eq!(configured.max_output_tokens(general), 900);
        let context = configured
            .limits(general, &ModelRef::parse("a/m").unwrap())
            .context
            .unwrap();
        assert_eq!(context.max_output_tokens, 900);
    }
}
