//! Bare repositories, and git over HTTP by `git http-backend`.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use super::answer::Answer;

/// Rejects pushes to protected branches, and pushes that rewrite a branch.
const HOOK: &str = "#!/bin/sh
for name in $(git config --get-all fake.protected); do
  case \"$1\" in refs/heads/$name)
    echo \"GH006: Protected branch update failed for $1.\" >&2
    exit 1
  esac
done
";

/// Runs git, which must succeed, and returns the output.
pub(super) fn git(path: &Path, arguments: &[&str]) -> String {
    let output = command(path, arguments).output().expect("git starts");
    assert!(
        output.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs git, and returns the output if it succeeds.
pub(super) fn try_git(path: &Path, arguments: &[&str]) -> Option<String> {
    let output = command(path, arguments).output().expect("git starts");
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn command(path: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    // The developer's configuration must not affect the fake.
    command
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    for who in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{who}_NAME"), "Ann")
            .env(format!("GIT_{who}_EMAIL"), "ann@example.test");
    }
    command
        .arg("-C")
        .arg(path)
        .args(["-c", "core.quotePath=false"])
        .args(arguments)
        .stdin(Stdio::null());
    command
}

/// Makes an empty bare repository with the branch `main`.
pub(super) fn init(path: &Path) {
    std::fs::create_dir_all(path).expect("the folder can be made");
    git(
        path,
        &["init", "--quiet", "--bare", "--initial-branch=main"],
    );
    for setting in ["http.receivepack", "receive.denyNonFastForwards"] {
        git(path, &["config", setting, "true"]);
    }
    let hook = path.join("hooks/update");
    std::fs::create_dir_all(path.join("hooks")).expect("the folder can be made");
    std::fs::write(&hook, HOOK).expect("the hook can be written");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).expect("the hook can be made executable");
}

/// Commits files on a branch, which begins at `from` if it is new. Returns the commit.
/// `None` deletes a file.
pub(super) fn commit(
    path: &Path,
    branch: &str,
    from: &str,
    files: &[(&str, Option<&str>)],
) -> String {
    let tree = tempfile::tempdir().expect("a temporary folder");
    let work = tree.path().join("tree");
    let target = work.to_str().expect("the path is text");
    git(path, &["clone", "--quiet", ".", target]);
    if try_git(&work, &["checkout", "--quiet", branch]).is_none() {
        let start = format!("origin/{from}");
        if try_git(&work, &["checkout", "--quiet", "-b", branch, &start]).is_none() {
            git(&work, &["checkout", "--quiet", "--orphan", branch]);
        }
    }
    for (name, content) in files {
        let file = work.join(name);
        match content {
            Some(text) => {
                std::fs::create_dir_all(file.parent().expect("a file has a folder"))
                    .expect("it can be made");
                std::fs::write(file, text).expect("the file can be written");
            }
            None => std::fs::remove_file(file).expect("the file can be removed"),
        }
    }
    git(&work, &["add", "--all"]);
    git(
        &work,
        &["commit", "--quiet", "--allow-empty", "--message", "change"],
    );
    git(
        &work,
        &[
            "-c",
            "core.hooksPath=/dev/null",
            "push",
            "--quiet",
            "origin",
            &format!("HEAD:{branch}"),
        ],
    );
    git(&work, &["rev-parse", "HEAD"]).trim().to_owned()
}

/// Serves a git request over HTTP.
pub(super) async fn serve(root: &Path, request: &super::request::Request, path: &str) -> Answer {
    let mut child = tokio::process::Command::new("git")
        .arg("http-backend")
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REMOTE_USER", "pusher")
        .env("PATH_INFO", path)
        .env("REQUEST_METHOD", request.method.as_str())
        .env("QUERY_STRING", &request.query)
        .env("CONTENT_TYPE", request.header("content-type"))
        .env("HTTP_CONTENT_ENCODING", request.header("content-encoding"))
        .env("HTTP_GIT_PROTOCOL", request.header("git-protocol"))
        .env("GIT_PROTOCOL", request.header("git-protocol"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("git starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let body = request.body.clone();
    let write = tokio::spawn(async move {
        // A rejected request is not read to the end.
        let _ = tokio::io::AsyncWriteExt::write_all(&mut stdin, &body).await;
    });
    let output = child.wait_with_output().await.expect("git ends");
    let _ = write.await;
    let end = output
        .stdout
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap_or(0);
    let head = String::from_utf8_lossy(&output.stdout[..end]).into_owned();
    let field = |name: &str| {
        head.lines().find_map(|line| {
            line.split_once(": ")
                .filter(|pair| pair.0 == name)
                .map(|pair| pair.1)
        })
    };
    let status = field("Status")
        .and_then(|text| text.split(' ').next()?.parse().ok())
        .unwrap_or(200);
    let body = output.stdout.get(end + 4..).unwrap_or_default().to_vec();
    let mut answer = Answer::text(status, body).header("cache-control", "no-cache");
    answer.media_type = "";
    let media_type = field("Content-Type").unwrap_or("text/plain").to_owned();
    answer.header("content-type", media_type)
}
