//! What a run is to do, and with what.

use std::sync::Arc;

use ars_agent::{Budget, Limits};
use ars_types::{Effort, ModelRef};

use super::toolbox::Toolbox;
use crate::{
    agents::AgentSpec,
    ports::{ModelClient, Skills, Web, Workspace},
    review::VerdictSlot,
    service::Deps,
};

/// What a run is to do, and with what.
pub struct Assignment {
    /// The agent.
    pub agent: &'static AgentSpec,
    /// What the run may spend.
    pub budget: Budget,
    /// What else bounds it.
    pub limits: Limits,
    /// The model's name.
    pub model: ModelRef,
    /// The model.
    pub client: Arc<dyn ModelClient>,
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
}

impl Assignment {
    /// What an agent gets of the installation; without a prompt and a workspace yet.
    pub fn of(
        deps: &Deps,
        agent: &'static AgentSpec,
        model: ModelRef,
        client: Arc<dyn ModelClient>,
        effort: Option<Effort>,
    ) -> Self {
        let settings = &deps.settings;
        Self {
            agent,
            budget: settings.budgets.get(agent.name).copied().unwrap_or(agent.budget),
            limits: settings.limits(agent, &model),
            model,
            client,
            effort,
            system: String::new(),
            tools: Toolbox::new(agent.toolset.tools()),
            workspace: None,
            web: deps.capabilities.web.clone(),
            skills: deps.capabilities.skills.clone(),
            verdict: agent.gives_verdict().then(VerdictSlot::default),
        }
    }
}
