//! A run's task, with model, tools and limits.

use std::sync::Arc;

use ars_agent::{
    Budget, Limits, ToolSpec,
    context::{ContextLimit, estimate_text},
    money::Price,
};
use ars_bot_ports::{
    CodeHost, CodeHostError, ModelClient, Refusal, RunStore, Skills, Web, Workspace,
    code_host::PullRequestFacts,
};
use ars_bot_tools::{
    CodeHostAccess, DescriptionSlot, ReadRepositories, RepositoryGate, agents::AgentSpec,
    exposed_source, review::VerdictSlot,
};
use ars_codehost::pull_request::KnownCommands;
use ars_types::{Effort, ModelRef, RefName, RepoSlug};

use super::{
    evidence::EvidenceLog, named_pull::NamedPullRequest, review_target::ReviewTarget,
    toolbox::Toolbox,
};
use crate::{context::Deps, day_spend::Hold, history::own_pulls};

/// A run's task, with model, tools and limits.
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
    /// System prompt for the model.
    pub system: String,
    /// The tools it may call.
    pub tools: Toolbox,
    /// The thread's working tree.
    pub workspace: Option<Arc<dyn Workspace>>,
    /// Access to the public web.
    pub web: Option<Arc<dyn Web>>,
    /// The code host with the requester's gate.
    pub code_host: Option<RunCodeHost>,
    /// Skills from the installation.
    pub skills: Option<Arc<dyn Skills>>,
    /// Receives a review's verdict.
    pub verdict: Option<VerdictSlot>,
    /// Receives a pull request's description.
    pub description: Option<DescriptionSlot>,
    /// Receives a pull request's evidence.
    pub evidence: Option<EvidenceLog>,
    /// The test and build commands from the repository's table.
    pub commands: KnownCommands,
    /// The ref that a change started from, if the request named it.
    pub base: Option<RefName>,
    /// The pull request that a coding run's request names.
    pub named: Option<NamedPullRequest>,
    /// The pull request under review.
    pub review: Option<ReviewTarget>,
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
    /// Returns the limits on the run's own model, including prompt and tools.
    pub fn full_limits(&self) -> Limits {
        self.with_fixed_tokens(self.limits)
    }

    /// The limits on the fallback, including the prompt and tools.
    pub fn full_fallback_limits(&self) -> Limits {
        self.with_fixed_tokens(self.fallback_limits)
    }

    fn with_fixed_tokens(&self, limits: Limits) -> Limits {
        let tools: u64 = self.tools.specs().iter().map(tokens_of).sum();
        let fixed_tokens = estimate_text(&self.system) + tools;
        let context = limits.context.map(|limit| ContextLimit {
            fixed_tokens,
            ..limit
        });
        Limits { context, ..limits }
    }

    /// Limits the run by the reserved part of the day's budget.
    pub(crate) fn limit_to(&mut self, hold: Option<Hold>) {
        self.limits.cap = hold.as_ref().map(Hold::cap).or(self.limits.cap);
        self.hold = hold;
    }

    /// Returns the price for a model in this run.
    pub fn price_of(&self, model: &ModelRef) -> Option<Price> {
        if *model == self.model.name {
            self.limits.price
        } else {
            self.fallback_limits.price
        }
    }

    /// Creates an agent's assignment, still without a prompt and a workspace.
    pub fn new(
        deps: &Deps,
        agent: &'static AgentSpec,
        model: BoundModel,
        effort: Option<Effort>,
        code_host: Option<RunCodeHost>,
    ) -> Self {
        let settings = &deps.settings;
        let opens_pull_request = agent.changes_code() && code_host.is_some();
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
            system: String::new(),
            tools: Toolbox::new(agent.tools(
                deps.capabilities.skills.as_deref(),
                code_host.as_ref().map(|one| &*one.host),
            )),
            workspace: None,
            web: deps.capabilities.web.clone(),
            code_host,
            skills: deps.capabilities.skills.clone(),
            verdict: agent.gives_verdict().then(VerdictSlot::default),
            description: opens_pull_request.then(DescriptionSlot::default),
            evidence: opens_pull_request.then(EvidenceLog::default),
            commands: KnownCommands::default(),
            base: None,
            named: None,
            review: None,
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

    fn bound_model(name: &str) -> BoundModel {
        BoundModel {
            name: ModelRef::parse(name).unwrap(),
            client: Arc::new(Silent),
        }
    }

    fn limits(window: u64, price: u64) -> Limits {
        let price = Price {
            input: price,
            output: price,
            cache_read: price,
            cache_write: price,
        };
        Limits {
            context: Some(ContextLimit::new(window, 1_000)),
            price: Some(price),
            cap: None,
        }
    }

    #[test]
    fn each_model_has_its_own_window_and_price() {
        let agent = agents::find("general").unwrap();
        let system = "s".repeat(4_000);
        let assignment = Assignment {
            agent,
            budget: agent.budget,
            limits: limits(200_000, 3),
            model: bound_model("a/first"),
            fallback: Some(bound_model("b/second")),
            fallback_limits: limits(50_000, 7),
            max_tokens: agent.max_output_tokens,
            effort: None,
            system: system.clone(),
            tools: Toolbox::new(agent.tools(None, None)),
            workspace: None,
            web: None,
            code_host: None,
            skills: None,
            verdict: None,
            description: None,
            evidence: None,
            commands: KnownCommands::default(),
            base: None,
            named: None,
            review: None,
            hold: None,
        };
        let tools: u64 = assignment.tools.specs().iter().map(tokens_of).sum();
        assert!(tools > 0);
        for (full, own) in [
            (assignment.full_limits(), assignment.limits),
            (
                assignment.full_fallback_limits(),
                assignment.fallback_limits,
            ),
        ] {
            let fixed_tokens = estimate_text(&system) + tools;
            let context = own.context.map(|limit| ContextLimit {
                fixed_tokens,
                ..limit
            });
            assert_eq!(full, Limits { context, ..own });
        }
        let price = |name| {
            assignment
                .price_of(&ModelRef::parse(name).unwrap())
                .map(|price| price.input)
        };
        assert_eq!((price("a/first"), price("b/second")), (Some(3), Some(7)));
    }
}
