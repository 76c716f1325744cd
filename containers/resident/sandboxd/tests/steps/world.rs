//! A workspace with a repository to provision from.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ars_resident::daemon::{
    Answer, CommandEnd, GitCredential, Job, SecretText, StepFailure, StepInput, StepRequest,
    Transfer,
};
use ars_resident::layout::tree;
use ars_resident::lifecycle::Step;
use ars_resident::names::{BackupId, ExecCommand, LockfileKey, Sha, StrictThreadKey, TableCommand};
use ars_resident::plan::{
    AttachContext, CycleContext, PlanStep, SpareContext, attach, cycle_step, exec, install,
    make_spare,
};
use ars_resident::pool::PoolUser;
use ars_resident::thread::TreeDecision;
use ars_resident_testkit::Unconfined;
use ars_sandboxd::{Daemon, Mode, Progress, Settings, StoreLinks};
use ars_types::StrictRefName;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub const INSTALL: &str = "mkdir -p node_modules/left-pad node_modules/.cache packages/a/node_modules/b \
    && echo pad > node_modules/left-pad/index.js && echo c > node_modules/.cache/x \
    && echo b > packages/a/node_modules/b/index.js";
pub const BUILD: &str = "mkdir -p dist && cp node_modules/left-pad/index.js dist/out.js";
pub const TOKEN: &str = "s3cret-of-the-host";
pub const ORIGIN: &str = "https://host.example/acme/app.git";
const STEP_BUDGET_MS: i64 = 60_000;

/// A daemon, and the code host's repository.
pub struct World {
    pub dir: TempDir,
    pub daemon: Arc<Daemon>,
    pub has_users: bool,
    ids: AtomicU64,
}

/// The values that provisioning found.
pub struct Provisioned {
    pub sha: Sha,
    pub key: LockfileKey,
}

impl World {
    /// Returns a world for each mode that this test can run in: users need root.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::new(false)];
        if rustix::process::geteuid().is_root() {
            all.push(Self::new(true));
        }
        all
    }

    pub fn new(has_users: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        // Thread users enter the folders above their trees.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let daemon = Arc::new(open(dir.path(), has_users));
        Self {
            dir,
            daemon,
            has_users,
            ids: AtomicU64::new(1),
        }
    }

    /// Replaces the daemon, as after a power loss.
    pub fn restart(&mut self) {
        self.daemon = Arc::new(open(self.dir.path(), self.has_users));
    }

    pub fn real(&self, path: &str) -> PathBuf {
        self.dir
            .path()
            .join("w")
            .join(path.strip_prefix("/workspace/").unwrap())
    }

    pub fn origin(&self) -> String {
        self.dir.path().join("origin.git").display().to_string()
    }

    /// Creates the repository at the code host with a single commit.
    pub fn create_origin(&self) {
        let work = self.dir.path().join("work");
        git(
            self.dir.path(),
            &["init", "-q", "--bare", "-b", "main", "origin.git"],
        );
        git(self.dir.path(), &["init", "-q", "-b", "main", "work"]);
        fs::create_dir_all(work.join("packages/a")).unwrap();
        fs::create_dir_all(work.join("src")).unwrap();
        for (name, text) in [
            ("README.md", "# app\n"),
            ("package-lock.json", "{}\n"),
            ("packages/a/package.json", "{}\n"),
            ("src/app.js", "1;\n"),
            (".gitignore", "node_modules\ndist\n"),
        ] {
            fs::write(work.join(name), text).unwrap();
        }
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-q", "-m", "first"]);
        git(&work, &["push", "-q", "../origin.git", "main"]);
    }

    /// Performs a step for a request.
    pub async fn run(&self, step: PlanStep, input: StepInput) -> Result<Answer, StepFailure> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        self.run_as(Job::Request { id }, step, input).await
    }

    pub async fn run_as(
        &self,
        job: Job,
        step: PlanStep,
        input: StepInput,
    ) -> Result<Answer, StepFailure> {
        let request = StepRequest {
            job,
            step,
            input,
            lock_wait_ms: None,
        };
        self.daemon
            .perform(&request, &Progress::default(), &CancellationToken::new())
            .await
            .result
    }

    /// Performs a cycle step and returns the last answer.
    pub async fn cycle(
        &self,
        step: Step,
        context: &CycleContext<'_>,
    ) -> Result<Answer, StepFailure> {
        let mut last = Answer::Done;
        for (number, plan) in cycle_step(step, context, STEP_BUDGET_MS)
            .unwrap()
            .into_iter()
            .enumerate()
        {
            let backup = BackupId::parse(format!("{}-{number}", step.as_str())).unwrap();
            let input = match step {
                Step::Snapshot => StepInput::Upload {
                    backup,
                    to: Transfer::Engine,
                },
                _ => StepInput::None,
            };
            last = self.run_as(Job::Cycle { attempt: 1 }, plan, input).await?;
        }
        Ok(last)
    }

    /// Provisions from the code host, as the lifecycle orders the steps.
    pub async fn provision(&self) -> Provisioned {
        self.create_origin();
        let origin = self.origin();
        let (install, build) = (
            TableCommand::parse(INSTALL).unwrap(),
            TableCommand::parse(BUILD).unwrap(),
        );
        let main = StrictRefName::parse("main").unwrap();
        let mut context = CycleContext {
            origin: &origin,
            git_ref: Some(&main),
            install: Some(&install),
            build: Some(&build),
            ..CycleContext::default()
        };
        for step in [
            Step::AwaitRestores,
            Step::UnmountRestores,
            Step::CleanWorkspace,
            Step::GitSetup,
            Step::Clone,
            Step::LockMirror,
            Step::AdoptCheckpoints,
        ] {
            self.cycle(step, &context).await.unwrap();
        }
        assert_eq!(
            output(self.cycle(Step::DetectDefaultBranch, &context).await).stdout,
            "main\n"
        );
        let sha = Sha::parse(
            output(self.cycle(Step::RevParse, &context).await)
                .stdout
                .trim(),
        )
        .unwrap();
        context.sha = Some(&sha);
        let Answer::Listing { text } = self.cycle(Step::LockfileKey, &context).await.unwrap()
        else {
            panic!()
        };
        assert!(text.contains("package-lock.json"), "{text}");
        let key = LockfileKey::of_listing(&text);
        context.key = Some(&key);
        for step in [Step::CheckoutClone, Step::Install, Step::LinkDeps] {
            self.cycle(step, &context).await.unwrap();
        }
        let built = output(self.cycle(Step::Build, &context).await);
        assert_eq!(built.exit_code, 0, "{built:?}");
        for step in [Step::Snapshot, Step::Mark] {
            self.cycle(step, &context).await.unwrap();
        }
        Provisioned { sha, key }
    }

    /// Provisions, and attaches a thread with a new tree. Returns the thread.
    pub async fn provision_tree(&self, user: PoolUser) -> StrictThreadKey {
        let (provisioned, key) = (self.provision().await, thread("load:1"));
        self.attach(&provisioned, &key, user, TreeDecision::Create)
            .await;
        key
    }

    /// Attaches a thread, as the engine does.
    pub async fn attach(
        &self,
        provisioned: &Provisioned,
        thread: &StrictThreadKey,
        user: PoolUser,
        tree: TreeDecision,
    ) -> Vec<Answer> {
        self.attach_from(provisioned, thread, user, tree, false)
            .await
    }

    /// Makes the spare tree and attaches a thread with it.
    pub async fn attach_spare(
        &self,
        provisioned: &Provisioned,
        thread: &StrictThreadKey,
        user: PoolUser,
    ) -> Vec<Answer> {
        let main = StrictRefName::parse("main").unwrap();
        let mut answers = Vec::new();
        let deps = Some(&provisioned.key);
        for step in make_spare(SpareContext {
            git_ref: &main,
            user,
            deps,
            origin: ORIGIN,
        }) {
            answers.push(self.run(step, StepInput::None).await.unwrap());
        }
        answers.extend(
            self.attach_from(provisioned, thread, user, TreeDecision::Create, true)
                .await,
        );
        answers
    }

    async fn attach_from(
        &self,
        provisioned: &Provisioned,
        thread: &StrictThreadKey,
        user: PoolUser,
        tree: TreeDecision,
        takes_spare: bool,
    ) -> Vec<Answer> {
        let main = StrictRefName::parse("main").unwrap();
        let command = TableCommand::parse(INSTALL).unwrap();
        let mut steps = vec![install(&provisioned.key, &provisioned.sha, &command)];
        steps.extend(attach(&AttachContext {
            thread,
            git_ref: &main,
            user,
            tree,
            takes_spare,
            needs_fetch: false,
            has_token: true,
            readonly: false,
            deps: Some(&provisioned.key),
            origin: ORIGIN,
        }));
        let mut answers = Vec::new();
        for step in steps {
            let input = match step.name.as_str() {
                "credential-write" => StepInput::Credential(GitCredential {
                    origin: "https://host.example".into(),
                    username: "x-access-token".into(),
                    password: SecretText::new(TOKEN),
                }),
                _ => StepInput::None,
            };
            let name = step.name.clone();
            answers.push(
                self.run(step, input)
                    .await
                    .unwrap_or_else(|failure| panic!("{name}: {failure:?}")),
            );
        }
        answers
    }

    /// Runs a command in a thread's tree.
    pub async fn exec(
        &self,
        thread: &StrictThreadKey,
        user: PoolUser,
        text: &str,
        ms: i64,
    ) -> CommandEnd {
        let command = ExecCommand::parse(text).unwrap();
        output(
            self.run(
                exec(thread, &main_ref(), user, command, ms),
                StepInput::None,
            )
            .await,
        )
    }

    pub fn tree(&self, thread: &StrictThreadKey) -> PathBuf {
        self.real(&tree(thread, &main_ref()))
    }
}

pub fn open(dir: &Path, has_users: bool) -> Daemon {
    Daemon::open(Settings {
        root: dir.join("w"),
        homes: dir.join("h"),
        mode: if has_users {
            Mode::Users
        } else {
            Mode::Host(Arc::new(Unconfined))
        },
        links: if has_users {
            StoreLinks::Hard
        } else {
            StoreLinks::Copy
        },
        environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
        of_service: Vec::new(),
        build: "test".into(),
    })
    .unwrap()
}

pub fn main_ref() -> StrictRefName {
    StrictRefName::parse("main").unwrap()
}

pub fn thread(name: &str) -> StrictThreadKey {
    StrictThreadKey::parse(name).unwrap()
}

pub fn pool(number: usize) -> PoolUser {
    PoolUser::all().nth(number).unwrap()
}

pub fn output(answer: Result<Answer, StepFailure>) -> CommandEnd {
    match answer {
        Ok(Answer::Command(end)) => end,
        other => panic!("{other:?}"),
    }
}

/// Runs the test's own git.
pub fn git(folder: &Path, args: &[&str]) -> String {
    let settings = [
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@localhost",
        "-c",
        "safe.directory=*",
    ];
    let done = Command::new("git")
        .args(settings)
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "git {args:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Waits for a condition.
pub async fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Returns whether a process has this text in the arguments.
pub fn is_running(text: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut arguments = processes.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    arguments.any(|arguments| String::from_utf8_lossy(&arguments).contains(text))
}
