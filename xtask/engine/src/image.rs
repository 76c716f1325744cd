//! The bot's image: what it contains, and how the engine's API builds it.
//!
//! The context lies in `containers/bot/build`, where a deployment (wrangler.toml) finds it too. The
//! instructions are in `containers/bot/Dockerfile`.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use ars_workerd::{Progress, repo_root};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::{Engine, bot_binary, stamp};

/// The bot image's name; the tag is a content digest.
const NAME: &str = "ars-bot";
/// Hexadecimal digits in a tag.
pub(crate) const TAG_DIGITS: usize = 16;
/// The public authorities' certificates, as Debian keeps them.
const CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// A skill's file, in a folder named after it.
const SKILL: &str = "SKILL.md";
/// The image's stamp file.
pub(crate) const STAMP: &str = "build.json";
/// The stamp's path in the image (`containers/bot/Dockerfile`).
const STAMP_PLACE: &str = "/etc/ars/build.json";
/// The instructions, in the archive.
pub(crate) const DOCKERFILE: &str = "Dockerfile";
/// The data directory, below the image's root.
const DATA: &str = "root/data";
/// Writable by all users, because engines disagree on a copied folder's owner.
const DATA_MODE: u32 = 0o1777;
/// Number of kept earlier images: another checkout may be about to start one.
const KEPT: usize = 6;

/// An image the engine has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Name and tag together.
    pub name: String,
    /// Image size in bytes.
    pub bytes: u64,
    /// The binary's part in that.
    pub binary_bytes: u64,
}

/// Builds the bot, writes the image's context and returns the folder.
pub fn image_context(progress: Progress<'_>) -> Result<PathBuf> {
    let binary = bot_binary(progress)?;
    let dir = repo_root().join("containers/bot/build");
    // An earlier checkout's files must not remain.
    for folder in ["root", "skills"] {
        let folder = dir.join(folder);
        if folder.exists() {
            fs::remove_dir_all(&folder)
                .with_context(|| format!("cannot empty {}", folder.display()))?;
        }
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let data = dir.join(DATA);
    fs::create_dir(&data)
        .and_then(|()| fs::set_permissions(&data, Permissions::from_mode(DATA_MODE)))?;
    copy(&binary, &dir.join("ars"))?;
    copy(Path::new(CERTIFICATES), &dir.join("ca-certificates.crt"))?;
    for skill in
        fs::read_dir(repo_root().join("containers/bot/skills")).context("containers/bot/skills")?
    {
        let skill = skill?;
        let to = dir.join("skills").join(skill.file_name());
        fs::create_dir_all(&to)?;
        copy(&skill.path().join(SKILL), &to.join(SKILL))?;
    }
    fs::write(dir.join(STAMP), format!("{}\n", stamp())).context("the stamp")?;
    Ok(dir)
}

pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    let copied = fs::copy(from, to);
    copied
        .map(drop)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

/// Returns the bot's image; builds it when the engine does not have this checkout's.
pub fn bot_image(engine: &Engine, progress: Progress<'_>) -> Result<Image> {
    // Two builds of the same context would mix it up.
    let lock = repo_root().join("target");
    fs::create_dir_all(&lock)?;
    let lock = File::create(lock.join(".ars-image.lock"))?;
    lock.lock().context("the lock of the image")?;
    let context = image_context(progress)?;
    let name = format!("{NAME}:{}", tag(&context)?);
    if size(engine, &name)?.is_none() {
        progress("image: building");
        build(
            engine,
            &name,
            &archive(&context, &fs::read(context.join(STAMP))?)?,
        )?;
        forget_old(engine, NAME)?;
    }
    let bytes = size(engine, &name)?.context("the engine does not have the image it built")?;
    Ok(Image {
        name,
        bytes,
        binary_bytes: fs::metadata(context.join("ars"))?.len(),
    })
}

/// Builds the same image with another commit's stamp and a separate name, until [`Engine::forget`].
/// For the edge it is another deployment.
pub fn stamped_again(engine: &Engine, image: &Image, name: &str, commit: &str) -> Result<Image> {
    let dockerfile = format!("FROM {}\nCOPY {STAMP} {STAMP_PLACE}\n", image.name);
    let stamp = serde_json::json!({ "commit": commit }).to_string();
    let mut archive = tar::Builder::new(Vec::new());
    append(
        &mut archive,
        &[
            (STAMP, stamp.as_bytes()),
            (DOCKERFILE, dockerfile.as_bytes()),
        ],
    )?;
    build(engine, name, &archive.into_inner()?)?;
    let bytes = size(engine, name)?.context("the engine does not have the image it built")?;
    Ok(Image {
        name: name.to_owned(),
        bytes,
        ..image.clone()
    })
}

impl Engine {
    /// Removes an image that no container uses, also if it is gone already.
    pub fn forget(&self, image: &Image) -> Result<()> {
        let answer = self.api().delete(&format!("/images/{}", image.name))?;
        ensure!(
            answer.is_success() || answer.status == 404,
            "{}",
            answer.complaint()
        );
        Ok(())
    }
}

/// Covers everything in the image but the build time.
fn tag(context: &Path) -> Result<String> {
    let stamp: Value = serde_json::from_slice(&fs::read(context.join(STAMP))?)?;
    let content = archive(context, stamp["commit"].to_string().as_bytes())?;
    Ok(hex::encode(Sha256::digest(&content))[..TAG_DIGITS].to_owned())
}

/// Returns the context as an archive, with the Dockerfile, which lies beside it in the tree.
fn archive(context: &Path, stamp: &[u8]) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    // Leaves out who built it, and when.
    archive.mode(tar::HeaderMode::Deterministic);
    for file in ["ars", "ca-certificates.crt"] {
        archive.append_path_with_name(context.join(file), file)?;
    }
    let mut data = tar::Header::new_gnu();
    data.set_entry_type(tar::EntryType::Directory);
    data.set_mode(DATA_MODE);
    data.set_size(0);
    archive.append_data(&mut data, DATA, std::io::empty())?;
    archive.append_dir("skills", context.join("skills"))?;
    let mut skills: Vec<_> = fs::read_dir(context.join("skills"))?.collect::<Result<_, _>>()?;
    skills.sort_by_key(fs::DirEntry::file_name);
    for skill in skills {
        archive.append_dir_all(Path::new("skills").join(skill.file_name()), skill.path())?;
    }
    let dockerfile = fs::read(repo_root().join("containers/bot/Dockerfile"))
        .context("containers/bot/Dockerfile")?;
    append(&mut archive, &[(STAMP, stamp), (DOCKERFILE, &dockerfile)])?;
    Ok(archive.into_inner()?)
}

/// Adds files that lie nowhere.
pub(crate) fn append(archive: &mut tar::Builder<Vec<u8>>, files: &[(&str, &[u8])]) -> Result<()> {
    for (name, content) in files {
        let mut head = tar::Header::new_gnu();
        head.set_size(content.len() as u64);
        head.set_mode(0o644);
        archive.append_data(&mut head, name, *content)?;
    }
    Ok(())
}

fn build(engine: &Engine, name: &str, archive: &[u8]) -> Result<()> {
    build_with(engine, name, "", archive)
}

/// Builds with further engine API parameters, each after `&`.
pub(crate) fn build_with(
    engine: &Engine,
    name: &str,
    parameters: &str,
    archive: &[u8],
) -> Result<()> {
    let path = format!("/build?t={name}&dockerfile={DOCKERFILE}{parameters}");
    let answer = engine.api().call("POST", &path, archive)?;
    if !answer.is_success() {
        bail!("{}", answer.complaint());
    }
    // The status is a success before the build ends: its lines report errors.
    let lines = String::from_utf8_lossy(&answer.body).into_owned();
    let lines = lines
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    match lines
        .into_iter()
        .find_map(|line| line["error"].as_str().map(str::to_owned))
    {
        Some(error) => bail!("the image does not build: {error}"),
        None => Ok(()),
    }
}

pub(crate) fn size(engine: &Engine, name: &str) -> Result<Option<u64>> {
    let answer = engine.api().get(&format!("/images/{name}/json"))?;
    if answer.status == 404 {
        return Ok(None);
    }
    Ok(answer.json()?["Size"].as_u64())
}

/// Removes earlier builds' images that no container uses.
pub(crate) fn forget_old(engine: &Engine, name: &str) -> Result<()> {
    let prefix = format!("{name}:");
    let images = engine.api().get("/images/json")?.json()?;
    let mut known: Vec<(i64, String)> = Vec::new();
    for image in images.as_array().into_iter().flatten() {
        let tags = image["RepoTags"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        let ours = tags.filter(|tag| {
            tag.rsplit('/')
                .next()
                .is_some_and(|tag| tag.starts_with(&prefix))
        });
        known.extend(ours.map(|tag| (image["Created"].as_i64().unwrap_or(0), tag.to_owned())));
    }
    known.sort();
    for (_, tag) in known.iter().rev().skip(KEPT) {
        // The engine keeps an image that a container uses. Another process may have removed the image already.
        drop(engine.api().delete(&format!("/images/{tag}"))?);
    }
    Ok(())
}
