//! The request, from flags, directives in the text, and the current directory.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ars_auth::Actor;
use ars_bot_core::{Core, commands::catalogue, directives, settings::Settings};
use ars_bot_ports::{Choices, Clock as _, IncomingMessage, WorkspaceProvider, texts};
use ars_bot_tools::agents;
use ars_types::{CLI_LOCAL, ModelRef, Platform, ThreadKey, ThreadName};
use tokio::io::AsyncReadExt as _;

use crate::{args::Ask, clock::SystemClock, commands::Failure, compose, terminal::tell};

/// Agent for a request that names a repository and no agent.
pub(super) const REPOSITORY_AGENT: &str = "coding";

/// A request after validation.
pub struct Request {
    choices: Choices,
    /// The agent works on a repository, and none was named.
    lacks_repository: bool,
    thread: Option<ThreadName>,
}

/// Returns the request's text; `-` reads standard input.
pub async fn text(given: String) -> Result<String, Failure> {
    let text = if given == "-" {
        let mut piped = String::new();
        let read = tokio::io::stdin().read_to_string(&mut piped).await;
        read.context("standard input")
            .map_err(Failure::Unavailable)?;
        piped
    } else {
        given
    };
    if text.trim().is_empty() {
        return Err(Failure::InvalidInput(
            "the request must not be blank".into(),
        ));
    }
    Ok(text)
}

impl Request {
    /// Validates flags and directives. Flags win over directives, as in the core. A command's words
    /// are no directives.
    pub fn read(args: &Ask, text: &str, settings: &Settings) -> Result<Self, Failure> {
        let directed = match catalogue().recognize(text) {
            Some(_) => Choices::default(),
            None => {
                directives::parse(text)
                    .map_err(|fault| Failure::InvalidInput(texts::directive_fault(&fault)))?
                    .choices
            }
        };
        let names_repository = args.repo.is_some() || directed.repository.is_some();
        let agent = match (&args.agent, &directed.agent) {
            (Some(name), _) => Some(name.clone()),
            (None, Some(_)) => None,
            (None, None) => names_repository.then(|| REPOSITORY_AGENT.to_owned()),
        };
        let effective = agent
            .as_ref()
            .or(directed.agent.as_ref())
            .or(settings.default_agent.as_ref());
        let effective = match effective {
            Some(name) => Some(agents::find(name).ok_or_else(unknown_agent)?),
            None => None,
        };
        let needs_repository = effective.is_some_and(|agent| agent.needs_repository);
        Ok(Self {
            choices: Choices {
                agent,
                model: model(args),
                effort: args.effort,
                repository: args
                    .repo
                    .as_deref()
                    .map(|repo| origin(repo, settings))
                    .transpose()?,
                git_ref: args.git_ref.clone(),
                must_continue: false,
            },
            lacks_repository: needs_repository && !names_repository,
            thread: args.thread.clone(),
        })
    }

    /// Returns the message, with a repository if the agent needs it. It is the thread's own, the
    /// repository around the current directory, or the configured default.
    pub async fn into_message(
        mut self,
        text: String,
        core: &Core,
        workspaces: &dyn WorkspaceProvider,
    ) -> Result<IncomingMessage, Failure> {
        let received_at = SystemClock.now();
        let thread_key = match &self.thread {
            Some(thread) => ThreadKey::cli(thread.as_str()),
            None => ThreadKey::cli(&received_at.to_string()),
        };
        // The installation may lack a catalogue command.
        let is_command = core.commands().registry().recognize(&text).is_some();
        let lacks_repository = self.lacks_repository && !is_command;
        if lacks_repository && workspaces.repository_of(&thread_key).await?.is_none() {
            match enclosing_repository() {
                Some(root) => {
                    tell(&format!("working on a copy of {}", root.display()));
                    self.choices.repository = Some(as_text(root)?);
                }
                None if core.settings().default_repository.is_some() => {}
                None => {
                    let words = "which repository? Name one with --repo, or ask from within one";
                    return Err(Failure::InvalidInput(words.into()));
                }
            }
        }
        Ok(IncomingMessage {
            actor: Actor::cli_local(),
            channel_id: CLI_LOCAL.into(),
            thread_key,
            visibility: Platform::Cli.visibility(),
            text,
            attachments: Vec::new(),
            received_at,
            choices: self.choices,
            source: None,
            idempotency: None,
            is_confirmed: false,
        })
    }
}

fn unknown_agent() -> Failure {
    Failure::InvalidInput(format!(
        "there is no such agent. The agents are: {}",
        agents::names()
    ))
}

/// Returns the requested model. A script on the command line wins over configured keys.
fn model(args: &Ask) -> Option<ModelRef> {
    args.setup.model.clone().or_else(|| {
        args.setup
            .rehearsal
            .as_ref()
            .and_then(|_| compose::rehearsal_model())
    })
}

/// Returns a configured name or a URL unchanged, and a path as absolute, because git runs elsewhere.
fn origin(repo: &str, settings: &Settings) -> Result<String, Failure> {
    if settings.repositories.iter().any(|known| known.name == repo) {
        return Ok(repo.to_owned());
    }
    match Path::new(repo).canonicalize() {
        Ok(path) => as_text(path),
        // `https://host/x` and `host:x`.
        Err(_) if repo.contains(':') => Ok(repo.to_owned()),
        Err(_) => Err(Failure::InvalidInput(
            "--repo is neither a path here, nor a URL, nor a configured name".into(),
        )),
    }
}

fn as_text(path: PathBuf) -> Result<String, Failure> {
    let refused = |_| Failure::InvalidInput("the repository's path must be UTF-8".into());
    path.into_os_string().into_string().map_err(refused)
}

fn enclosing_repository() -> Option<PathBuf> {
    let here = std::env::current_dir().ok()?;
    here.ancestors()
        .find(|folder| folder.join(".git").exists())
        .map(Path::to_path_buf)
}
