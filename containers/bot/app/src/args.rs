//! The command line, see docs/reference/cli.md.

use std::{ffi::OsString, net::SocketAddr, path::PathBuf, sync::LazyLock};

use ars_bot_core::commands::catalogue;
use ars_bot_tools::agents;
use ars_commands::{Registry, Surface};
use ars_types::{Effort, ModelRef, RefName, RunId, ThreadName};
use clap::{
    Args as ClapArgs, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
    error::ErrorKind,
};

use crate::{
    build_stamp,
    commands::{Failure, registry},
    error::InvalidArgument,
};

const ABOUT: &str = "Runs coding, review and general agents on behalf of people and machines.";
const LONG_ABOUT: &str = "\
Runs coding, review and general agents on behalf of people and machines.

`ars ask` runs one request here and now: the steps on standard error, the answer on standard output. \
`ars serve` takes requests over HTTP and shows every run on a page of its own, live. \
Both keep a durable record of every run.";
const AFTER_HELP: &str = "\
Examples:
  ars ask \"what is a lease?\"
  ars ask --repo . \"the tests fail; find out why and mend it\"
  ars ask --repo https://host/team/app --ref main --agent coding \"add a --json flag\"
  ars serve --config ars.toml
  ars runs list --status all
  ars runs get ID --json --server https://host
  ars runs watch ID --server https://host
  ars ask --server https://host --repo team/app \"why does the build fail?\"

Environment (secrets come from nowhere else):
  ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL   the provider `anthropic`
  OPENAI_API_KEY, OPENAI_BASE_URL         the provider `openai` (any compatible server; some need no key)
  BRAVE_SEARCH_API_KEY                    key of the tool `web_search`; no key: no search
  BRAVE_SEARCH_BASE_URL                   a search that answers as Brave's does
  GITHUB_APP_ID, GITHUB_APP_INSTALLATION_ID, GITHUB_APP_PRIVATE_KEY
                                          the GitHub App; GH_TOKEN is a plain token instead
  GITHUB_BASE_URL                         an enterprise's own GitHub
  GITHUB_WEBHOOK_SECRET                   the secret of its webhooks; no secret: none are accepted
  SLACK_BOT_TOKEN, SLACK_APP_TOKEN        Slack: both tokens of the app, or none
  SLACK_BASE_URL                          another address of its Web API
  SERVICE_INGRESS_TOKENS                  tokens for /ingress and /mcp: {\"<token>\":{\"subject\":\"me\"}}
  DASHBOARD_TOKEN                         the secret of the run pages and of /api in mode `token`
  ACCESS_TEAM_DOMAIN, ACCESS_AUD          the access proxy in front of the run pages and of /api
  PUBLIC_BASE_URL                         base of the links to run pages
  PEER_HEADER                             header with the caller's address, set by a proxy in front
  SERVICE_SKILLS_DIR                      folder of skills, <slug>/SKILL.md
  SERVICE_READING_DIFF                    reading diffs of reviews: git, meat or off
  STATE_WORKER_URL, MEMORY_TOKEN          the state Worker: the default of --state-url, and its bearer
  CONFIG_HOSTS                            hosts to which a document of the state Worker may send secrets
  CONFIG_SANDBOX                          `any` lets a document of the state Worker weaken the sandbox
  RESIDENT_OPERATOR_TOKEN, RESIDENT_ADMIN_TOKEN
                                          bearers of the resident Worker
  ARS_SERVER, ARS_TOKEN                   a running service: the default of --server, and the token for it
  SERVICE_CONFIG, ARS_DATA_DIR, PORT      defaults of --config, --data-dir and the port of --listen
  RUST_LOG                                what is logged (default: `info` for serve, `error` elsewhere)
  OTEL_EXPORTER_OTLP_ENDPOINT             base address of an OTLP collector; spans go there
  OTEL_EXPORTER_OTLP_HEADERS              headers of what is sent there;
  OTEL_EXPORTER_OTLP_TRACES_HEADERS       wins over them
  NO_COLOR                                no colour, on a terminal neither

Exit codes: 0 done; 1 the run or the service failed; 2 the invocation or the configuration is wrong;
130 stopped by Ctrl-C: `ask` by the first one; `serve`, which first waits for what is in flight, by
the second. One more leaves at once.";

const AFTER_SHORT_HELP: &str = "\
Examples:
  ars ask \"what is a lease?\"
  ars ask --repo . \"the tests fail; find out why and mend it\"
  ars doctor

`ars --help` also lists the environment variables and the exit codes.";

/// `ars`.
#[derive(Debug, Parser)]
#[command(name = "ars", version = VERSION.as_str(), about = ABOUT, long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub struct Args {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// Release and commit.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let commit = &build_stamp::build().commit;
    let build = if commit == build_stamp::UNKNOWN {
        "built without a commit"
    } else {
        commit
    };
    format!("{} ({build})", env!("CARGO_PKG_VERSION"))
});

static AGENT_HELP: LazyLock<String> = LazyLock::new(|| {
    format!(
        "Agent: {} [default: general; coding with --repo]",
        agents::names()
    )
});

/// The group of the registry that has a command of the command line's own.
pub const RUNS: &str = "runs";
/// That command.
pub const WATCH: &str = "watch";

/// Returns the complete command line: the subcommands of [`Args`], and the commands of a registry.
pub fn command_line(commands: &Registry) -> clap::Command {
    registry::with_commands(Args::command(), commands)
}

/// Parses the arguments of the process with clap. Prints help, and then ends the process.
///
/// # Errors
///
/// The arguments are invalid. The message ends with the usage.
pub fn parse(arguments: &[OsString]) -> Result<Command, Failure> {
    let commands = if asks_for_help(arguments) {
        registry::configured(arguments)
    } else {
        catalogue()
    };
    let cli = command_line(&commands);
    // Without a word, the command list suffices.
    let cli = if arguments.len() > 1 {
        cli
    } else {
        cli.after_help(AFTER_SHORT_HELP)
    };
    // The registry's own grammar does not know help, and clap would report other words first.
    let text = |index: usize| {
        arguments
            .get(index)
            .and_then(|word| word.to_str())
            .unwrap_or_default()
    };
    let id = format!("{}.{}", text(1), text(2));
    let matches = match commands.get(&id, Surface::Cli) {
        Some(definition) => registry::alone(definition).get_matches_from(["ars", "--help"]),
        None => cli
            .try_get_matches_from(arguments)
            .map_err(|error| refused(&error))?,
    };
    let watched = matches
        .subcommand_matches(RUNS)
        .and_then(|runs| runs.subcommand_matches(WATCH));
    let parsed = match watched {
        Some(watch) => RunsWatch::from_arg_matches(watch).map(Command::RunsWatch),
        None => Args::from_arg_matches(&matches).map(|args| args.command),
    };
    parsed.map_err(|error| refused(&error))
}

/// Returns the failure of an invocation.
/// Help and version are no failures: they are printed and end the process.
fn refused(error: &clap::Error) -> Failure {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        error.exit();
    }
    let text = error.render().to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text);
    Failure::InvalidInput(text.trim_end().to_owned())
}

/// Returns whether the arguments ask for help, by an option or by `help` as a subcommand.
/// A group has this subcommand too.
/// Only then is the configuration read here: it may be a stream, which can be read once.
fn asks_for_help(arguments: &[OsString]) -> bool {
    let words = arguments.get(1..).unwrap_or_default();
    let is_help = |word: Option<&OsString>| word.is_some_and(|word| word == "help");
    let is_group = |word: &OsString| {
        catalogue()
            .groups(Surface::Cli)
            .iter()
            .any(|group| word == group)
    };
    let mut options = words.iter().take_while(|word| *word != "--");
    words.is_empty()
        || is_help(words.first())
        || (words.first().is_some_and(is_group) && is_help(words.get(1)))
        || options.any(|word| word == "--help" || word == "-h")
}

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
    /// Check the installation, and name how to mend each fault
    Doctor(Doctor),
    /// Print the needs of a surface, and check them
    #[command(name = "setup", subcommand)]
    SetUp(SetUp),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Follow a run of a service until it ends
    #[command(skip)]
    RunsWatch(RunsWatch),
}

/// `ars setup`.
#[derive(Debug, Subcommand)]
pub enum SetUp {
    /// Print the manifest of the Slack app, and check the tokens if they are set
    Slack,
}

/// Where things are kept and how the service is set up; the same for every command that runs requests.
#[derive(Debug, Clone, ClapArgs)]
pub struct Setup {
    /// Where runs and working trees are kept.
    #[command(flatten)]
    pub data: Data,
    /// Configuration file (YAML, JSON or TOML), or `state://KEY`:
    /// the document that the state Worker has under that key
    #[arg(
        long,
        value_name = "FILE",
        env = "SERVICE_CONFIG",
        hide_env_values = true
    )]
    pub config: Option<PathBuf>,
    /// Model of requests that name none; wins over the configuration
    #[arg(long, value_name = "PROVIDER/NAME", value_parser = ModelRef::parse)]
    pub model: Option<ModelRef>,
    /// Script of a rehearsal: a stand-in for a model, `rehearsal/script`,
    /// with the same words and actions every time. `ask` uses it unless --model names another; `serve` when no other
    /// model is configured
    #[arg(long, value_name = "FILE")]
    pub rehearsal: Option<PathBuf>,
    /// What the setup is for.
    #[arg(skip)]
    pub purpose: Purpose,
}

/// What a setup is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Purpose {
    /// Running requests, which needs models and their keys.
    #[default]
    Requests,
    /// Commands on stored data. Missing secrets of models and of the dashboard are no errors.
    Commands,
}

/// Where runs and working trees are kept.
#[derive(Debug, Clone, ClapArgs)]
pub struct Data {
    /// Directory of runs and working trees; by default `ars` in the user's data directory,
    /// such as ~/.local/share/ars
    #[arg(
        long = "data-dir",
        value_name = "DIR",
        env = "ARS_DATA_DIR",
        hide_env_values = true
    )]
    pub dir: Option<PathBuf>,
}

/// `ars ask`.
#[derive(Debug, ClapArgs)]
pub struct Ask {
    /// The request; `-` reads it from standard input
    pub text: String,
    /// Repository to work on: a path, a URL, or a configured name.
    /// The coding agent takes the one around the current directory when none is named; it works on a copy
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
    /// Run the request on this service, with the token in `ARS_TOKEN`
    #[arg(long, value_name = "URL", conflicts_with = "rehearsal")]
    pub server: Option<String>,
    /// Conversation to go on with; its working tree is found again
    #[arg(long, value_name = "NAME", value_parser = |text: &str| ThreadName::parse(text))]
    pub thread: Option<ThreadName>,
    /// Print one JSON object {reply, run} instead of the answer, and no steps
    #[arg(long)]
    pub json: bool,
    /// Print each event of the run as a line of JSON, and at last {type: "result", reply, run}
    #[arg(long, conflicts_with = "json")]
    pub json_lines: bool,
    /// Shared settings.
    #[command(flatten)]
    pub setup: Setup,
}

impl Ask {
    /// Returns how the request is printed.
    pub fn format(&self) -> Format {
        match self {
            Self {
                json_lines: true, ..
            } => Format::JsonLines,
            Self { json: true, .. } => Format::Json,
            Self { .. } => Format::Text,
        }
    }
}

/// How `ars ask` prints a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// The steps, then the answer.
    Text,
    /// One object at the end.
    Json,
    /// One object for each event, and one at the end.
    JsonLines,
}

/// `ars serve`.
#[derive(Debug, ClapArgs)]
pub struct Serve {
    /// Address to listen on; port 0 takes a free one. The default port is PORT, else 8787
    #[arg(long, value_name = "ADDR", value_parser = socket_address)]
    pub listen: Option<SocketAddr>,
    /// Where run records go; wins over the configuration
    #[arg(long, value_enum, value_name = "WHERE")]
    pub store: Option<Store>,
    /// Address of the state Worker; implies `--store worker`. Its bearer is `MEMORY_TOKEN`
    #[arg(
        long,
        value_name = "URL",
        env = "STATE_WORKER_URL",
        hide_env_values = true
    )]
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
    /// URL of the run's page, with its token. A dashboard in mode `token` also needs `ARS_TOKEN`,
    /// and one on another machine `ARS_SERVER`
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
    /// Configuration, of which `workspaceDir` and `[sandbox]` count here
    #[arg(
        long,
        value_name = "FILE",
        env = "SERVICE_CONFIG",
        hide_env_values = true
    )]
    pub config: Option<PathBuf>,
    /// Address of the state Worker, for a configuration at `state://KEY`
    #[arg(
        long,
        value_name = "URL",
        env = "STATE_WORKER_URL",
        hide_env_values = true
    )]
    pub state_url: Option<String>,
}

/// `ars runs watch`.
#[derive(Debug, ClapArgs)]
pub struct RunsWatch {
    /// Id of the run
    #[arg(value_name = "RUN", value_parser = |text: &str| RunId::parse(text))]
    pub id: RunId,
    /// Address of the service
    #[arg(long, value_name = "URL", env = "ARS_SERVER", hide_env_values = true)]
    pub server: String,
}

/// `ars doctor`.
#[derive(Debug, ClapArgs)]
pub struct Doctor {
    /// Also call the default model once, which costs a few tokens
    #[arg(long)]
    pub call_model: bool,
    /// Print each finding as a line of JSON {check, state, detail, mend?}
    #[arg(long)]
    pub json: bool,
    /// Check this service and the token in `ARS_TOKEN` instead of the installation
    #[arg(long, value_name = "URL", conflicts_with_all = ["call_model", "rehearsal"])]
    pub server: Option<String>,
    /// Address of the state Worker, as for `serve`
    #[arg(
        long,
        value_name = "URL",
        env = "STATE_WORKER_URL",
        hide_env_values = true
    )]
    pub state_url: Option<String>,
    /// Shared settings.
    #[command(flatten)]
    pub setup: Setup,
}

/// `ars completions`.
#[derive(Debug, ClapArgs)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

fn socket_address(text: &str) -> Result<SocketAddr, InvalidArgument> {
    text.parse().map_err(|_| InvalidArgument::SocketAddress)
}

fn effort(text: &str) -> Result<Effort, InvalidArgument> {
    Effort::parse(text).ok_or(InvalidArgument::Effort)
}

#[cfg(test)]
mod tests {
    #[test]
    fn command_line_is_well_formed() {
        super::command_line(&super::catalogue()).debug_assert();
    }

    #[test]
    fn only_a_subcommand_or_an_option_asks_for_help() {
        for (line, expected) in [
            ("ars", true),
            ("ars help", true),
            ("ars help runs", true),
            ("ars runs help list", true),
            ("ars runs list --help", true),
            ("ars ask -h", true),
            ("ars ask help", false),
            ("ars ask --agent coding help", false),
            ("ars ask -- --help", false),
            ("ars runs list help", false),
        ] {
            let arguments: Vec<_> = line.split(' ').map(Into::into).collect();
            assert_eq!(super::asks_for_help(&arguments), expected, "{line}");
        }
    }
}
