//! How a message enters its thread (bot supplement section 12.1, stages 7 to 10): it steers the run that is there, or
//! claims the thread for a run of its own. Not here: who may steer, and how (`admission`); what a run is planned from
//! (`plan`).

use std::sync::Arc;

use ars_bot_ports::{IncomingMessage, ModelClient, Repository};
use ars_bot_tools::agents::AgentSpec;
use ars_types::RefName;

use super::{
    admission::Applicant,
    not_ready,
    plan::{Plan, Wish},
    sorry,
};
use crate::{
    context::RunContext,
    threads::{Claim, Work},
};

/// What a message became.
pub(super) enum Admission {
    /// The thread is this message's.
    Claimed(Box<Outcome>),
    /// It goes to the live run; this is said to its sender.
    Steered(String),
}

/// A thread that was free, and what its run is to work with.
pub(super) struct Outcome {
    pub(super) claim: Claim,
    pub(super) plan: Plan,
    pub(super) client: Arc<dyn ModelClient>,
    pub(super) own: Option<Repository>,
}

/// Steers the run that holds the thread, or claims it. Only a message that is to have a run of its own is asked for a model
/// and a repository, and the thread is claimed when both are there: a refusal holds it up for nobody.
pub(super) async fn enter(
    context: &RunContext,
    applicant: &Applicant<'_>,
    wish: &Wish<'_>,
    agent: &'static AgentSpec,
) -> Result<Admission, String> {
    loop {
        if let Some(ack) = applicant.steer(context).await? {
            return Ok(Admission::Steered(ack));
        }
        let (plan, client, own) = match resolve(context, applicant.message, wish, agent).await {
            Ok(resolved) => resolved,
            Err(refusal) => {
                let elsewhere = applicant.steer_any_elsewhere(context).await;
                return elsewhere.unwrap_or(Err(refusal)).map(Admission::Steered);
            }
        };
        let work = Work {
            agent: agent.name,
            repository: place_of(agent, &plan, own.as_ref()),
            git_ref: wish.choices.git_ref.as_ref().map(RefName::as_str),
        };
        if let Some(claim) = applicant.claim(context, work) {
            return Ok(Admission::Claimed(Box::new(Outcome { claim, plan, client, own })));
        }
    }
}

async fn resolve(
    context: &RunContext,
    message: &IncomingMessage,
    wish: &Wish<'_>,
    agent: &AgentSpec,
) -> Result<(Plan, Arc<dyn ModelClient>, Option<Repository>), String> {
    let deps = context.deps();
    let own = deps.workspaces.repository_of(&message.thread_key).await.map_err(|error| not_ready(&error))?;
    let plan = wish.plan(agent, own.as_ref()).map_err(|refused| sorry(&refused))?;
    let client = deps.models.client(&plan.model).map_err(|error| format!("⚠️ {error}"))?;
    Ok((plan, client, own))
}

/// The repository that the agent works on, if it does on one.
fn place_of<'a>(agent: &AgentSpec, plan: &'a Plan, own: Option<&'a Repository>) -> Option<&'a str> {
    let repository = plan.repository.as_ref().or(own).filter(|_| agent.needs_repository)?;
    Some(&repository.name)
}
