//! A run's agent, with model, tools and limits.

use std::sync::Arc;

use ars_agent::{Budget, Limits, money::Price};
use ars_bot_ports::{
    CodeHost, CodeHostError, ModelClient, Refusal, RunStore, Skills, Web, Workspace,
    code_host::PullRequestFacts,
};
use ars_bot_tools::{
    CodeHostAccess, DescriptionSlot, ReadRepositories, RepositoryGate, agents::AgentSpec,
    exposed_source, review::VerdictSlot,
};
use ars_codehost::pull_request::KnownCommands;
use ars_types::{Effort, ModelRef, RepoSlug};

use super::{evidence::EvidenceLog, toolbox::Toolbox, work::Work};
use crate::{context::Deps, day_spend::Hold, history::own_pulls};

/// A run's agent, with model, tools and limits.
pub struct Assignment {
    /// The agent to run.
    pub agent: &'static AgentSpec,
    /// Turn and time budget.
    pub budget: Budget,
    /// All limits besides the budget.
    pub limits: Limits,
    /// The run's own model.
    pub model: BoundModel,
    /// Model to use when the first stays overloaded.
    pub fallback: Option<BoundModel>,
    /// The limits on the fallback.
    pub fallback_limits: Limits,
    /// Maximum output tokens per model call.
    pub max_tokens: u32,
    /// Effort for the model, if set.
    pub effort: Option<Effort>,
    /// The tools it may call.
    pub tools: Toolbox,
    /// Access to the public web.
    pub web: Option<Arc<dyn Web>>,
    /// The code host with the requester's gate.
    pub code_host: Option<RunCodeHost>,
    /// Skills from the installation.
    pub skills: Option<Arc<dyn Skills>>,
    /// Reserved part of the day's budget, where a day is capped.
    pub(crate) hold: Option<Hold>,
}

/// A run's code host, with the requester's gate.
#[derive(Clone)]
pub struct RunCodeHost {
    /// The code host itself.
    pub host: Arc<dyn CodeHost>,
    /// The requester's repository gate.
    pub gate: Arc<dyn RepositoryGate>,
    /// The repositories that the run read.
    pub read: Arc<ReadRepositories>,
    /// Run records, which know their pull requests.
    pub store: Arc<dyn RunStore>,
}

impl RunCodeHost {
    /// Returns it for tools.
    pub fn access(&self) -> CodeHostAccess<'_> {
        CodeHostAccess {
            host: &*self.host,
            gate: &*self.gate,
            read: &self.read,
        }
    }

    /// Returns whether a pull request is the service's own. It is not, if the run's record cannot
    /// be read.
    pub(crate) async fn is_own(&self, facts: &PullRequestFacts) -> bool {
        let place = (&facts.pull_request.repository, facts.pull_request.number);
        let branch = &facts.pull_request.head_branch;
        own_pulls::is_own(&*self.store, place, branch, facts.is_own)
            .await
            .unwrap_or(false)
    }

    /// Returns why the run's text may not be written to a repository, if it may not.
    ///
    /// # Errors
    /// The host does not answer.
    pub(crate) async fn withheld_from(
        &self,
        target: &RepoSlug,
    ) -> Result<Option<String>, CodeHostError> {
        let exposed = exposed_source(&*self.host, self.read.all(), target).await?;
        Ok(exposed.map(|source| {
            format!("everyone reads {target}, and this run has text of {source}, which is private")
        }))
    }

    /// Returns a working tree's repository, if the host has it.
    pub fn repository_of(&self, workspace: &dyn Workspace) -> Option<RepoSlug> {
        self.host.host().repository_of(workspace.origin()?)
    }

    /// Checks whether the requester may read a repository, and counts it as read. Precedes every
    /// host call.
    ///
    /// # Errors
    /// Returns [`Refusal::RepositoryForbidden`] if not.
    pub fn check_read(&self, repository: &RepoSlug) -> Result<(), Refusal> {
        self.gate
            .read(repository)
            .map_err(|_| Refusal::RepositoryForbidden)?;
        self.read.add(repository.clone());
        Ok(())
    }
}

/// A model and the client for it.
#[derive(Clone)]
pub struct BoundModel {
    /// Name of the model.
    pub name: ModelRef,
    /// Client that calls the model.
    pub client: Arc<dyn ModelClient>,
}

impl Assignment {
    /// Limits the run by the reserved part of the day's budget.
    pub(crate) fn limit_to(&mut self, hold: Option<Hold>) {
        self.limits.cap = hold.as_ref().map(Hold::cap).or(self.limits.cap);
        self.hold = hold;
    }

    /// Returns the work of a run with this assignment, as it is before the tree is open.
    pub fn new_work(&self) -> Work {
        let abilities = self.agent.abilities;
        if abilities.gives_verdict {
            Work::Review {
                verdict: VerdictSlot::default(),
                target: None,
            }
        } else if abilities.changes_code && self.code_host.is_some() {
            Work::Change {
                description: DescriptionSlot::default(),
                evidence: EvidenceLog::default(),
                commands: KnownCommands::default(),
                base: None,
                named: None,
            }
        } else {
            Work::Answer
        }
    }

    /// Returns the price for a model in this run.
    pub fn price_of(&self, model: &ModelRef) -> Option<Price> {
        if *model == self.model.name {
            self.limits.price
        } else {
            self.fallback_limits.price
        }
    }

    /// Creates an agent's assignment.
    pub fn new(
        deps: &Deps,
        agent: &'static AgentSpec,
        model: BoundModel,
        effort: Option<Effort>,
        code_host: Option<RunCodeHost>,
    ) -> Self {
        let settings = &deps.settings;
        let fallback = fallback(deps, &model.name);
        Self {
            agent,
            budget: settings
                .budgets
                .get(agent.name)
                .copied()
                .unwrap_or(agent.budget),
            limits: settings.limits(agent, &model.name),
            fallback_limits: fallback
                .as_ref()
                .map(|other| settings.limits(agent, &other.name))
                .unwrap_or_default(),
            fallback,
            model,
            max_tokens: settings.max_output_tokens(agent),
            effort,
            tools: Toolbox::new(agent.tools(
                deps.capabilities.skills.as_deref(),
                code_host.as_ref().map(|one| &*one.host),
            )),
            web: deps.capabilities.web.clone(),
            code_host,
            skills: deps.capabilities.skills.clone(),
            hold: None,
        }
    }
}

/// Returns the configured fallback, unless it is the first model.
fn fallback(deps: &Deps, model: &ModelRef) -> Option<BoundModel> {
    let name = deps
        .settings
        .fallback_model
        .as_ref()
        .filter(|name| *name != model)?;
    match deps.models.client(name) {
        Ok(client) => Some(BoundModel {
            name: name.clone(),
            client,
        }),
        Err(error) => {
            tracing::warn!(model = %name, error = %error, "the fallback model cannot be asked");
            None
        }
    }
}
