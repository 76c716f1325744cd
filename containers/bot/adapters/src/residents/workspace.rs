//! The workspace of a thread on a resident.

mod listing;

use std::{
    collections::BTreeSet,
    num::NonZeroU64,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use ars_bot_ports::{
    Checkpoint, Entry, ExecOutcome, ExecRequest, GitAnswer, GitRequest, LINE_BYTES, Placement,
    PushOutcome, RefusedHost, Release, SearchHit, Workspace, WorkspaceError,
};
use ars_codehost::diff::Commit;
use ars_resident::{
    daemon,
    names::{RunBranch, Sha, TreePath},
    output::{TIMEOUT_EXIT, WRITE_MAX_CHARS},
    wire::{CheckOutFrom, ReadRequest, WriteRequest},
};
use ars_types::{RefName, RunId};
use async_trait::async_trait;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use tokio_util::sync::CancellationToken;

use super::{
    script::{ESCAPED, MISSING, OTHER_KIND, quoted, resolving, words},
    tree::{Executed, ResidentTree},
};
use crate::{
    egress::MAX_REPORTED,
    workspace::{Capture, compile_pattern},
};
use listing::{entry, hits};

/// Settings before every subcommand of git.
const SAFE_GIT: &str = "env GIT_CONFIG_GLOBAL=/dev/null GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 \
                        GIT_OPTIONAL_LOCKS=0 git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.quotePath=false \
                        -c credential.helper= -c advice.detachedHead=false -c gc.auto=0 -c maintenance.auto=false --literal-pathspecs";
/// Most bytes of a diff.
const DIFF_LIMIT: usize = 1 << 20;
/// Most bytes of a list of files or of found lines.
const LISTING_LIMIT: usize = 32 << 20;
/// Characters of base64 in one command.
const UPLOAD_CHARS: usize = 48_000;
/// Exit code of a command after the replacement of its container.
const REPLACED_EXIT: i32 = 137;
/// Seconds of a search, which then returns its results so far.
const SEARCH_SECONDS: u32 = 30;

/// A thread's tree on a resident, as a workspace.
pub(super) struct ResidentWorkspace {
    pub(super) tree: ResidentTree,
    pub(super) repository: String,
    /// The origin, without credentials.
    pub(super) origin: String,
    pub(super) placement: Placement,
    /// The checkpoint from which a lost tree was made again.
    pub(super) restored_from: Option<String>,
    /// Hosts that the reader of the run knows as refused.
    pub(super) known_refused: Mutex<BTreeSet<String>>,
}

impl ResidentWorkspace {
    /// Returns the error of a script that rejects a path.
    fn path_error(path: &str, exit_code: i32, errors: &str) -> WorkspaceError {
        match exit_code {
            ESCAPED => WorkspaceError::PathEscape(path.to_owned()),
            MISSING => WorkspaceError::NotFound(path.to_owned()),
            OTHER_KIND => WorkspaceError::Refused(format!("{path} is not a regular file")),
            code => {
                WorkspaceError::Infra(format!("exit {code}: {}", ars_events::clean(errors, 200)))
            }
        }
    }

    /// Returns the refused hosts that no earlier command of the run reported.
    fn new_refused(&self, refused: Vec<daemon::RefusedHost>) -> Vec<RefusedHost> {
        let mut known = self
            .known_refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_new = |host: &daemon::RefusedHost| {
            known.len() < MAX_REPORTED && known.insert(host.host.clone())
        };
        let new = refused.into_iter().filter(is_new);
        new.map(
            |daemon::RefusedHost {
                 host,
                 reason,
                 setting,
             }| RefusedHost {
                host,
                reason,
                setting,
            },
        )
        .collect()
    }

    /// Writes a file that a route of residents cannot carry: other bytes than text, or another name.
    async fn upload(&self, path: &str, content: &[u8]) -> Result<(), WorkspaceError> {
        let never = CancellationToken::new();
        let made = self.tree.text("mktemp", &never).await?;
        let file = quoted(made.trim());
        let text = BASE64_STANDARD.encode(content);
        for piece in text.as_bytes().chunks(UPLOAD_CHARS) {
            let piece = String::from_utf8_lossy(piece);
            self.tree
                .text(&format!("printf %s {} >>{file}", quoted(&piece)), &never)
                .await?;
        }
        let target = quoted(path);
        let script = format!(
            "cd -P . && r=$PWD; p=$(realpath -m -- {target}) || exit {MISSING}\n\
             case \"$p\" in \"$r\"/*) ;; *) exit {ESCAPED};; esac\n\
             case \"$p/\" in *[/].[gG][iI][tT]/*) exit {OTHER_KIND};; esac\n\
             [ ! -e \"$p\" ] || [ -f \"$p\" ] || exit {OTHER_KIND}\n\
             mkdir -p -- \"$(dirname -- \"$p\")\" && t=$(mktemp -- \"$(dirname -- \"$p\")/.ars-XXXXXX\") && base64 -d \
             {file} >\"$t\" && [ \"$(stat -c %s \"$t\")\" = {} ] && {{ m=$(stat -c %a -- \"$p\" 2>/dev/null) || m=644; chmod \"$m\" \"$t\"; }} && mv -f -- \
             \"$t\" \"$p\"; c=$?; rm -f {file}; exit $c",
            content.len()
        );
        let (head, _, _) = self.tree.script(&script, 0, &never).await?;
        match head.exit_code {
            0 => Ok(()),
            code => Err(Self::path_error(path, code, &head.errors)),
        }
    }
}

/// Returns the commit as residents name it. A host with another kind of id has no residents.
fn sha_of(commit: &Commit) -> Result<Sha, WorkspaceError> {
    Sha::parse(commit.as_str()).map_err(|error| WorkspaceError::Refused(error.to_string()))
}

/// Rejects a path into git's own files.
fn not_gits_own(path: &str) -> Result<(), WorkspaceError> {
    if path
        .split('/')
        .any(|part| part.eq_ignore_ascii_case(".git"))
    {
        return Err(WorkspaceError::Refused(
            "files under .git are git's own: use git commands".to_owned(),
        ));
    }
    Ok(())
}

fn not_empty(path: &str) -> Result<(), WorkspaceError> {
    if path.is_empty() {
        return Err(WorkspaceError::Refused(
            "the path must not be empty".to_owned(),
        ));
    }
    if path.contains('\0') {
        return Err(WorkspaceError::Refused(
            "the path must not contain a zero byte".to_owned(),
        ));
    }
    Ok(())
}

#[async_trait]
impl Workspace for ResidentWorkspace {
    fn repository(&self) -> Option<&str> {
        Some(&self.repository)
    }

    fn origin(&self) -> Option<&str> {
        Some(&self.origin)
    }

    async fn pushed_branch(&self) -> Option<RefName> {
        RefName::parse(self.tree.note().pushed?.branch.as_str()).ok()
    }

    async fn push(
        &self,
        commit: &Commit,
        branch: &RefName,
        cancel: &CancellationToken,
    ) -> Result<PushOutcome, WorkspaceError> {
        let not_own = |_| WorkspaceError::Refused(format!("{branch} is no branch of the service"));
        let own = RunBranch::parse(branch.as_str()).map_err(not_own)?;
        let answer = self.tree.push(sha_of(commit)?, own, cancel).await?;
        Ok(match answer.pushed {
            true => PushOutcome::Pushed,
            false => PushOutcome::Rejected(answer.reason.unwrap_or_default()),
        })
    }

    async fn check_out(
        &self,
        pull_request: u64,
        commit: &Commit,
        cancel: &CancellationToken,
    ) -> Result<(), WorkspaceError> {
        let no_number = || WorkspaceError::Refused("there is no pull request #0".to_owned());
        let number = NonZeroU64::new(pull_request).ok_or_else(no_number)?;
        self.tree
            .check_out(sha_of(commit)?, CheckOutFrom::PullRequest(number), cancel)
            .await
    }

    fn restored_from(&self) -> Option<&str> {
        self.restored_from.as_deref()
    }

    async fn checkpoint(
        &self,
        run: &RunId,
        cancel: &CancellationToken,
    ) -> Result<Option<Checkpoint>, WorkspaceError> {
        self.tree.checkpoint(run, cancel).await
    }

    fn placement(&self) -> Placement {
        self.placement.clone()
    }

    async fn release(&self, how: Release) {
        self.tree.release(how == Release::Stopped).await;
    }

    async fn head(&self) -> Result<Option<String>, WorkspaceError> {
        let script = "git rev-parse --verify --quiet 'HEAD^{commit}' || true";
        let head = self.tree.text(script, &CancellationToken::new()).await?;
        Ok(Some(head.trim().to_owned()).filter(|head| !head.is_empty()))
    }

    async fn diff(&self) -> Result<String, WorkspaceError> {
        // A separate repository without settings reads the objects of the tree's, and tracked repositories inside it are
        // not compared by `add`, as for a local tree.
        let base = quoted(self.tree.note().base.as_str());
        let script = format!(
            "d=$(mktemp -d) && mkdir \"$d/objects\" \"$d/refs\" && echo 'ref: refs/heads/none' >\"$d/HEAD\" || exit 1\n\
             export GIT_ALTERNATE_OBJECT_DIRECTORIES=\"$PWD/.git/objects\"\n\
             h=$({SAFE_GIT} rev-parse --verify --quiet 'HEAD^{{commit}}') || h=--empty\n\
             g() {{ {SAFE_GIT} -c core.excludesFile=\"$r/.git/info/exclude\" --git-dir \"$d\" --work-tree \"$r\" \"$@\"; \
             }}\nr=$PWD; g read-tree \"$h\" && {{ printf '.\\0'; g ls-files --stage -z | LC_ALL=C sed -zn \
             's/^160000 [^\\t]*\\t/:(exclude,literal)/p'; }} >\"$d/compared\" && {{ g --no-literal-pathspecs add \
             --intent-to-add --ignore-errors --pathspec-file-nul --pathspec-from-file=\"$d/compared\" || [ $? = 1 ]; \
             }} && g diff --no-color --no-ext-diff --no-textconv --submodule=short --ignore-submodules=dirty \
             --src-prefix=a/ --dst-prefix=b/ {base} --\n\
             c=$?; rm -rf \"$d\"; exit $c"
        );
        let (head, output, is_cut) = self
            .tree
            .script(&script, DIFF_LIMIT, &CancellationToken::new())
            .await?;
        if head.exit_code != 0 {
            return Err(Self::path_error(".", head.exit_code, &head.errors));
        }
        let kept = if is_cut {
            output
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1)
        } else {
            output.len()
        };
        let mut text = String::from_utf8_lossy(&output[..kept]).into_owned();
        if is_cut {
            text.push_str("[… the rest of this diff is not shown …]\n");
        }
        Ok(text)
    }

    async fn exec(
        &self,
        request: ExecRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<ExecOutcome, WorkspaceError> {
        // One stream keeps the order of writing. The other one has notes of the resident only.
        let command = format!("exec 2>&1\n{}", request.command);
        let executed = self.tree.exec(&command, request.timeout, cancel).await?;
        let mut output = Capture::both_ends(request.output_limit);
        for notice in self.tree.take_notices() {
            output.push(format!("{notice}\n").as_bytes());
        }
        let Executed::Ended(answer) = executed else {
            output.push(
                b"[the resident's container was replaced while the command ran: its effects are unknown, and it was not \
                  run again]",
            );
            let (output, truncated) = output.into_text();
            return Ok(ExecOutcome {
                exit_code: REPLACED_EXIT,
                output,
                truncated,
                ..ExecOutcome::default()
            });
        };
        output.push(answer.stdout.as_bytes());
        if !answer.stderr.is_empty() {
            output.push(b"\n");
            output.push(answer.stderr.as_bytes());
        }
        let timed_out = answer.exit_code == TIMEOUT_EXIT && !answer.stderr.is_empty();
        let (output, is_cut) = output.into_text();
        let truncated = is_cut || answer.truncated;
        let refused = self.new_refused(answer.refused);
        let reached = Vec::new();
        Ok(ExecOutcome {
            exit_code: answer.exit_code,
            output,
            truncated,
            timed_out,
            refused,
            reached,
        })
    }

    async fn git(
        &self,
        request: GitRequest<'_>,
        cancel: &CancellationToken,
    ) -> Result<GitAnswer, WorkspaceError> {
        let script = format!("{SAFE_GIT} {}", words(request.arguments));
        let (head, output, truncated) = self
            .tree
            .script(&script, request.output_limit, cancel)
            .await?;
        Ok(GitAnswer {
            exit_code: head.exit_code,
            output,
            truncated,
        })
    }

    async fn read(&self, path: &str, limit: u64) -> Result<(Vec<u8>, u64), WorkspaceError> {
        not_empty(path)?;
        let never = CancellationToken::new();
        if let Ok(plain) = TreePath::parse(path) {
            let (resource, thread_key) = (self.tree.note().resource, self.tree.thread.clone());
            let request = ReadRequest {
                resource,
                thread_key,
                path: plain,
            };
            let read = self.tree.file_call(&never, || {
                Box::pin(self.tree.residents.read(&request, &never))
            });
            match read.await {
                // The text of other bytes than UTF-8 has this character in their place.
                Ok(answer) if !answer.truncated && !answer.content.contains('\u{fffd}') => {
                    let mut bytes = answer.content.into_bytes();
                    let size = bytes.len() as u64;
                    bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
                    return Ok((bytes, size));
                }
                // The script distinguishes a folder from a missing file.
                Ok(_) | Err(WorkspaceError::NotFound(_) | WorkspaceError::PathEscape(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let script = format!(
            "{}[ -f \"$p\" ] || exit {OTHER_KIND}; stat -L -c %s -- \"$p\"; head -c {limit} -- \"$p\"",
            resolving(path)
        );
        let (head, output, _) = self
            .tree
            .script(&script, limit.saturating_add(32), &never)
            .await?;
        if head.exit_code != 0 {
            return Err(Self::path_error(path, head.exit_code, &head.errors));
        }
        let unreadable = || WorkspaceError::Infra(format!("{path}: its size is not known"));
        let end = output
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or_else(unreadable)?;
        let size = String::from_utf8_lossy(&output[..end])
            .parse()
            .map_err(|_| unreadable())?;
        Ok((output[end + 1..].to_vec(), size))
    }

    async fn write(&self, path: &str, content: &[u8]) -> Result<(), WorkspaceError> {
        not_empty(path)?;
        not_gits_own(path)?;
        let text = std::str::from_utf8(content)
            .ok()
            .filter(|text| text.chars().count() <= WRITE_MAX_CHARS);
        let (Ok(plain), Some(text)) = (TreePath::parse(path), text) else {
            return self.upload(path, content).await;
        };
        let (resource, thread_key) = (self.tree.note().resource, self.tree.thread.clone());
        let request = WriteRequest {
            resource,
            thread_key,
            path: plain,
            content: text.to_owned(),
        };
        let never = CancellationToken::new();
        let written = self.tree.file_call(&never, || {
            Box::pin(self.tree.residents.write(&request, &never))
        });
        written.await.map(drop)
    }

    async fn list(&self, path: &str, limit: usize) -> Result<(Vec<Entry>, bool), WorkspaceError> {
        not_empty(path)?;
        // A deleted file stays one of git's names until the deletion is committed, and `stat` then skips it.
        let script = format!(
            "{}{SAFE_GIT} ls-files --cached --others --exclude-standard -z -- \"$p\" | LC_ALL=C sort -zu | xargs -0 -r \
             stat --printf '%f %s %n\\0' -- | head -z -n {}",
            resolving(path),
            limit.saturating_add(1)
        );
        let (head, output, is_cut) = self
            .tree
            .script(&script, LISTING_LIMIT, &CancellationToken::new())
            .await?;
        if matches!(head.exit_code, ESCAPED | MISSING) {
            return Err(Self::path_error(path, head.exit_code, &head.errors));
        }
        let mut entries: Vec<Entry> = output.split(|byte| *byte == 0).filter_map(entry).collect();
        let has_more = is_cut || entries.len() > limit;
        entries.truncate(limit);
        Ok((entries, has_more))
    }

    async fn search(
        &self,
        pattern: &str,
        path: &str,
        limit: usize,
    ) -> Result<(Vec<SearchHit>, bool), WorkspaceError> {
        not_empty(path)?;
        let compiled = compile_pattern(pattern)?;
        let timeout = Duration::from_secs(SEARCH_SECONDS.into()).as_secs();
        let script = format!(
            "{}e=$(mktemp); {{ timeout {timeout} {SAFE_GIT} grep --untracked --no-color -I -n -z -P -e {} -- \"$p\"; echo $? \
             >\"$e\"; }} | LC_ALL=C cut -b 1-{} | head -n {}; c=$(cat \"$e\"); rm -f \"$e\"; exit \"$c\"",
            resolving(path),
            quoted(pattern),
            // The path and the number of the line precede it.
            LINE_BYTES + 4_096,
            limit.saturating_add(1)
        );
        let (head, output, is_cut) = self
            .tree
            .script(&script, LISTING_LIMIT, &CancellationToken::new())
            .await?;
        let is_late = match head.exit_code {
            // The end of the pipe ends git.
            0 | 1 | 141 => false,
            TIMEOUT_EXIT => true,
            ESCAPED | MISSING => return Err(Self::path_error(path, head.exit_code, &head.errors)),
            _ => {
                let text = ars_events::clean(&head.errors, 200);
                return Err(WorkspaceError::Refused(format!(
                    "`pattern` cannot be searched on a resident: {text}"
                )));
            }
        };
        let mut hits = hits(&output, &compiled);
        let has_more = is_cut || is_late || hits.len() > limit;
        hits.truncate(limit);
        Ok((hits, has_more))
    }
}
