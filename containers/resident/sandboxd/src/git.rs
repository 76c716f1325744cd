//! Git as the daemon calls it: the git program with the daemon's settings.
//!
//! A call runs no hook and no monitor, waits at no prompt, uses only listed transports, and reads
//! no configuration but the daemon's and the repository's. Root's calls run in the mirror only,
//! which no other user can change. A call in a tree runs as the tree's user. A credential is in a
//! file for a single call, never in an argument or variable.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use ars_resident::daemon::{FailureKind, GitCredential, StepFailure};
use ars_resident::layout::{MIRROR, STATE};
use ars_resident::plan::User;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{
    failure::{Context as _, Result, invalid},
    process::{EndedProcess, Input, Program, Streams, run},
    runtime::{GLOBAL, Runtime, words},
    settings::Mode,
    stop::{Stop, Why},
};

/// Settings before every subcommand.
const SETTINGS: [&str; 11] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    // Without them git reads a home's `.config/git`, which the user's command may have written.
    "core.excludesFile=/dev/null",
    "core.attributesFile=/dev/null",
    "advice.detachedHead=false",
    "advice.addEmbeddedRepo=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
    "credential.helper=",
];
/// Transports that calls may use. `file` is the mirror's.
const TRANSPORTS: &str = "file:http:https";
/// A file without settings.
const NO_FILE: &str = "/dev/null";
/// The commit author's name.
const NAME: &str = "Agent Request Service";
/// The commit author's address.
const EMAIL: &str = "agent@localhost";
/// Maximum output bytes that a call returns.
const OUTPUT_MAX: usize = 8 << 20;
/// File mode for a credential file.
const SECRET_MODE: u32 = 0o600;

/// A single git call.
#[derive(Debug)]
pub(crate) struct GitCall<'a> {
    pub(crate) user: User,
    /// Folder to run in.
    pub(crate) cwd: PathBuf,
    pub(crate) args: Vec<OsString>,
    /// Credential for the code host.
    pub(crate) credential: Option<&'a GitCredential>,
    pub(crate) input: Input,
    /// Variables besides the settings.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// A shell script that calls git, which is the first argument. The others follow.
    pub(crate) script: Option<&'static str>,
}

/// A call's result.
#[derive(Debug)]
pub(crate) struct GitOutput {
    pub(crate) exit_code: i32,
    /// Bytes from standard output.
    pub(crate) stdout: Vec<u8>,
    /// Bytes from standard error.
    pub(crate) stderr: Vec<u8>,
}

impl GitOutput {
    /// Returns the output from a call that must succeed.
    pub(crate) fn succeeded(self, runtime: &Runtime) -> Result<Self> {
        if self.exit_code == 0 {
            return Ok(self);
        }
        Err(StepFailure {
            kind: FailureKind::Exit,
            exit_code: Some(self.exit_code),
            free_kib: runtime.free_kib(),
            stdout: String::from_utf8_lossy(&self.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&self.stderr).into_owned(),
        })
    }

    /// Returns the output as text without the line end.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout)
            .trim_end_matches('\n')
            .to_owned()
    }
}

impl<'a> GitCall<'a> {
    /// Makes a call by root in the mirror.
    pub(crate) fn in_mirror<const N: usize>(runtime: &Runtime, args: [&str; N]) -> Result<Self> {
        Ok(Self::new(
            User::ROOT,
            runtime.places.real(MIRROR)?,
            words(args).to_vec(),
        ))
    }

    /// Makes a call in a user's tree.
    pub(crate) fn in_tree<const N: usize>(user: User, tree: &Path, args: [&str; N]) -> Self {
        Self::new(user, tree.to_owned(), words(args).to_vec())
    }

    pub(crate) fn new(user: User, cwd: PathBuf, args: Vec<OsString>) -> Self {
        Self {
            user,
            cwd,
            args,
            credential: None,
            input: Input::Empty,
            variables: Vec::new(),
            script: None,
        }
    }

    pub(crate) fn with_index(self, index: &Path) -> Self {
        self.with_variable("GIT_INDEX_FILE", index)
    }

    /// Writes new objects to a folder. Those in the other folder are known.
    pub(crate) fn with_objects(self, objects: &Path, known: &Path) -> Self {
        self.with_variable("GIT_OBJECT_DIRECTORY", objects)
            .with_variable("GIT_ALTERNATE_OBJECT_DIRECTORIES", known)
    }

    fn with_variable(mut self, name: &str, value: &Path) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Makes it a script call, because a start in a tree costs more than a git call.
    pub(crate) fn with_script(mut self, script: &'static str) -> Self {
        self.script = Some(script);
        self
    }

    pub(crate) fn with_input(mut self, input: Input) -> Self {
        self.input = input;
        self
    }

    /// Runs the call. Any exit code is a result.
    pub(crate) async fn run(self, runtime: &Runtime, stop: &Stop) -> Result<GitOutput> {
        let (ended, streams) = self.run_streams(runtime, stop).await?;
        let heads = streams.heads(OUTPUT_MAX);
        Ok(GitOutput {
            exit_code: ended.exit_code,
            stdout: heads.stdout,
            stderr: heads.stderr,
        })
    }

    /// Runs the call and returns the streams.
    pub(crate) async fn run_streams(
        self,
        runtime: &Runtime,
        stop: &Stop,
    ) -> Result<(EndedProcess, Streams)> {
        let file = self
            .credential
            .map(|credential| CredentialFile::write(runtime, credential))
            .transpose()?;
        let program = self.program(runtime, file.as_ref())?;
        let owner = crate::users::owner(&runtime.settings.mode, program.user);
        let streams = Streams::create(&runtime.streams()?, owner).context("streams")?;
        let ended = run(runtime, program, &streams, stop).await?;
        drop(file);
        match ended.stopped {
            None => Ok((ended, streams)),
            Some(why) => {
                let heads = streams.heads(OUTPUT_MAX);
                let exit_code = (why == Why::TimedOut).then_some(ended.exit_code);
                let (stdout, stderr) = (lossy(&heads.stdout), lossy(&heads.stderr));
                Err(StepFailure {
                    exit_code,
                    free_kib: runtime.free_kib(),
                    stdout,
                    stderr,
                    ..StepFailure::from(why)
                })
            }
        }
    }

    fn program(self, runtime: &Runtime, credential: Option<&CredentialFile>) -> Result<Program> {
        let mut program = Program::of_root(&runtime.programs.git, &self.cwd);
        program.user = self.user;
        if let User::Unprivileged(_) = self.user {
            program.place = Some(runtime.place(self.user, &self.cwd, false)?);
        }
        if let Some(script) = self.script {
            program.words = words(["-c", script, "git"]).to_vec();
            program.words.insert(0, runtime.programs.sh.clone().into());
            program.words.push(runtime.programs.git.clone().into());
        } else {
            program = program.args(SETTINGS.iter().flat_map(|setting| words(["-c", setting])));
        }
        if let Some(file) = credential {
            program = program.args(["-c".into(), file.setting()]);
        }
        program = program.args(self.args);
        program.input = self.input;
        // On a host a tree's git is confined and cannot read the file, and the mirror has a single
        // owner.
        let global = match (&runtime.settings.mode, &program.place) {
            (Mode::Host(_), Some(_)) => NO_FILE.into(),
            (Mode::Host(_), None) | (Mode::Users, _) => runtime.places.real(GLOBAL)?,
        };
        let identity = [NAME, EMAIL, NAME, EMAIL].map(OsString::from);
        let variables = [
            "GIT_AUTHOR_NAME",
            "GIT_AUTHOR_EMAIL",
            "GIT_COMMITTER_NAME",
            "GIT_COMMITTER_EMAIL",
        ];
        program.variables = vec![
            ("GIT_CONFIG_NOSYSTEM".into(), "1".into()),
            ("GIT_CONFIG_GLOBAL".into(), global.into()),
            ("GIT_ALLOW_PROTOCOL".into(), TRANSPORTS.into()),
            ("GIT_OPTIONAL_LOCKS".into(), "0".into()),
            ("GIT_NO_LAZY_FETCH".into(), "1".into()),
            ("GIT_TEMPLATE_DIR".into(), OsString::new()),
            ("GIT_ASKPASS".into(), "true".into()),
        ];
        program
            .variables
            .extend(variables.map(OsString::from).into_iter().zip(identity));
        if self.script.is_some() {
            program.variables.extend(variables_of_settings());
        }
        program.variables.extend(self.variables);
        Ok(program)
    }
}

/// Returns the settings for a script's calls.
fn variables_of_settings() -> impl Iterator<Item = (OsString, OsString)> {
    let count = ("GIT_CONFIG_COUNT".into(), SETTINGS.len().to_string().into());
    let each = SETTINGS.iter().enumerate().flat_map(|(number, setting)| {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        [("KEY", name), ("VALUE", value)]
            .map(|(kind, text)| (format!("GIT_CONFIG_{kind}_{number}").into(), text.into()))
    });
    std::iter::once(count).chain(each)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes the daemon's git settings.
pub(crate) fn write_settings(runtime: &Runtime) -> io::Result<()> {
    let real = |path| {
        runtime
            .places
            .real(path)
            .map_err(|failure| io::Error::other(failure.stderr))
    };
    let mirror = real(MIRROR)?;
    let quoted = mirror
        .to_string_lossy()
        .replace('\\', "\\\\")
        .replace('"', "\\\"");
    let identity = format!("[user]\n\tname = {NAME}\n\temail = {EMAIL}\n");
    fs::write(
        real(GLOBAL)?,
        format!("[safe]\n\tdirectory = \"{quoted}\"\n{identity}"),
    )
}

/// A credential file for a single call.
#[derive(Debug)]
struct CredentialFile {
    path: PathBuf,
}

impl CredentialFile {
    fn write(runtime: &Runtime, credential: &GitCredential) -> Result<Self> {
        let name = format!("{STATE}/git-credentials-{}", uuid::Uuid::new_v4());
        let file = Self {
            path: runtime.places.real(&name)?,
        };
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true).mode(SECRET_MODE);
        let mut open = options.open(&file.path).context("credential")?;
        io::Write::write_all(&mut open, credential_line(credential)?.as_bytes())
            .context("credential")?;
        Ok(file)
    }

    fn setting(&self) -> OsString {
        store_helper(&self.path)
    }
}

impl Drop for CredentialFile {
    fn drop(&mut self) {
        // A remaining file is removed at the next start.
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the setting for a helper that reads a file.
fn store_helper(path: &Path) -> OsString {
    format!("credential.helper={}", store_command(path)).into()
}

/// Returns the helper that reads a file. Git passes it to a shell.
pub(crate) fn store_command(path: &Path) -> String {
    format!(
        "store --file='{}'",
        path.to_string_lossy().replace('\'', "'\\''")
    )
}

/// Returns the line for a credential file. Git offers it to that host only.
pub(crate) fn credential_line(credential: &GitCredential) -> Result<String> {
    let Some((scheme @ ("http" | "https"), host)) = credential.origin.split_once("://") else {
        return Err(invalid(
            "the origin of a credential begins with http:// or https://",
        ));
    };
    let host = host.trim_end_matches('/');
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-.:[]".contains(c);
    if host.is_empty() || !host.chars().all(is_host) {
        return Err(invalid("the origin of a credential is a scheme and a host"));
    }
    let user = utf8_percent_encode(&credential.username, NON_ALPHANUMERIC);
    let password = utf8_percent_encode(credential.password.expose(), NON_ALPHANUMERIC);
    Ok(format!("{scheme}://{user}:{password}@{host}\n"))
}

#[cfg(test)]
mod tests {
    use ars_resident::daemon::SecretText;

    use super::*;

    #[test]
    fn credential_is_one_line_for_one_host() {
        let credential = |origin: &str| GitCredential {
            origin: origin.into(),
            username: "x".into(),
            password: SecretText::new("a/b\nc@d"),
        };
        let line = credential_line(&credential("https://host:8443")).unwrap();
        assert_eq!(line, "https://x:a%2Fb%0Ac%40d@host:8443\n");
        for bad in [
            "ssh://host",
            "https://",
            "https://u@host",
            "https://host/path",
            "host",
            "https://h\nx",
        ] {
            let failure = credential_line(&credential(bad)).unwrap_err();
            assert!(!failure.stderr.contains("a/b"), "{bad}");
        }
    }
}
