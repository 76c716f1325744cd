//! Virtual environments with pinned Python packages, cached per pin set, and scripts in them.
#![expect(
    clippy::expect_used,
    reason = "a test tool that cannot go on fails the test"
)]
#![forbid(unsafe_code)]

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;

/// A test crate's Python scripts: `clients/*.py`, with the pins in `requirements.txt`.
#[derive(Debug, Clone, Copy)]
pub struct Scripts {
    /// Environment name in the cache.
    pub name: &'static str,
    /// The crate's folder.
    pub home: &'static str,
}

impl Scripts {
    /// Runs a script with `input` as JSON on standard input, and returns the JSON that it prints.
    ///
    /// # Panics
    /// When the script cannot be run, or fails.
    pub async fn run(self, script: &str, arguments: &[&str], input: &Value) -> Value {
        let python = tokio::task::spawn_blocking(move || self.interpreter(&cache()));
        let python = python.await.expect("the environment is made");
        let mut child = tokio::process::Command::new(python)
            .arg(Path::new(self.home).join("clients").join(script))
            .args(arguments)
            // The developer's keys and proxies must not affect the clients.
            .env_clear()
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("python starts");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        stdin
            .write_all(input.to_string().as_bytes())
            .await
            .expect("the client reads its input");
        drop(stdin);
        let output = child.wait_with_output().await.expect("the client ends");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{script} {arguments:?} failed: {errors}"
        );
        serde_json::from_slice(&output.stdout).expect("the client reports JSON")
    }

    /// Returns the environment's interpreter; the first caller on a machine installs it, others wait.
    fn interpreter(self, cache: &Path) -> PathBuf {
        let requirements = Path::new(self.home).join("requirements.txt");
        let pins = fs::read(&requirements).expect("the pins are readable");
        let digest = Sha256::digest(&pins);
        let version = hex::encode(&digest[..6]);
        let home = cache.join(format!("venv-{}-{version}", self.name));
        let python = home.join("bin/python");
        let complete = home.join("complete");
        fs::create_dir_all(cache).expect("the cache can be made");
        let lock = File::create(cache.join(format!("venv-{}.lock", self.name)));
        let lock = lock.expect("the cache is writable");
        lock.lock().expect("the cache can be locked");
        // The marker is written last, so that an interrupted installation is repeated.
        if !complete.exists() {
            must(
                Command::new("python3")
                    .args(["-m", "venv", "--clear"])
                    .arg(&home),
            );
            let pip = "-m pip install --quiet --no-input --disable-pip-version-check --retries=10 --no-deps -r";
            must(
                Command::new(&python)
                    .args(pip.split(' '))
                    .arg(&requirements),
            );
            File::create(&complete).expect("the cache is writable");
        }
        python
    }
}

/// `$ARS_CACHE`, else `$XDG_CACHE_HOME/ars`, else `~/.cache/ars`.
fn cache() -> PathBuf {
    let set = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("ARS_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("ars")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/ars")))
        .expect("ARS_CACHE, XDG_CACHE_HOME or HOME is set")
}

fn must(command: &mut Command) {
    let output = command.output().expect("python 3 with venv is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {errors}");
}
