//! Events that become messages: a mention, a requested review, an own pull request's failed check.
//!
//! A message belongs to the thread for a pull request or issue, and to the user who caused it. The
//! requester's policy applies to it as to every message. Bot events are ignored, so two bots cannot
//! answer each other forever.

use ars_events::wrap_untrusted;
use ars_types::{ChannelName, Platform, RepoSlug, ThreadKey, ThreadName};
use serde_json::Value;

use crate::{
    branch::run_of_branch,
    diff::Commit,
    host::parse_slug,
    text::{code_spans, neutral_line},
};

/// User for failed checks. No login has brackets, except for apps, which are ignored.
pub const CHECKS_USER: &str = "github:[checks]";
/// Maximum length of a host login in characters.
const MAX_LOGIN_CHARS: usize = 39;
/// Maximum length of a check name in a message, in characters.
const MAX_CHECK_NAME_CHARS: usize = 200;
/// Maximum length of a comment that becomes a message, in characters.
const MAX_COMMENT_CHARS: usize = 65_536;

/// The service's own account.
#[derive(Debug, Clone, Copy)]
pub struct Bot<'a> {
    /// Login by which people mention it, without `@` and `[bot]`.
    pub login: &'a str,
}

/// A message from the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// Repository. The user's gate checks it first.
    pub repository: RepoSlug,
    /// Pull request or issue number.
    pub number: u64,
    /// Thread key: `github:<owner>/<name>:<number>`.
    pub thread: ThreadKey,
    /// User: `github:<login>` in lower case, or [`CHECKS_USER`].
    pub user: String,
    /// Why the event became a message.
    pub kind: TriggerKind,
    /// Text for the agent.
    pub text: String,
    /// The event's identity according to its signed body, the same in each delivery. The comment,
    /// the requested review with the head, or the check run with the head; `None` without any.
    pub identity: Option<String>,
}

/// Why an event becomes a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TriggerKind {
    /// A person mentioned the service.
    Mention {
        /// The comment, which the answer refers to.
        comment: u64,
    },
    /// A person requested a review.
    ReviewRequest {
        /// The pull request's head.
        head: Commit,
    },
    /// A check failed at the head of a run's pull request.
    FailedCheck {
        /// The head with the failed check.
        head: Commit,
    },
}

/// Why an event has no effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// Events with this kind or action have no effect.
    OtherEvent,
    /// A bot caused it.
    CausedByBot,
    /// It does not concern the service.
    NotForUs,
    /// A field is missing or malformed.
    Malformed,
}

/// Maps an event to a message. `event` is the `X-GitHub-Event` header.
///
/// The signature was checked. It covers the body only, so the body must have the event's shape.
///
/// # Errors
/// Returns why the event has no effect.
pub fn trigger(event: &str, body: &Value, bot: Bot<'_>) -> Result<Trigger, Ignored> {
    if !has_shape(event, body) {
        return Err(Ignored::OtherEvent);
    }
    let action = body["action"].as_str().unwrap_or_default();
    match (event, action) {
        ("issue_comment" | "pull_request_review_comment", "created") => mention(body, bot),
        ("pull_request", "review_requested") => review_request(body, bot),
        ("check_run", "completed") => failed_check(body, bot),
        _ => Err(Ignored::OtherEvent),
    }
}

/// Returns whether a body belongs to an event, by the objects that the host puts into it.
pub(super) fn has_shape(event: &str, body: &Value) -> bool {
    let has = |field: &str| body[field].is_object();
    match event {
        "issue_comment" => has("comment") && has("issue") && !has("pull_request"),
        "pull_request_review_comment" => has("comment") && has("pull_request") && !has("issue"),
        "pull_request" => {
            has("pull_request") && !["comment", "review", "thread"].into_iter().any(has)
        }
        "check_run" => has("check_run"),
        _ => false,
    }
}

fn mention(body: &Value, bot: Bot<'_>) -> Result<Trigger, Ignored> {
    let comment = &body["comment"];
    let user = person(&comment["user"])?;
    let number =
        number(&body["issue"]["number"]).or_else(|_| number(&body["pull_request"]["number"]))?;
    let id = self::number(&comment["id"])?;
    let text = comment["body"].as_str().ok_or(Ignored::Malformed)?;
    if text.chars().count() > MAX_COMMENT_CHARS {
        return Err(Ignored::NotForUs);
    }
    let text = without_mentions(text, bot.login).ok_or(Ignored::NotForUs)?;
    // Comments on lines are numbered apart from others.
    let table = if body["issue"].is_object() {
        "comment"
    } else {
        "review-comment"
    };
    let identity = Some(format!("{table}:{id}"));
    build(
        body,
        number,
        user,
        TriggerKind::Mention { comment: id },
        (text, identity),
    )
}

fn review_request(body: &Value, bot: Bot<'_>) -> Result<Trigger, Ignored> {
    let user = person(&body["sender"])?;
    let requested = body["requested_reviewer"]["login"]
        .as_str()
        .unwrap_or_default();
    let requested = requested.strip_suffix("[bot]").unwrap_or(requested);
    if !requested.eq_ignore_ascii_case(bot.login) {
        return Err(Ignored::NotForUs);
    }
    let number = number(&body["pull_request"]["number"])?;
    let head = commit(&body["pull_request"]["head"]["sha"])?;
    let text = format!("agent:review {}#{number}", repository(body)?);
    // A person may request it again at the same head, for example after a run that failed.
    let changed = body["pull_request"]["updated_at"]
        .as_str()
        .map(|at| format!(":{at}"))
        .unwrap_or_default();
    let identity = Some(format!("review:{number}:{head}{changed}"));
    build(
        body,
        number,
        user,
        TriggerKind::ReviewRequest { head },
        (text, identity),
    )
}

fn failed_check(body: &Value, bot: Bot<'_>) -> Result<Trigger, Ignored> {
    let check = &body["check_run"];
    // A run's evidence, which knows that it failed. A message about it could cause the next.
    if check["app"]["slug"]
        .as_str()
        .is_some_and(|slug| slug.eq_ignore_ascii_case(bot.login))
    {
        return Err(Ignored::CausedByBot);
    }
    if !matches!(check["conclusion"].as_str(), Some("failure" | "timed_out")) {
        return Err(Ignored::NotForUs);
    }
    let head = commit(&check["head_sha"])?;
    let requests = check["pull_requests"]
        .as_array()
        .ok_or(Ignored::Malformed)?;
    // The host lists no pull request from a fork, and a check at an older head no longer matters.
    let is_own = |request: &&Value| {
        request["head"]["ref"]
            .as_str()
            .and_then(run_of_branch)
            .is_some()
            && request["head"]["sha"]
                .as_str()
                .is_some_and(|sha| head.as_str().eq_ignore_ascii_case(sha))
    };
    let request = requests.iter().find(is_own).ok_or(Ignored::NotForUs)?;
    // A bot runs the check, so the message is the service's own: the shell maps it to the run's
    // user.
    let user = CHECKS_USER.to_owned();
    // In code, where no word is a directive.
    let name = neutral_line(
        check["name"].as_str().unwrap_or("check"),
        MAX_CHECK_NAME_CHARS,
    )
    .replace('`', "'");
    let number = number(&request["number"])?;
    let text = format!(
        "A check failed at {head} of {}#{number}. Read the failed checks of this commit and their logs, find the cause, mend \
         it, and commit. If the cause is not in this repository, change nothing and say so.\n\n{}",
        repository(body)?,
        wrap_untrusted(&format!("check: `{name}`"))
    );
    let identity = self::number(&check["id"])
        .ok()
        .map(|id| format!("check:{id}:{head}"));
    build(
        body,
        number,
        user,
        TriggerKind::FailedCheck { head },
        (text, identity),
    )
}

fn build(
    body: &Value,
    number: u64,
    user: String,
    kind: TriggerKind,
    (text, identity): (String, Option<String>),
) -> Result<Trigger, Ignored> {
    let repository = repository(body)?;
    let channel = ChannelName::parse(repository.as_str()).map_err(|_| Ignored::Malformed)?;
    let thread = ThreadName::parse(number.to_string()).map_err(|_| Ignored::Malformed)?;
    let thread = ThreadKey::from_names(Platform::CodeHost, &channel, &thread);
    let identity = identity.map(|identity| format!("{repository}:{identity}"));
    Ok(Trigger {
        repository,
        number,
        thread,
        user,
        kind,
        text,
        identity,
    })
}

/// Returns the repository and number of a thread's pull request or issue, if the host has it.
pub fn item_of_thread(thread: &str) -> Option<(RepoSlug, u64)> {
    let (Platform::CodeHost, place) = Platform::split(thread)? else {
        return None;
    };
    let (repository, number) = place.rsplit_once(':')?;
    Some((parse_slug(repository)?, number.parse().ok()?))
}

fn repository(body: &Value) -> Result<RepoSlug, Ignored> {
    body["repository"]["full_name"]
        .as_str()
        .and_then(parse_slug)
        .ok_or(Ignored::Malformed)
}

/// Returns a person's id; any other account type is a bot.
fn person(user: &Value) -> Result<String, Ignored> {
    let login = user["login"].as_str().ok_or(Ignored::Malformed)?;
    if user["type"].as_str() != Some("User") || login.ends_with("[bot]") {
        return Err(Ignored::CausedByBot);
    }
    let is_login = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let is_valid = (1..=MAX_LOGIN_CHARS).contains(&login.len()) && login.bytes().all(is_login);
    is_valid
        .then(|| Platform::CodeHost.id(login.to_ascii_lowercase()))
        .ok_or(Ignored::Malformed)
}

fn number(value: &Value) -> Result<u64, Ignored> {
    value
        .as_u64()
        .filter(|number| *number > 0)
        .ok_or(Ignored::Malformed)
}

fn commit(value: &Value) -> Result<Commit, Ignored> {
    value
        .as_str()
        .and_then(Commit::parse)
        .ok_or(Ignored::Malformed)
}

/// Returns a comment without mentions of the login, or `None` without any. Code and quoted lines do
/// not count.
fn without_mentions(text: &str, login: &str) -> Option<String> {
    let code = code_spans(text);
    let lower = text.to_ascii_lowercase();
    let name = format!("@{}", login.to_ascii_lowercase());
    let is_name = |char: char| char.is_alphanumeric() || matches!(char, '-' | '_' | '/');
    let is_mention = |at: usize| {
        let line = lower[..at].rsplit('\n').next().unwrap_or_default();
        let is_quoted = line.trim_start().starts_with('>');
        let continues =
            lower[at + name.len()..].starts_with(is_name) || lower[..at].ends_with(is_name);
        !is_quoted && !continues && !code.iter().any(|span| span.contains(&at))
    };
    let (mut rest, mut end) = (String::with_capacity(text.len()), 0);
    for (at, _) in lower.match_indices(&name).filter(|(at, _)| is_mention(*at)) {
        rest.push_str(&text[end..at]);
        end = at + name.len();
    }
    if end == 0 {
        return None;
    }
    rest.push_str(&text[end..]);
    Some(rest.trim().to_owned())
}

#[cfg(test)]
#[path = "trigger_tests.rs"]
mod tests;
