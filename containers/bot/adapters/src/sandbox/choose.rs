//! Chooses a sandbox: each candidate is tried with a real command.

use std::{
    fs, io,
    path::Path,
    process::{Command, Output, Stdio},
    sync::Arc,
    thread,
};

use ars_types::{SandboxKind, SandboxNetwork};

use super::{
    SandboxSettings,
    access::{Access, Reach},
    bubblewrap::Bubblewrap,
    confinement::Sandbox,
    folders::Folders,
    groups::Groups,
    programs::TRUSTED_PATH,
    ruleset::Features,
    staged::Staged,
};

/// How a machine gets a sandbox.
const MEND: &str = "install bubblewrap (`apt install bubblewrap`), use a kernel with Landlock (Linux 6.2 or newer), or, \
                    as a user other than root, accept unconfined commands with sandbox.kind = \"none\"";
/// Maximum characters in the reason why a kind was skipped.
const MAX_SKIPPED_CHARS: usize = 300;
/// The file that the command leaves in its own folder.
const MARK: &str = "mark";
/// Content of a file that the command must not change.
const KEPT: &str = "kept";

/// Returns the sandbox, or why there is none and how to fix it. `stage` is a service folder that no
/// command reaches.
pub(crate) fn choose(
    settings: &SandboxSettings,
    folders: &Folders,
    stage: &Path,
) -> Result<Sandbox, String> {
    let kinds = match settings.kind {
        Some(kind) => vec![kind],
        None => vec![SandboxKind::Bubblewrap, SandboxKind::Landlock],
    };
    let features = Features::of_this_kernel();
    let mut problems = Vec::new();
    for kind in kinds {
        match candidate(kind, settings, folders, features) {
            Ok(sandbox) => {
                let skipped = (!problems.is_empty()).then(|| shortened(&problems.join("; ")));
                let groups = Groups::find(settings.limits);
                // After the trial, which leaves no files.
                let staged = Some(Arc::new(Staged::new(stage.to_owned(), folders.paths())));
                return Ok(Sandbox {
                    skipped,
                    groups,
                    staged,
                    ..sandbox
                });
            }
            Err(problem) => problems.push(format!("{kind}: {problem}")),
        }
    }
    Err(format!(
        "commands cannot be confined on this machine ({}): {MEND}",
        problems.join("; ")
    ))
}

fn candidate(
    kind: SandboxKind,
    settings: &SandboxSettings,
    folders: &Folders,
    features: Features,
) -> Result<Sandbox, String> {
    let network = settings.network_in(kind);
    let (folders, entry) = (folders.clone(), settings.entry.clone());
    let (bubblewrap, skipped) = (Bubblewrap::default(), None);
    // Looked for once a kind is chosen.
    let groups = Groups::none("not looked for");
    let staged = None;
    let mut sandbox = Sandbox {
        kind,
        network,
        may_listen: settings.may_listen,
        folders,
        features,
        bubblewrap,
        staged,
        entry,
        skipped,
        groups,
    };
    match kind {
        SandboxKind::None if rustix::process::geteuid().is_root() => Err("refused as root".into()),
        SandboxKind::None if network != SandboxNetwork::Open => {
            Err(format!("sandbox.network = \"{network}\" needs a sandbox"))
        }
        SandboxKind::None => Ok(sandbox),
        SandboxKind::Landlock if !features.files => {
            Err("the kernel has none, or an older one".into())
        }
        SandboxKind::Landlock if network != SandboxNetwork::Open && !features.tcp => Err(format!(
            "sandbox.network = \"{network}\" needs Linux 6.7 or newer"
        )),
        SandboxKind::Landlock => proven(sandbox),
        SandboxKind::Bubblewrap if network == SandboxNetwork::Proxy && sandbox.entry.is_none() => {
            Err("the path of the service's own program is not known".into())
        }
        SandboxKind::Bubblewrap => {
            let missing =
                || format!("bwrap is missing (`apt install bubblewrap`), or not in {TRUSTED_PATH}");
            sandbox.bubblewrap = Bubblewrap::find().ok_or_else(missing)?;
            proven(sandbox)
        }
    }
}

/// Returns a problem on a single line. It may quote a program.
fn shortened(problem: &str) -> String {
    problem
        .chars()
        .filter(|letter| !letter.is_control())
        .take(MAX_SKIPPED_CHARS)
        .collect()
}

/// Returns the sandbox if a command in it can write to its own folder and to no other.
fn proven(sandbox: Sandbox) -> Result<Sandbox, String> {
    match try_out(&sandbox) {
        Ok(None) => Ok(sandbox),
        Ok(Some(problem)) => Err(problem),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns how the sandbox fails; `None` if it works.
fn try_out(sandbox: &Sandbox) -> io::Result<Option<String>> {
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?;
    let (own, other) = (root.join("own"), root.join("other"));
    fs::create_dir(&own)?;
    fs::write(&other, KEPT)?;
    let output = run(sandbox, &own, &other)?;
    if !own.join(MARK).exists() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Ok(Some(
            errors
                .lines()
                .next()
                .unwrap_or("a command does not run in it")
                .to_owned(),
        ));
    }
    let is_confined = fs::read_to_string(&other)? == KEPT;
    Ok((!is_confined).then(|| "a command writes outside of its folder".to_owned()))
}

/// Runs the command in a separate thread, because the thread loses rights.
fn run(sandbox: &Sandbox, own: &Path, other: &Path) -> io::Result<Output> {
    // The way to the proxy is tried later, because it needs the runtime.
    let reach = match sandbox.network {
        SandboxNetwork::Open => Reach::Machine,
        SandboxNetwork::Proxy | SandboxNetwork::None => Reach::Nothing,
    };
    let access = Access {
        writable: vec![own.into()],
        readable: Vec::new(),
        temporary: own.into(),
        reach,
        entry: None,
        is_of_service: false,
    };
    let script = format!("echo x > \"$0/{MARK}\"; echo x > \"$1\"");
    let mut words = sandbox.arguments(&access);
    words.extend([
        "/bin/sh".into(),
        "-c".into(),
        script.into(),
        own.into(),
        other.into(),
    ]);
    let confined = || {
        sandbox.confine_this_thread(&access)?;
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .env_clear()
            .env("PATH", TRUSTED_PATH)
            .current_dir(own);
        command.stdin(Stdio::null()).output()
    };
    thread::scope(|scope| scope.spawn(confined).join())
        .unwrap_or_else(|_| Err(io::Error::other("its thread broke off")))
}
