//! `ars ask --server`: the request on a running service, followed live if the token may read the run.
//!
//! The request has an idempotency key: while the service knows the key, a repetition waits for the answer and runs nothing.

use std::{
    io::{self, IsTerminal as _},
    pin::pin,
    process::ExitCode,
    time::Duration,
};

use anyhow::Context as _;
use ars_bot_core::{commands::catalogue, directives};
use ars_bot_ports::{Choices, texts};
use ars_types::{RunId, ThreadName};
use ars_wire::{
    ErrorCode,
    ingress::{Accepted, Receipt, Reply},
};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::{
    super::{
        Failure,
        follow::with_texts,
        interrupted,
        reconnect::Reconnect,
        registry::{Dispatched, Server, Wait, is_unconnected},
        runs_watch::watch,
    },
    report::{quoted, report},
    request::REPOSITORY_AGENT,
};
use crate::{
    args::{Ask, Format},
    environment,
    signals::Signals,
    terminal::{Outcome, Steps, Style, print, tell},
};

/// Random bytes of an idempotency key.
const KEY_BYTES: usize = 16;
/// Random bytes of the name of a thread.
const THREAD_BYTES: usize = 4;
/// Time after the first Ctrl-C in which the id of the run may arrive, by which it is stopped.
const STOPPING_LIMIT: Duration = Duration::from_secs(5);
/// Duration from which an attempt has surely reached the service, so that its end is a new outage.
const LASTING_LIMIT: Duration = Duration::from_secs(30);

/// A request, as it is sent and repeated.
struct Asked {
    server: Server,
    body: String,
    key: String,
    /// The key of a command dies with the process of the service, so it is sent once.
    is_command: bool,
    thread: ThreadName,
    format: Format,
    steps: Steps,
}

/// Runs the request.
pub(super) async fn run(
    args: &Ask,
    text: &str,
    url: &str,
    signals: &mut Signals,
) -> Result<ExitCode, Failure> {
    let server = Server::at(url)?;
    let is_command = catalogue().recognize(text).is_some();
    let text = if is_command {
        text.to_owned()
    } else {
        with_directives(args, text)?
    };
    let thread = match &args.thread {
        Some(thread) => thread.clone(),
        None => ThreadName::parse(format!("ask-{}", random(THREAD_BYTES)?))?,
    };
    let style = Style::choose(
        io::stderr().is_terminal(),
        environment::raw("NO_COLOR").is_some(),
    );
    let asked = Asked {
        server,
        body: json!({ "text": text, "thread": thread }).to_string(),
        key: random(KEY_BYTES)?,
        is_command,
        thread,
        format: args.format(),
        steps: Steps::new(style),
    };
    let (reply, is_stopped) = match asked.begin(signals).await? {
        None => return Ok(interrupted()),
        Some((Dispatched::Ended(reply), _)) => (reply, false),
        Some((Dispatched::Accepted(accepted), is_stopping)) => {
            let Some(followed) = asked.follow(accepted, is_stopping, signals).await? else {
                return Ok(interrupted());
            };
            followed
        }
    };
    let outcome = outcome_of(reply, is_command);
    if !is_stopped {
        return report(&outcome, asked.format);
    }
    if asked.format != Format::Text {
        report(&outcome, asked.format)?;
    }
    tell("stopped");
    Ok(interrupted())
}

impl Asked {
    /// Starts the request, and returns whether Ctrl-C came meanwhile.
    /// Returns `None` if Ctrl-C left behind what may be a run.
    async fn begin(&self, signals: &mut Signals) -> Result<Option<(Dispatched, bool)>, Failure> {
        let left = format!(
            "the request may be running on the service, in the thread {}",
            self.thread
        );
        let left = ars_events::clean(&left, usize::MAX);
        let mut sent = pin!(self.send(Wait::Run, &left));
        tokio::select! {
            sent = &mut sent => return Ok(Some((sent?, false))),
            _ = signals.next() => self.say("stopping as soon as the service names the run"),
        }
        let sent = tokio::select! {
            sent = timeout(STOPPING_LIMIT, &mut sent) => sent.ok(),
            _ = signals.next() => None,
        };
        let Some(sent) = sent else {
            tell(&left);
            return Ok(None);
        };
        Ok(Some((sent?, true)))
    }

    /// Sends the request, again after each outage. A final failure has the note if a run may exist.
    async fn send(&self, wait: Wait, note: &str) -> Result<Dispatched, Failure> {
        let mut reconnect = Reconnect::default();
        let mut may_run = wait == Wait::Answer;
        loop {
            let began = Instant::now();
            let failure = match self.server.dispatch(&self.body, &self.key, wait).await {
                Ok(dispatched) => {
                    reconnect.succeeded();
                    return Ok(dispatched);
                }
                Err(failure) => failure,
            };
            if !may_run && (!failure.is_outage() || is_unconnected(&failure)) {
                return Err(failure);
            }
            may_run = true;
            if began.elapsed() >= LASTING_LIMIT {
                reconnect.succeeded();
            }
            let is_sent_once = self.is_command && wait == Wait::Run;
            if is_sent_once || !failure.is_outage() || !reconnect.wait().await {
                return Err(failure.noting(note));
            }
        }
    }

    /// Follows the run to its answer, and returns whether Ctrl-C stopped it.
    /// Returns `None` if Ctrl-C left it behind.
    async fn follow(
        &self,
        accepted: Accepted,
        is_stopping: bool,
        signals: &mut Signals,
    ) -> Result<Option<(Reply, bool)>, Failure> {
        let Accepted {
            run_id, run_url, ..
        } = accepted;
        let thread = &self.thread;
        self.say(&format!(
            "run: {run_url}\nthread: {thread} (go on with --thread {})",
            quoted(thread.as_str())
        ));
        let mut answer = pin!(self.answer(&run_id));
        if !is_stopping {
            tokio::select! {
                reply = &mut answer => return Ok(Some((reply?, false))),
                _ = signals.next() => {}
            }
        }
        let left = || tell(&format!("the run {run_id} may go on"));
        let stopped = tokio::select! {
            stopped = self.stop(&run_id) => stopped,
            _ = signals.next() => {
                left();
                return Ok(None);
            }
        };
        if let Err(failure) = stopped {
            tell(&format!(
                "the run {run_id} goes on, because it could not be stopped: {}",
                failure.message()
            ));
            return Ok(None);
        }
        tokio::select! {
            reply = &mut answer => Ok(Some((reply?, true))),
            _ = signals.next() => {
                left();
                Ok(None)
            }
        }
    }

    /// Shows the steps as far as the token may read them, and waits for the answer.
    async fn answer(&self, id: &RunId) -> Result<Reply, Failure> {
        match watch(&self.server, id.clone(), |event| self.show(event)).await {
            // For a failed run the answer has the reason.
            Ok(_) | Err(Failure::Failed(_)) => {}
            Err(failure) => self.say(&format!(
                "{}; waiting for the answer",
                without_steps(failure)
            )),
        }
        match self
            .send(Wait::Answer, &format!("the run {id} may go on"))
            .await?
        {
            Dispatched::Ended(reply) => Ok(reply),
            Dispatched::Accepted(Accepted { run_url, .. }) => {
                let reply = texts::run_without_answer(&run_url);
                Ok(Reply {
                    reply,
                    run_id: Some(id.clone()),
                    ..Reply::default()
                })
            }
        }
    }

    /// Requests a hard stop, as a viewer or as the sender.
    async fn stop(&self, id: &RunId) -> Result<(), Failure> {
        let input = json!({ "id": id, "mode": "hard" });
        if self.server.query("runs.stop", &input).await.is_ok() {
            return Ok(());
        }
        let body = json!({ "text": format!("runs stop {id} --mode hard") }).to_string();
        match self
            .server
            .dispatch(&body, &random(KEY_BYTES)?, Wait::Answer)
            .await?
        {
            Dispatched::Ended(Reply {
                reply,
                code: Some(_),
                ..
            }) => Err(Failure::Refused(reply)),
            Dispatched::Ended(_) | Dispatched::Accepted(_) => Ok(()),
        }
    }

    fn show(&self, event: Value) -> io::Result<()> {
        match self.format {
            Format::Json => Ok(()),
            Format::JsonLines => print(&format!("{event}\n")),
            Format::Text => {
                let event = with_texts(event, &|text| ars_events::clean(&text, usize::MAX));
                if let Some(lines) = self.steps.lines(&event) {
                    tell(&lines);
                }
                Ok(())
            }
        }
    }

    /// Prints a note for people.
    fn say(&self, text: &str) {
        if self.format == Format::Text {
            tell(&ars_events::clean(text, usize::MAX));
        }
    }
}

/// Returns why no steps are shown from now on.
fn without_steps(failure: Failure) -> String {
    match failure.code() {
        ErrorCode::Unauthorized | ErrorCode::Forbidden | ErrorCode::NotFound => {
            format!(
                "no steps, because ARS_TOKEN may not read the run ({})",
                failure.message()
            )
        }
        _ => format!("no more steps ({})", failure.message()),
    }
}

/// Returns the text behind the directives of flags. Flags win over directives, as without a service.
fn with_directives(args: &Ask, text: &str) -> Result<String, Failure> {
    let Ask {
        repo,
        git_ref,
        agent,
        effort,
        ..
    } = args;
    let model = &args.setup.model;
    if repo.is_none() && git_ref.is_none() && agent.is_none() && effort.is_none() && model.is_none()
    {
        return Ok(text.to_owned());
    }
    let parsed = directives::parse(text);
    let parsed = parsed.map_err(|fault| Failure::InvalidInput(texts::directive_fault(&fault)))?;
    let Choices {
        agent: named,
        model: of_text,
        effort: wished,
        repository,
        git_ref: from,
        ..
    } = parsed.choices;
    let repository = repo
        .as_deref()
        .map(of_the_service)
        .transpose()?
        .or(repository);
    let agent = agent.clone().or(named);
    let agent = agent.or_else(|| repository.as_ref().map(|_| REPOSITORY_AGENT.to_owned()));
    let model = model
        .clone()
        .or(of_text)
        .map(|model| format!("{}/{}", model.provider(), model.model()));
    let chosen = [
        ("agent", agent),
        ("repo", repository),
        ("ref", git_ref.clone().or(from).map(|name| name.to_string())),
        ("model", model),
        (
            "effort",
            effort.or(wished).map(|effort| effort.as_str().to_owned()),
        ),
    ];
    let words = chosen
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}:{} ", value?)));
    Ok(format!("{}{}", words.collect::<String>(), parsed.text))
}

/// Returns the name or the URL of a repository that the service can reach.
fn of_the_service(repo: &str) -> Result<String, Failure> {
    if repo.starts_with(['.', '/', '~']) || repo.contains(char::is_whitespace) {
        let problem = "--repo with --server is a name that the service knows, such as owner/name, or a URL: a folder \
                       is of this machine";
        return Err(Failure::InvalidInput(problem.to_owned()));
    }
    Ok(repo.to_owned())
}

fn outcome_of(reply: Reply, is_command: bool) -> Outcome {
    let Reply {
        reply,
        run,
        run_id,
        code,
    } = reply;
    let command = (is_command && run.is_none()).then_some(code.is_none());
    let run = run
        .map(|Receipt { id, status }| (id, Some(status)))
        .or_else(|| Some((run_id?, None)));
    Outcome {
        reply: ars_events::clean(&reply, usize::MAX),
        run,
        cost: None,
        command,
    }
}

fn random(count: usize) -> Result<String, Failure> {
    let mut bytes = vec![0; count];
    getrandom::fill(&mut bytes).context("randomness")?;
    Ok(hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        ask: Ask,
    }

    fn sent(flags: &[&str], text: &str) -> Result<String, Failure> {
        let line = Line::try_parse_from([&["ask", text], flags].concat()).unwrap();
        with_directives(&line.ask, text)
    }

    #[test]
    fn flags_are_sent_as_directives() {
        for (flags, text, expected) in [
            (&[][..], "  why? effort:low", "  why? effort:low"),
            (
                &["--repo", "acme/app"],
                "why?",
                "agent:coding repo:acme/app why?",
            ),
            (&["--effort", "high"], "why? effort:low", "effort:high why?"),
            (
                &["--agent", "review", "--ref", "main"],
                "repo:acme/app why?",
                "agent:review repo:acme/app ref:main why?",
            ),
            (
                &["--model", "a/b/c"],
                "`repo:x` why?",
                "model:a/b/c `repo:x` why?",
            ),
        ] {
            assert_eq!(
                sent(flags, text).ok().as_deref(),
                Some(expected),
                "{flags:?} {text}"
            );
        }
        for folder in [".", "/srv/app", "~/app"] {
            assert!(
                matches!(
                    sent(&["--repo", folder], "why?"),
                    Err(Failure::InvalidInput(_))
                ),
                "{folder}"
            );
        }
    }
}
