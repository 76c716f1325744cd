//! The core's configuration, parsed and checked by the composition root.

use std::collections::BTreeMap;

use ars_agent::{
    Budget, Limits,
    context::ContextLimit,
    money::{MoneyCap, PriceTable},
};
use ars_auth::{Grants, Restrictions};
use ars_bot_ports::Repository;
use ars_bot_tools::agents::AgentSpec;
use ars_codehost::review::ReadingDiffSettings;
use ars_settings::Scopes;
use ars_types::{Effort, ModelRef, RepoSlug, RunId};

use crate::load_limits::LoadLimits;

/// The installation's settings.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Agent of a request that names none. `general` when unset.
    pub default_agent: Option<String>,
    /// Model of a request that names none if its agent has no model.
    pub default_model: Option<ModelRef>,
    /// Model used after a long overload of the first one.
    pub fallback_model: Option<ModelRef>,
    /// Model per agent.
    pub models: BTreeMap<String, ModelRef>,
    /// Effort per agent.
    pub efforts: BTreeMap<String, Effort>,
    /// Maximum output tokens of a model call, in place of the agent's own.
    pub max_tokens: Option<u32>,
    /// Settings of channels and users.
    pub scopes: Scopes,
    /// Budget per agent, where it differs from the agent's own.
    pub budgets: BTreeMap<String, Budget>,
    /// Window of a model in tokens, by `provider/model`, where it is not the default.
    pub windows: BTreeMap<String, u64>,
    /// Prices of models.
    pub prices: PriceTable,
    /// Caps of the cost of runs.
    pub money: MoneyCaps,
    /// Repositories a request may name, by slug or short name.
    pub repositories: Vec<Repository>,
    /// Repository of a coding request if neither the request nor its thread has one.
    pub default_repository: Option<String>,
    /// Prefixes of paths and URLs that any request may name directly. The machine's own user may name any.
    pub allowed_origins: Vec<String>,
    /// Agents and repositories closed to all but holders of a grant.
    pub restrictions: Restrictions,
    /// Grants added to actors by id.
    pub grants: BTreeMap<String, Grants>,
    /// Limits of requests and runs.
    pub load: LoadLimits,
    /// Base of run links, without a trailing slash.
    pub public_base_url: Option<String>,
    /// Earlier turns of the thread are published as `context` events.
    pub include_context: bool,
    /// Minimum runs with one cause of friction for a report to show it, in place of the report's default.
    pub report_min_runs: Option<usize>,
    /// Issues about friction.
    pub proposals: ProposalSettings,
    /// Reading diffs of reviews.
    pub reading_diff: ReadingDiffSettings,
}

/// Where issues about friction are filed, and how many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProposalSettings {
    /// The repository of a call that names none.
    pub repository: Option<RepoSlug>,
    /// Label, in place of the default.
    pub label: Option<String>,
    /// Maximum issues of one call, in place of the default.
    pub top: Option<usize>,
}

/// Caps of the cost of runs, in micro-dollars. No cap by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MoneyCaps {
    /// One run.
    pub run: Option<u64>,
    /// All runs of a day (UTC).
    pub day: Option<u64>,
}

/// Default model window: the smallest among current models, except Anthropic's.
const WINDOW_TOKENS: u64 = 128_000;
/// Default model window at Anthropic: the smallest among current models.
const ANTHROPIC_WINDOW_TOKENS: u64 = 200_000;
/// The provider for which that default holds.
const ANTHROPIC: &str = "anthropic";

impl Settings {
    /// Returns the limits of a run of this agent with this model, apart from its budget.
    pub fn limits(&self, agent: &AgentSpec, model: &ModelRef) -> Limits {
        Limits {
            context: Some(ContextLimit::new(
                self.window(model),
                self.max_output_tokens(agent).into(),
            )),
            price: self.prices.of(model),
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

    /// Returns the maximum output tokens of a model call of this agent.
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
    use ars_bot_tools::agents;

    use super::*;

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
