//! `POST /admin/restart`: asks the `ars_container::restart` questions in order.

use ars_container::{Answer, restart};
use ars_platform::{Probe, Probed, Upstream, read_within, thrown_text};
use ars_proxy::failure;
use ars_wire::admin::{AUTHORIZE_ROUTE, EDGE_SECRET_HEADER, SUBJECT_HEADER, subject_header};
use worker::{console_error, web_sys::Request};

/// Timeout for the request's body in milliseconds.
const BODY_MS: f64 = 10_000.0;
/// Timeout for each bot response in milliseconds.
const ANSWER_MS: f64 = 5_000.0;

/// The bot that is to be restarted.
pub trait Target {
    /// Returns the server that decides about the caller.
    fn upstream(&self) -> &Upstream;

    /// Returns whether the edge runs a container and none runs now.
    fn is_down(&self) -> bool;

    /// Returns the secret that the container got, or `None` for a bot that the edge did not start.
    fn secret(&self) -> Option<String>;

    /// Begins the restart, or returns why not.
    fn restart(&self, force: bool) -> Begun;
}

/// Whether a restart began.
pub enum Begun {
    /// The restart has begun.
    Yes,
    /// The edge did not start this bot.
    NotOurs,
    /// It did not; the caller tries again after these seconds.
    Unavailable(u32),
}

/// Answers a restart request.
pub async fn answer(request: &Request, tokens: Option<&str>, bot: &impl Target) -> Answer {
    decided(request, tokens, bot)
        .await
        .unwrap_or_else(|refusal| refusal)
}

async fn decided(
    request: &Request,
    tokens: Option<&str>,
    bot: &impl Target,
) -> Result<Answer, Answer> {
    let authorization = request.headers().get("authorization").ok().flatten();
    let subject = restart::caller(&request.method(), authorization.as_deref(), tokens)?;
    let body = read_within(request.body(), restart::BODY_LIMIT, BODY_MS).await;
    let force = restart::forced(body.as_deref())?;
    if bot.is_down() {
        return Ok(restart::without_bot(&subject, tokens));
    }
    let header = subject_header(&subject);
    let secret = bot.secret();
    let secret = secret.as_deref().map(|secret| (EDGE_SECRET_HEADER, secret));
    let headers: Vec<_> = [(SUBJECT_HEADER, header.as_str())]
        .into_iter()
        .chain(secret)
        .collect();
    let question = Probe {
        is_post: true,
        headers: &headers,
        ..probe(AUTHORIZE_ROUTE)
    };
    let permission = ask(bot, question).await;
    // A bot that ended before it answered cannot be stopped.
    if permission.is_none() && bot.is_down() {
        return Ok(restart::without_bot(&subject, tokens));
    }
    restart::authorized(&subject, by_ref(&permission))?;
    let health = ask(bot, probe("/healthz")).await;
    // It may have ended since.
    if bot.is_down() {
        return Ok(restart::not_running());
    }
    let restarting = restart::decide(force, by_ref(&health))?;
    Ok(match bot.restart(force) {
        Begun::Yes => restart::begun(&restarting),
        Begun::NotOurs => restart::not_ours(),
        Begun::Unavailable(retry_after) => failure::unavailable(retry_after),
    })
}

fn probe(path: &str) -> Probe<'_> {
    Probe {
        path,
        max_bytes: restart::ANSWER_LIMIT,
        timeout_ms: ANSWER_MS,
        ..Probe::default()
    }
}

async fn ask(bot: &impl Target, probe: Probe<'_>) -> Option<Probed> {
    bot.upstream().ask(probe).await.unwrap_or_else(|thrown| {
        console_error!("fault: the bot did not answer: {}", thrown_text(&thrown));
        None
    })
}

fn by_ref(answer: &Option<Probed>) -> Option<(u16, &[u8])> {
    answer
        .as_ref()
        .map(|(status, body)| (*status, body.as_slice()))
}
