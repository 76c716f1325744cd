//! What a run is to do, and with what.

use std::sync::Arc;

use ars_agent::{
    Budget, Limits, ToolSpec,
    context::{ContextLimit, estimate_text},
    money::Price,
};
use ars_bot_ports::{ModelClient, Skills, Web, Workspace};
use ars_bot_tools::{agents::AgentSpec, review::VerdictSlot};
use ars_types::{Effort, ModelRef};

use super::toolbox::Toolbox;
use crate::{context::Deps, day_spend::Hold};

/// What a run is to do, and with what.
pub struct Assignment {
    /// The agent.
    pub agent: &'static AgentSpec,
    /// What the run may spend.
    pub budget: Budget,
    /// What else bounds it.
    pub limits: Limits,
    /// The model.
    pub model: Voice,
    /// The model asked instead when the first one is overloaded for long.
    pub fallback: Option<Voice>,
    /// What bounds the run on that one.
    pub fallback_limits: Limits,
    /// How hard it thinks.
    pub effort: Option<Effort>,
    /// The system prompt.
    pub system: String,
    /// The tools it may call.
    pub tools: Toolbox,
    /// Where they act.
    pub workspace: Option<Arc<dyn Workspace>>,
    /// The public web.
    pub web: Option<Arc<dyn Web>>,
    /// The installation's skills.
    pub skills: Option<Arc<dyn Skills>>,
    /// Where a review's verdict goes.
    pub verdict: Option<VerdictSlot>,
    /// What it holds of the day's money, where a day is capped.
    pub(crate) hold: Option<Hold>,
}

/// A model, and who asks it.
#[derive(Clone)]
pub struct Voice {
    /// Its name.
    pub name: ModelRef,
    /// Its client.
    pub client: Arc<dyn ModelClient>,
}

impl Assignment {
    /// The bounds of the run on its own model, its prompt and tools counted in.
    pub fn full_limits(&self) -> Limits {
        self.with_fixed_tokens(self.limits)
    }

    /// The same on the fallback.
    pub fn full_fallback_limits(&self) -> Limits {
        self.with_fixed_tokens(self.fallback_limits)
    }

    fn with_fixed_tokens(&self, limits: Limits) -> Limits {
        let tools: u64 = self.tools.specs().iter().map(tokens_of).sum();
        let fixed_tokens = estimate_text(&self.system) + tools;
        let context = limits.context.map(|limit| ContextLimit { fixed_tokens, ..limit });
        Limits { context, ..limits }
    }

    /// Bounds the run by what it holds of the day's money.
    pub(crate) fn limit_to(&mut self, hold: Option<Hold>) {
        self.limits.cap = hold.as_ref().map(Hold::cap).or(self.limits.cap);
        self.hold = hold;
    }

    /// What a model of the run takes.
    pub fn price_of(&self, model: &ModelRef) -> Option<Price> {
        if *model == self.model.name { self.limits.price } else { self.fallback_limits.price }
    }

    /// What an agent gets of the installation; without a prompt and a workspace yet.
    pub fn of(deps: &Deps, agent: &'static AgentSpec, model: Voice, effort: Option<Effort>) -> Self {
        let settings = &deps.settings;
        let fallback = fallback(deps, &model.name);
        Self {
            agent,
            budget: settings.budgets.get(agent.name).copied().unwrap_or(agent.budget),
            limits: settings.limits(agent, &model.name),
            fallback_limits: fallback
                .as_ref()
                .map(|other| settings.limits(agent, &other.name))
                .unwrap_or_default(),
            fallback,
            model,
            effort,
            system: String::new(),
            tools: Toolbox::new(agent.tools(deps.capabilities.skills.as_deref())),
            workspace: None,
            web: deps.capabilities.web.clone(),
            skills: deps.capabilities.skills.clone(),
            verdict: agent.gives_verdict().then(VerdictSlot::default),
            hold: None,
        }
    }
}

/// The configured second model, unless it is the first one.
fn fallback(deps: &Deps, model: &ModelRef) -> Option<Voice> {
    let name = deps.settings.fallback_model.as_ref().filter(|name| *name != model)?;
    match deps.models.client(name) {
        Ok(client) => Some(Voice { name: name.clone(), client }),
        Err(error) => {
            tracing::warn!(model = %name, error = %error, "the fallback model cannot be asked");
            None
        }
    }
}

fn tokens_of(spec: &ToolSpec) -> u64 {
    estimate_text(&spec.name)
        + estimate_text(&spec.description)
        + estimate_text(&spec.input_schema.to_string())
}

#[cfg(test)]
mod tests {
    use ars_agent::ModelTurn;
    use async_trait::async_trait;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use ars_bot_ports::{ModelDelta, ModelError, ModelRequest};
    use ars_bot_tools::agents;

    struct Silent;

    #[async_trait]
    impl ModelClient for Silent {
        async fn turn(
            &self,
            _: ModelRequest<'_>,
            _: &(dyn Fn(ModelDelta) + Send + Sync),
            _: &CancellationToken,
        ) -> Result<ModelTurn, ModelError> {
            unreachable!("nobody asks it")
        }
    }

    fn voice(name: &str) -> Voice {
        Voice { name: ModelRef::parse(name).unwrap(), client: Arc::new(Silent) }
    }

    fn limits(window: u64, price: u64) -> Limits {
        let price = Price { input: price, output: price, cache_read: price, cache_write: price };
        Limits { context: Some(ContextLimit::new(window, 1_000)), price: Some(price), cap: None }
    }

    #[test]
    fn each_model_is_bound_by_its_own_window_and_price_with_the_prompt_and_the_tools_counted_in() {
        let agent = agents::find("general").unwrap();
        let system = "s".repeat(4_000);
        let assignment = Assignment {
            agent,
            budget: agent.budget,
            limits: limits(200_000, 3),
            model: voice("a/first"),
            fallback: Some(voice("b/second")),
            fallback_limits: limits(50_000, 7),
            effort: None,
            system: system.clone(),
            tools: Toolbox::new(agent.tools(None)),
            workspace: None,
            web: None,
            skills: None,
            verdict: None,
            hold: None,
        };
        let tools: u64 = assignment.tools.specs().iter().map(tokens_of).sum();
        assert!(tools > 0);
        for (full, own) in [
            (assignment.full_limits(), assignment.limits),
            (assignment.full_fallback_limits(), assignment.fallback_limits),
        ] {
            let fixed_tokens = estimate_text(&system) + tools;
            let context = own.context.map(|limit| ContextLimit { fixed_tokens, ..limit });
            assert_eq!(full, Limits { context, ..own });
        }
        let price = |name| assignment.price_of(&ModelRef::parse(name).unwrap()).map(|price| price.input);
        assert_eq!((price("a/first"), price("b/second")), (Some(3), Some(7)));
    }
}
