//! The virtual environment of the pinned clients, created once per set of pins and cached.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use sha2::{Digest as _, Sha256};

const REQUIREMENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/requirements.txt");

/// Returns the environment's interpreter. The first caller on a machine installs it, and concurrent callers wait.
pub(crate) fn python() -> PathBuf {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| made(&cache())).clone()
}

/// `$ARS_CACHE`, else `$XDG_CACHE_HOME/ars`, else `~/.cache/ars`.
fn cache() -> PathBuf {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("ARS_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|dir| dir.join("ars")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/ars")))
        .expect("ARS_CACHE, XDG_CACHE_HOME or HOME is set")
}

fn made(cache: &Path) -> PathBuf {
    let pins = fs::read(REQUIREMENTS).expect("the pins are readable");
    let digest = Sha256::digest(&pins);
    let name: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    let home = cache.join(format!("venv-models-{name}"));
    let python = home.join("bin/python");
    let complete = home.join("complete");
    fs::create_dir_all(cache).expect("the cache can be made");
    let lock = File::create(cache.join("venv-models.lock")).expect("the cache is writable");
    lock.lock().expect("the cache can be locked");
    // The marker is written last, so that an interrupted installation is repeated.
    if !complete.exists() {
        must(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home));
        let pip = "-m pip install --quiet --no-input --disable-pip-version-check --retries=10 --no-deps -r";
        must(Command::new(&python).args(pip.split(' ')).arg(REQUIREMENTS));
        File::create(&complete).expect("the cache is writable");
    }
    python
}

fn must(command: &mut Command) {
    let output = command.output().expect("python 3 with venv is installed");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {errors}");
}
