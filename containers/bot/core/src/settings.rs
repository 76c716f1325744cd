//! The configuration the core works by, already parsed and checked by the composition root.

use std::collections::BTreeMap;

use ars_agent::{
    Budget, Limits,
    context::ContextLimit,
    money::{MoneyCap, PriceTable},
};
use ars_auth::{Grants, Restrictions};
use ars_bot_ports::Repository;
use ars_bot_tools::agents::AgentSpec;
use ars_settings::Scopes;
use ars_types::{Effort, ModelRef, RunId};

/// What the core needs to know of the installation.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Agent of a request that names none; `general` when unset.
    pub default_agent: Option<String>,
    /// Model of a request that names none and whose agent has no model of its own.
    pub default_model: Option<ModelRef>,
    /// Model asked instead of one that is overloaded for long.
    pub fallback_model: Option<ModelRef>,
    /// Model per agent.
    pub models: BTreeMap<String, ModelRef>,
    /// Effort per agent.
    pub efforts: BTreeMap<String, Effort>,
    /// What the configuration says of single channels and users, and of all.
    pub scopes: Scopes,
    /// Budget per agent, where it differs from the agent's own.
    pub budgets: BTreeMap<String, Budget>,
    /// Window of a model in tokens, by `provider/model`, where it differs from [`WINDOW_TOKENS`].
    pub windows: BTreeMap<String, u64>,
    /// What models take.
    pub prices: PriceTable,
    /// What runs may cost.
    pub money: MoneyCaps,
    /// Repositories a request may name, by slug or short name.
    pub repositories: Vec<Repository>,
    /// Repository of a coding request that names none and whose thread has none.
    pub default_repository: Option<String>,
    /// Prefixes of paths and URLs that any request may name directly; the machine's own user may name any.
    pub allowed_origins: Vec<String>,
    /// Agents and repositories closed to all but holders of a grant.
    pub restrictions: Restrictions,
    /// Grants added to actors by id.
    pub grants: BTreeMap<String, Grants>,
    /// Base of run links, without a trailing slash.
    pub public_base_url: Option<String>,
    /// Earlier turns of the thread are published as `context` events.
    pub include_context: bool,
}

/// What runs may cost, in micro-dollars. Nothing is capped by default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MoneyCaps {
    /// One run.
    pub run: Option<u64>,
    /// All runs of a day (UTC).
    pub day: Option<u64>,
}

/// Window assumed of a model whose own is not configured: the smallest of the current models of both vendors.
pub const WINDOW_TOKENS: u64 = 128_000;

impl Settings {
    /// What bounds a run of this agent with this model, beside its budget.
    pub fn limits(&self, agent: &AgentSpec, model: &ModelRef) -> Limits {
        let window = self.windows.get(&model.to_string()).copied().unwrap_or(WINDOW_TOKENS);
        Limits {
            context: Some(ContextLimit::new(window, agent.max_output_tokens.into())),
            price: self.prices.of(model),
            cap: self.money.run.map(|run_microusd| MoneyCap { run_microusd }),
        }
    }

    /// A run's address: below the public base, or the path alone.
    pub fn run_url(&self, run: &RunId) -> String {
        format!("{}/runs/{run}", self.public_base_url.as_deref().unwrap_or_default().trim_end_matches('/'))
    }
}
