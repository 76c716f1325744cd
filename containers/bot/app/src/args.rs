//! The command line, see docs/reference/cli.md.

use std::{net::SocketAddr, path::PathBuf, sync::LazyLock};

use ars_bot_tools::agents;
use ars_types::{Effort, ModelRef, RefName};
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

use crate::error::InvalidArgument;

const ABOUT: &str = "Runs coding and general agents on behalf of people and machines.";
const LONG_ABOUT: &str = "\
Runs coding and general agents on behalf of people and machines.

`ars ask` runs one request here and now: the steps on standard error, the answer on standard output. \
`ars serve` takes requests over HTTP and shows every run on a page of its own, live. \
Both keep a durable record of every run.";
const AFTER_HELP: &str = "\
Examples:
  ars ask \"what is a lease?\"
  ars ask --repo . \"the tests fail; find out why and mend it\"
  ars ask --repo https://host/team/app --ref main --agent coding \"add a --json flag\"
  ars serve --config ars.toml
  ars watch http://127.0.0.1:8787/runs/ID?t=TOKEN

Environment (secrets come from nowhere else):
  ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL   the provider `anthropic`
  OPENAI_API_KEY, OPENAI_BASE_URL         the provider `openai` (any compatible server; some need no key)
  BRAVE_SEARCH_API_KEY                    key of the tool `web_search`; no key: no search
  BRAVE_SEARCH_BASE_URL                   a search that answers as Brave's does
  SERVICE_INGRESS_TOKENS                  who may call POST /ingress: {\"<token>\":{\"subject\":\"me\"}}
  DASHBOARD_TOKEN                         the secret of the run pages, where they ask for one
  ACCESS_TEAM_DOMAIN, ACCESS_AUD          the access proxy in front of the run pages
  PUBLIC_BASE_URL                         base of the links to run pages
  SERVICE_SKILLS_DIR                      folder of skills, <slug>/SKILL.md
  STATE_WORKER_URL, MEMORY_TOKEN          the state Worker: the default of --state-url, and its bearer
  SERVICE_CONFIG, ARS_DATA_DIR, PORT      defaults of --config, --data-dir and the port of --listen
  RUST_LOG                                what is logged (default: `info` for serve, `error` elsewhere)
  OTEL_EXPORTER_OTLP_ENDPOINT             base address of an OTLP collector; spans go there
  OTEL_EXPORTER_OTLP_HEADERS              headers of what is sent there;
  OTEL_EXPORTER_OTLP_TRACES_HEADERS       wins over them
  NO_COLOR                                no colour, on a terminal neither

Exit codes: 0 done; 1 the run or the service failed; 2 the invocation or the configuration is wrong;
130 stopped by Ctrl-C: `ask` by the first one; `serve`, which first waits for what is in flight, by
the second. One more leaves at once.";

/// `ars`.
#[derive(Debug, Parser)]
#[command(name = "ars", version = VERSION.as_str(), about = ABOUT, long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub struct Args {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// Release and commit.
static VERSION: LazyLock<String> =
    LazyLock::new(|| format!("{} ({})", env!("CARGO_PKG_VERSION"), crate::build_stamp::build().commit));

static AGENT_HELP: LazyLock<String> =
    LazyLock::new(|| format!("Agent: {} [default: general; coding with --repo]", agents::names()));

/// A subcommand.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one request here and now, and print its answer
    Ask(Ask),
    /// Serve requests over HTTP until stopped
    Serve(Serve),
    /// Follow a run's steps from the URL of its page
    Watch(Watch),
    /// Show the changes in a thread's working tree
    Diff(Diff),
    /// Find the reasons why runs were slow
    Friction(Friction),
    /// Print a completion script for a shell
    Completions(Completions),
}

/// Where things are kept and how the service is set up; the same for every command that runs requests.
#[derive(Debug, Clone, ClapArgs)]
pub struct Setup {
    /// Where runs and working trees are kept.
    #[command(flatten)]
    pub data: Data,
    /// Configuration file (TOML), or `state://KEY`: the document that the state Worker has under that key
    #[arg(long, value_name = "FILE", env = "SERVICE_CONFIG", hide_env_values = true)]
    pub config: Option<PathBuf>,
    /// Model of requests that name none; wins over the configuration
    #[arg(long, value_name = "PROVIDER/NAME", value_parser = ModelRef::parse)]
    pub model: Option<ModelRef>,
    /// Script of a rehearsal: a stand-in for a model, `rehearsal/script`, with the same words and actions every time.
    /// `ask` uses it unless --model names another; `serve` when no other model is configured
    #[arg(long, value_name = "FILE")]
    pub rehearsal: Option<PathBuf>,
}

/// Where runs and working trees are kept.
#[derive(Debug, Clone, ClapArgs)]
pub struct Data {
    /// Directory of runs and working trees; by default `ars` in the user's data directory, such as ~/.local/share/ars
    #[arg(long = "data-dir", value_name = "DIR", env = "ARS_DATA_DIR", hide_env_values = true)]
    pub dir: Option<PathBuf>,
}

/// `ars ask`.
#[derive(Debug, ClapArgs)]
pub struct Ask {
    /// The request; `-` reads it from standard input
    pub text: String,
    /// Repository to work on: a path, a URL, or a configured name. The coding agent takes the one around the current
    /// directory when none is named; it works on a copy
    #[arg(long, value_name = "PATH|URL")]
    pub repo: Option<String>,
    /// Branch, tag or commit to start from
    #[arg(long = "ref", value_name = "REF", value_parser = |text: &str| RefName::parse(text))]
    pub git_ref: Option<RefName>,
    /// The agent.
    #[arg(long, value_name = "NAME", help = AGENT_HELP.as_str())]
    pub agent: Option<String>,
    /// How hard the model thinks: low, medium, high, xhigh, max
    #[arg(long, value_name = "LEVEL", value_parser = effort)]
    pub effort: Option<Effort>,
    /// Conversation to go on with; its working tree is found again
    #[arg(long, value_name = "KEY")]
    pub thread: Option<String>,
    /// Print one JSON object {reply, run} instead of the answer, and no steps
    #[arg(long)]
    pub json: bool,
    /// Shared settings.
    #[command(flatten)]
    pub setup: Setup,
}

/// `ars serve`.
#[derive(Debug, ClapArgs)]
pub struct Serve {
    /// Address to listen on; port 0 takes a free one. The default port is PORT, else 8787
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// Where run records go; wins over the configuration
    #[arg(long, value_enum, value_name = "WHERE")]
    pub store: Option<Store>,
    /// Address of the state Worker; implies `--store worker`. Its bearer is `MEMORY_TOKEN`
    #[arg(long, value_name = "URL", env = "STATE_WORKER_URL", hide_env_values = true)]
    pub state_url: Option<String>,
    /// Shared settings.
    #[command(flatten)]
    pub setup: Setup,
}

/// Where run records go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Store {
    /// A database in the data directory
    Embedded,
    /// The state Worker
    Worker,
}

/// `ars watch`.
#[derive(Debug, ClapArgs)]
pub struct Watch {
    /// URL of the run's page, with its token
    pub url: String,
}

/// `ars diff`.
#[derive(Debug, ClapArgs)]
pub struct Diff {
    /// The thread's key, such as `http:default:default`
    pub thread: String,
    /// Where it is kept.
    #[command(flatten)]
    pub data: Data,
}

/// `ars friction`.
#[derive(Debug, ClapArgs)]
pub struct Friction {
    /// The subcommand.
    #[command(subcommand)]
    pub verb: FrictionVerb,
}

/// A subcommand of `ars friction`.
#[derive(Debug, Subcommand)]
pub enum FrictionVerb {
    /// Diagnose a saved stream: JSON lines of events, or a raw capture of a run's event stream
    Analyze(Analyze),
}

/// `ars friction analyze`.
#[derive(Debug, ClapArgs)]
pub struct Analyze {
    /// File to read; `-`, like no file, reads standard input
    pub source: Option<String>,
    /// A tool is slow from so many milliseconds [default: 30000]
    #[arg(long, value_name = "N", value_parser = milliseconds)]
    pub slow_ms: Option<i64>,
    /// The run goes on: a call without a result is not a failure yet
    #[arg(long)]
    pub in_progress: bool,
    /// Print one JSON object {source, events, skipped, diagnosis, hint?}
    #[arg(long)]
    pub json: bool,
}

/// `ars completions`.
#[derive(Debug, ClapArgs)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

fn effort(text: &str) -> Result<Effort, InvalidArgument> {
    Effort::parse(text).ok_or(InvalidArgument::Effort)
}

/// Parses milliseconds, which may have a fraction.
fn milliseconds(text: &str) -> Result<i64, InvalidArgument> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    // Above the range the cast saturates, and then nothing is slow.
    number.map(|number| number.round() as i64).ok_or(InvalidArgument::Milliseconds)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Args;

    #[test]
    fn the_command_line_is_well_formed() {
        Args::command().debug_assert();
    }
}
