//! The resident image on this machine: the stage `small` in `containers/resident/Dockerfile`.
//!
//! Its base is a Debian that is set up here, because a machine without an image registry must be
//! able to build it. A deployment builds the last stage on the public base instead. Not here: the
//! last stage on this machine (`full`).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use ars_workerd::{Progress, cache_dir, repo_root};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::image::{DOCKERFILE, STAMP, TAG_DIGITS, append, build_with, copy, forget_old, size};
use crate::{Engine, Image, debian, sandboxd_binary, stamp};

/// The image's name; the tag is a content digest.
const NAME: &str = "ars-resident";
/// The base image's name, with the Debian release.
const BASE: &str = "ars-debian";
/// The Debian release name.
const RELEASE: &str = "bookworm";
/// The daemon, in the context and the image.
const DAEMON: &str = "ars-sandboxd";
/// Packages in the image: what the daemon needs, and the sample repositories' tools.
const PACKAGES: &str = "bash ca-certificates git make procps python3 ripgrep tini zstd";
/// The Dockerfile stage to build.
const STAGE: &str = "small";

/// Builds the residents' daemon, writes their image's context and returns the folder.
pub fn resident_context(progress: Progress<'_>) -> Result<PathBuf> {
    let binary = sandboxd_binary(progress)?;
    let dir = repo_root().join("containers/resident/build");
    fs::create_dir_all(&dir).with_context(|| format!("cannot create {}", dir.display()))?;
    copy(&binary, &dir.join(DAEMON))?;
    fs::write(dir.join(STAMP), format!("{}\n", stamp())).context("the stamp")?;
    Ok(dir)
}

/// Returns the small resident image; builds it when the engine does not have this checkout's. The
/// first build sets up Debian, which takes minutes.
pub fn resident_image(engine: &Engine, progress: Progress<'_>) -> Result<Image> {
    let _lock = lock()?;
    let sources = Sources::read(progress)?;
    let name = sources.name(NAME, &[]);
    if size(engine, &name)?.is_none() {
        let base = base(engine, progress)?;
        progress("image of residents: building");
        let arguments = json!({ "BASE": base, "PACKAGES": PACKAGES });
        sources.build(engine, &name, &format!("&target={STAGE}"), &arguments)?;
        forget_old(engine, NAME)?;
    }
    sources.image(engine, name)
}

/// Takes the context's lock: two builds of the same context would mix it up.
pub(crate) fn lock() -> Result<File> {
    let lock = repo_root().join("target");
    fs::create_dir_all(&lock)?;
    let lock = File::create(lock.join(".ars-resident-image.lock"))?;
    lock.lock().context("the lock of the image")?;
    Ok(lock)
}

/// A resident image's content.
pub(crate) struct Sources {
    context: PathBuf,
    daemon: Vec<u8>,
    /// Text of the Dockerfile.
    pub(crate) dockerfile: Vec<u8>,
    stamp: Vec<u8>,
}

impl Sources {
    /// Builds the daemon and reads the content.
    pub(crate) fn read(progress: Progress<'_>) -> Result<Self> {
        let context = resident_context(progress)?;
        let read = |path: PathBuf| {
            fs::read(&path).with_context(|| format!("cannot read {}", path.display()))
        };
        let daemon = read(context.join(DAEMON))?;
        let dockerfile = read(repo_root().join("containers/resident").join(DOCKERFILE))?;
        let stamp = read(context.join(STAMP))?;
        Ok(Self {
            context,
            daemon,
            dockerfile,
            stamp,
        })
    }

    /// Returns name and tag for an image with this content and `more`.
    pub(crate) fn name(&self, name: &str, more: &[u8]) -> String {
        // The build time is no part of the digest.
        let stamp = serde_json::from_slice::<Value>(&self.stamp).unwrap_or_default();
        let commit = stamp["commit"].to_string();
        let parts = [&self.daemon[..], &self.dockerfile, commit.as_bytes(), more];
        let digest = parts.iter().fold(Sha256::new(), Sha256::chain_update);
        format!("{name}:{}", &hex::encode(digest.finalize())[..TAG_DIGITS])
    }

    /// Builds the image with further engine API parameters.
    pub(crate) fn build(
        &self,
        engine: &Engine,
        name: &str,
        parameters: &str,
        arguments: &Value,
    ) -> Result<()> {
        // Packages are downloaded, and an engine's bridge need not reach the network.
        let arguments = percent_encoded(&arguments.to_string());
        let parameters = format!("{parameters}&networkmode=host&buildargs={arguments}");
        let mut archive = tar::Builder::new(Vec::new());
        archive.append_path_with_name(self.context.join(DAEMON), DAEMON)?;
        append(
            &mut archive,
            &[(STAMP, &self.stamp), (DOCKERFILE, &self.dockerfile)],
        )?;
        build_with(engine, name, &parameters, &archive.into_inner()?)
    }

    /// Returns the built image.
    pub(crate) fn image(&self, engine: &Engine, name: String) -> Result<Image> {
        let bytes = size(engine, &name)?.context("the engine does not have the image it built")?;
        Ok(Image {
            name,
            bytes,
            binary_bytes: self.daemon.len() as u64,
        })
    }
}

/// Imports a minimal Debian as an engine image; returns the name.
pub(crate) fn base(engine: &Engine, progress: Progress<'_>) -> Result<String> {
    let name = format!("{BASE}:{RELEASE}");
    if size(engine, &name)?.is_some() {
        return Ok(name);
    }
    debian::ensure_packages(&debian::BASE, progress)?;
    progress("base image of residents: Debian's packages, some minutes");
    let place = cache_dir()?.join("debian-base");
    // An interrupted set-up's folder is not continued.
    remove(&place)?;
    let mut setup = Command::new("debootstrap");
    setup
        .args(["--variant=minbase", RELEASE])
        .arg(&place)
        .stdin(Stdio::null());
    let output = setup.output().context("debootstrap")?;
    let said = String::from_utf8_lossy(&output.stdout);
    ensure!(
        output.status.success(),
        "as root: debootstrap failed: {}",
        said.lines().last().unwrap_or_default()
    );
    let mut archive = tar::Builder::new(Vec::new());
    archive.follow_symlinks(false);
    for folder in [
        "var/cache/apt/archives",
        "var/lib/apt/lists",
        "dev",
        "proc",
        "sys",
    ] {
        let folder = place.join(folder);
        remove(&folder)?;
        fs::create_dir_all(&folder)?;
    }
    archive
        .append_dir_all(".", &place)
        .context("the base image's archive")?;
    let path = format!("/images/create?fromSrc=-&repo={name}");
    let answer = engine.api().call("POST", &path, &archive.into_inner()?)?;
    ensure!(answer.is_success(), "{}", answer.complaint());
    remove(&place)?;
    ensure!(
        size(engine, &name)?.is_some(),
        "the engine does not have the base image"
    );
    Ok(name)
}

pub(crate) fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Encodes every byte but letters and digits.
pub(crate) fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_arguments_survive_a_query() {
        assert_eq!(
            percent_encoded(r#"{"A": "b&c"}"#),
            "%7B%22A%22%3A%20%22b%26c%22%7D"
        );
    }

    /// The daemon knows exactly the image's users.
    #[test]
    fn image_has_a_user_for_each_thread() {
        let dockerfile =
            fs::read_to_string(repo_root().join("containers/resident").join(DOCKERFILE)).unwrap();
        assert!(
            dockerfile.contains("seq 1 17") && dockerfile.contains("2000 + number"),
            "{dockerfile}"
        );
    }
}
