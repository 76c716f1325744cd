//! A hostile repository under each sandbox.
//! Its test targets reach nothing outside, and the bot answers throughout.
//!
//! An attack succeeds if its output has a word that only the attacked place has, or if it changed something on this
//! machine. What it changes in a private file system of the sandbox does not count. Without a sandbox the same attacks
//! succeed, which shows that the drill can fail. The suites of an honest repository pass in the same sandbox.

use std::{
    collections::BTreeSet,
    fs,
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use ars_bot_adapters::sandbox::trusted;
use ars_testkit::Reply;
use ars_tests_drills::{
    Bot, Machine, PACKAGE, Registry, Setup, answers, results, secrets, shown_with, until,
};
use rustix::process::geteuid;
use serde_json::json;

use crate::{PROGRAM, kills::over};

/// The content of everything that no attack may read or change. No script contains it.
const CANARY: &str = "canary-of-the-machine";
/// The output of an attack that succeeded. No script contains it.
const REACHED: &str = "reached-it";
/// A user id that owns no files of this machine.
const NOBODY: u32 = 65_534;
/// An argument by which processes that outlived their command are found.
const SURVIVOR: &str = "98764";
/// Longest that the probe may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// The start of each script.
/// `$data` is the data directory of the bot, `$machine` the folder around it, with its home.
const PREAMBLE: &str = "tree=$(pwd -P); data=${tree%/workspaces/*}; machine=${data%/*}; word=canary; word=$word-of\n\
    reached() { echo reached\"-it\"; }; exec 2>&1\n";

/// An attack: its target, its commands, and whether it succeeds without a sandbox.
/// Others are left out there: they would end this test, or they meet limits of every kind.
const ATTACKS: &[(&str, &str, bool)] = &[
    (
        "siblings",
        r#"cat "$data"/workspaces/other/tree/private.txt; echo x >> "$data"/workspaces/other/tree/private.txt"#,
        true,
    ),
    ("store", r#"cat "$data"/store.sqlite3; grep -rsh $word "$data"; echo x >> "$data"/store.sqlite3"#, true),
    (
        "links",
        r#"ln "$data"/store.sqlite3 hard && cat hard && echo x >> hard; ln -s "$data"/store.sqlite3 soft && cat soft"#,
        true,
    ),
    (
        "processes",
        r#"for p in /proc/[0-9]*; do { tr '\0' '\n' < $p/environ; timeout 0.2 head -qc 99 $p/fd/[3-9]*; } & done 2>/dev/null | grep -a $word"#,
        true,
    ),
    (
        "users",
        r#"cat "$machine"/home/.ssh/id; grep -q root: /etc/shadow && reached; ls /root/.ssh /root/.cargo/registry && reached"#,
        true,
    ),
    (
        "persistence",
        r#"for place in "$machine"/home/.bashrc /etc/cron.d/hostile /etc/profile.d/hostile.sh /var/spool/cron/hostile; do
            echo x >> $place; done
        for folder in $(echo "$PATH" | tr : ' ') "$RUSTUP_HOME"; do echo x > $folder/hostile; done"#,
        true,
    ),
    ("loopback", r#"bash -c "exec 3<>/dev/tcp/127.0.0.1/$(cat port)" && reached"#, true),
    (
        "metadata_service",
        // The proxy refuses each by 403. Without the proxy there is no connection.
        r#"for host in 169.254.169.254 168.63.129.16 100.100.100.200 192.0.0.192 [fd00:ec2::254] [fd20:ce::254]; do
            [ "$(curl -s -m 2 -o /dev/null -w '%{http_code}' http://$host/)" = 403 ] || reached
            [ "$(curl -s -m 0.5 --noproxy '*' -o /dev/null -w '%{http_code}' http://$host/)" = 000 ] || reached; done"#,
        false,
    ),
    (
        "git",
        r#"trap_command="sh -c 'echo x >> $machine/trapped; cat'"
        for key in filter.trap.clean filter.trap.smudge filter.trap.process core.fsmonitor diff.trap.command diff.trap.textconv \
            core.pager core.sshCommand core.editor diff.external; do git config $key "$trap_command"; done
        git config filter.trap.required true; git config core.hooksPath hooks; mkdir -p hooks
        for hook in post-checkout post-index-change pre-commit reference-transaction; do
            printf '#!/bin/sh\necho x >> %s/trapped\n' "$machine" > hooks/$hook; chmod +x hooks/$hook; done
        echo '* filter=trap diff=trap' > .gitattributes; echo changed >> README.md"#,
        false,
    ),
    (
        // The process outside of the sandbox.
        "neighbours",
        r#"for process in $(grep -lzx 600 /proc/[0-9]*/cmdline | cut -d/ -f3); do
            prlimit --pid $process --nofile=512:512 && reached; renice -n 19 -p $process && reached; done
        chmod 4755 "$machine"/home/.ssh/id && reached; true"#,
        true,
    ),
    ("signals", "kill -9 -1; kill -9 $PPID; true", false),
    (
        "survivor",
        "setsid sleep 98764 > /dev/null 2>&1 & (setsid setsid sleep 98764 &) > /dev/null 2>&1; true",
        false,
    ),
    (
        // A limit of thousands would be met by this test's own processes too late, and by the machine before.
        "forks",
        r#"most=$(bash -c 'ulimit -u'); [ "$most" = unlimited ] && [ "$(id -u)" != 0 ] && reached
        [ "$(id -u)" = 0 ] || [ "$most" -gt 1024 ] || perl -e 'for (1..1100) { defined(my $p = fork) or exit 0; $p or do { sleep 60; exit } } print "reached", "-it\n"'"#,
        false,
    ),
    (
        "memory",
        r#"perl -e '$x = "x" x (1 << 46); print "reached", "-it\n"'
        echo 0 > /proc/self/oom_score_adj; grep -qx 1000 /proc/self/oom_score_adj || reached
        for place in / /dev; do echo x > $place/hostile && reached; done
        echo x > /dev/shm/x && [ "$(df -k --output=size /dev/shm | tail -1)" -gt 1048576 ] && reached; true"#,
        false,
    ),
    (
        "disk",
        "truncate -s 1T large && reached; dd if=/dev/zero of=large bs=1 count=1 seek=1T && reached",
        false,
    ),
    (
        "devices",
        "mount -t tmpfs none /mnt && reached; chroot / true && reached; mknod device b 8 0 && cat device && reached",
        false,
    ),
    (
        "metadata",
        r#"for file in "$data"/meta/*.json; do rm -f $file && mkfifo $file; done; ln -s /dev/zero "$data"/meta/zero.json
        mknod -m 666 "$data"/meta/device.json c 1 5; mkfifo ../meta.json"#,
        true,
    ),
    // The last one: the commands after it have no tree.
    ("tree", r#"cd ..; mv tree away && ln -s / tree; rmdir home && ln -s / home; true"#, true),
];

/// The suites of an honest repository: the program that each needs, and its command.
const HONEST: &[(&str, &str)] = &[
    ("python3", "/usr/bin/python3 -m unittest -q test_app"),
    ("npm", "unset NO_PROXY no_proxy npm_config_noproxy; npm ci --no-audit --no-fund && node --test"),
    ("cargo", "unset NO_PROXY no_proxy; cd rust && cargo test -q"),
];

/// Returns the repository. Its scripts know the port of a listener of this machine.
fn repository(port: u16, registry: &Registry) -> Vec<(&'static str, String)> {
    let mut makefile = String::new();
    let mut files = registry.dependents();
    for (name, script, _) in ATTACKS {
        makefile += &format!(".PHONY: {name}\n{name}:\n\t-@sh attacks/{name}.sh\n");
        let path: &'static str = Box::leak(format!("attacks/{name}.sh").into_boxed_str());
        files.push((path, format!("{PREAMBLE}{script}\n")));
    }
    let python = "import subprocess, tempfile, unittest\n\nclass App(unittest.TestCase):\n    def test_app(self):\n        \
        with tempfile.TemporaryFile() as file:\n            file.write(subprocess.check_output(['echo', 'x']))\n";
    let node = format!(
        "const test = require('node:test');\nconst {{ execSync }} = require('node:child_process');\n\
         test('app', () => {{ if (String(execSync('echo x')) !== 'x\\n' || require('{PACKAGE}') !== 'hello') throw new Error(); }});\n"
    );
    let rust = format!("#[test]\nfn app() {{\n    assert_eq!({PACKAGE}::TEXT, \"hello\");\n}}\n");
    let rest = [
        ("Makefile", makefile),
        ("port", port.to_string()),
        ("test_app.py", python.to_owned()),
        ("test/app.test.js", node),
        ("rust/src/lib.rs", rust),
    ];
    files.extend(rest);
    files
}

/// The kinds of sandbox that work here. A missing one is named in the output.
fn kinds() -> Vec<&'static str> {
    if trusted("bwrap").is_none() {
        eprintln!("SKIPPED: the drill under bubblewrap, which is not installed");
        return vec!["landlock"];
    }
    vec!["bubblewrap", "landlock"]
}

/// Returns whether commands find a program on this machine.
/// Cargo is in the home of root, which others cannot open.
fn is_found(program: &str, user: Option<u32>) -> bool {
    let is_open = user.is_none() || program != "cargo";
    let is_found = is_open
        && Command::new("sh")
            .args(["-c", &format!("command -v {program}")])
            .output()
            .unwrap()
            .status
            .success();
    if !is_found {
        eprintln!("SKIPPED: the honest suite of {program}, which this user does not have");
    }
    is_found
}

/// Asks `/healthz` until it is dropped. Each question must be answered.
struct Prober {
    is_over: Arc<AtomicBool>,
    answered: Arc<AtomicUsize>,
    asking: tokio::task::JoinHandle<()>,
}

impl Prober {
    fn start(bot: &Bot) -> Self {
        let url = format!("{}/healthz", bot.url().unwrap());
        let (is_over, answered) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let (stop, count) = (Arc::clone(&is_over), Arc::clone(&answered));
        let asking = tokio::spawn(async move {
            let client = reqwest::Client::builder().timeout(PROBE_TIMEOUT).build().unwrap();
            let mut interval = tokio::time::interval(Duration::from_millis(50));
            while !stop.load(Ordering::Relaxed) {
                interval.tick().await;
                assert_eq!(client.get(&url).send().await.unwrap().status(), 200);
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        Self { is_over, answered, asking }
    }

    /// Returns the number of answers.
    async fn end(self) -> usize {
        self.is_over.store(true, Ordering::Relaxed);
        self.asking.await.unwrap();
        self.answered.load(Ordering::Relaxed)
    }
}

/// A machine with a bot and targets of attacks.
/// These are a process outside of the sandbox with a word in its environment, and files.
struct Ground {
    machine: Machine,
    bot: Bot,
    registry: Registry,
    bystander: Child,
    _listener: TcpListener,
}

impl Ground {
    /// `commands` are the calls of the model, by the request.
    async fn make(kind: &str, user: Option<u32>, commands: [(&'static str, Vec<String>); 2]) -> Self {
        let (listener, registry) = (TcpListener::bind("127.0.0.1:0").unwrap(), Registry::start().await);
        let mut environment = Vec::new();
        if user.is_some() {
            // The tools in the home of root are closed to others.
            environment.push(("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()));
        } else if let Ok(home) = std::env::var("HOME") {
            let rustup = std::env::var("RUSTUP_HOME").unwrap_or(format!("{home}/.rustup"));
            environment.push(("RUSTUP_HOME", rustup));
        }
        let egress = match kind {
            "none" => String::new(),
            _ => format!("[sandbox.egress]\nallow = [\"localhost:{}\"]\n", registry.port()),
        };
        let setup = Setup {
            files: repository(listener.local_addr().unwrap().port(), &registry),
            config: format!("[sandbox]\nkind = \"{kind}\"\n{egress}"),
            environment,
            user,
            ..Setup::default()
        };
        let machine = Machine::with(PROGRAM, setup, move |body| {
            let messages = body["messages"].to_string();
            let asked = commands.iter().find(|(words, _)| messages.contains(words));
            let command = asked.and_then(|(_, commands)| commands.get(answers(body)));
            command.map_or_else(
                || Reply::text("Done."),
                |command| Reply::tool("bash", json!({ "command": command })),
            )
        })
        .await;
        let mut bystander = Command::new("sleep");
        bystander.arg("600").env("SECRET", CANARY);
        for name in
            ["data/workspaces/other/tree/private.txt", "data/store.sqlite3", "home/.ssh/id", "home/.bashrc"]
        {
            let path = machine.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, CANARY).unwrap();
        }
        if let Some(user) = user {
            use std::os::unix::process::CommandExt as _;
            machine.give_to(user);
            bystander.uid(user).gid(user);
        }
        let bystander = bystander.spawn().unwrap();
        let bot = machine.bot().await;
        let health = bot.read("/healthz").await;
        assert!(health.contains(&format!("\"{kind}\"")), "{health}");
        Self { machine, bot, registry, bystander, _listener: listener }
    }

    /// Runs the commands that a request names, in a new thread. Returns their results.
    async fn run(&self, words: &str) -> (String, Vec<(bool, String)>) {
        let before = self.machine.vendor.requests().len();
        let answered = self.bot.ask(&json!({ "text": words, "thread": words.replace(' ', "-") })).await;
        let (status, answer) = answered.unwrap().unwrap();
        assert_eq!(status, 200, "{answer}");
        over(&self.machine).await;
        let asked = self.machine.vendor.requests();
        assert!(asked.len() > before, "{answer}");
        (answer["run"]["id"].as_str().unwrap().to_owned(), results(&asked.last().unwrap().body))
    }

    /// Returns the attacks that changed something on this machine.
    fn changed_by(&mut self) -> BTreeSet<&'static str> {
        let is_kept =
            |name: &str| fs::read_to_string(self.machine.path(name)).is_ok_and(|text| text == CANARY);
        let hostile_folders = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .chain(std::env::var_os("RUSTUP_HOME").map(PathBuf::from))
            .any(|folder| folder.join("hostile").exists());
        let hostile_files = ["/etc/cron.d/hostile", "/etc/profile.d/hostile.sh", "/var/spool/cron/hostile"];
        let has_hostile = hostile_folders || hostile_files.iter().any(|path| PathBuf::from(path).exists());
        let entries = |name: &str| {
            let folder = fs::read_dir(self.machine.path(name)).into_iter().flatten();
            folder.map(|entry| entry.unwrap()).collect::<Vec<_>>()
        };
        let is_odd = |entry: &fs::DirEntry| !entry.file_type().unwrap().is_file();
        let is_link =
            |name: &str| entries("data/workspaces").iter().any(|place| place.path().join(name).is_symlink());
        let found = [
            ("siblings", !is_kept("data/workspaces/other/tree/private.txt")),
            ("store", !is_kept("data/store.sqlite3")),
            ("users", !is_kept("home/.ssh/id")),
            ("persistence", has_hostile || !is_kept("home/.bashrc")),
            ("metadata", entries("data/meta").iter().any(is_odd)),
            ("tree", is_link("tree") || is_link("home")),
            ("git", self.machine.path("trapped").exists()),
            ("signals", self.bystander.try_wait().unwrap().is_some()),
        ];
        found.into_iter().filter(|(_, is_found)| *is_found).map(|(name, _)| name).collect()
    }
}

impl Drop for Ground {
    fn drop(&mut self) {
        let _ = self.bystander.kill();
        let _ = self.bystander.wait();
    }
}

/// Returns the attacks with a success in their output.
fn shown_by(names: &[&'static str], reported: &[(bool, String)]) -> BTreeSet<&'static str> {
    assert_eq!(reported.len(), names.len(), "{reported:#?}");
    let reported = names.iter().zip(reported);
    let shown = reported.filter(|(_, (_, said))| said.contains(CANARY) || said.contains(REACHED));
    shown.map(|(name, _)| *name).collect()
}

fn targets(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("make -s {name} 2>&1")).collect()
}

async fn drill(kind: &'static str, user: Option<u32>) {
    let names: Vec<_> = ATTACKS.iter().map(|(name, ..)| *name).collect();
    let honest: Vec<_> = HONEST.iter().filter(|(program, _)| is_found(program, user)).collect();
    let suites = honest.iter().map(|(_, command)| (*command).to_owned()).collect();
    let commands = [("run the tests", targets(&names)), ("be honest", suites)];
    let mut ground = Ground::make(kind, user, commands).await;
    let prober = Prober::start(&ground.bot);

    let (run, reported) = ground.run("run the tests").await;
    for (name, (_, said)) in names.iter().zip(&reported) {
        assert!(secrets::seen_in(said).is_empty(), "{kind}: {name}: {said}");
    }
    until("no process outlives its command", || shown_with(SURVIVOR).is_empty()).await;
    // The service's own git reads the tree.
    ground.bot.read(&format!("/runs/{run}?tab=changes")).await;
    let succeeded: BTreeSet<_> = shown_by(&names, &reported).union(&ground.changed_by()).copied().collect();
    assert!(succeeded.is_empty(), "{kind}: {succeeded:?}\n{reported:#?}");

    let (_, passed) = ground.run("be honest").await;
    assert_eq!(passed.len(), honest.len());
    for ((program, _), (is_error, said)) in honest.iter().zip(&passed) {
        assert!(!is_error && !said.contains("exit 1"), "{kind}: {program}: {said}");
    }
    let served = ground.registry.served();
    for (program, file) in [("npm", "greeting-1.0.0.tgz"), ("cargo", "greeting-1.0.0.crate")] {
        let is_expected = honest.iter().any(|(name, _)| *name == program);
        assert_eq!(served.iter().any(|path| path == file), is_expected, "{kind}: {served:?}");
    }
    let probes = prober.end().await;
    eprintln!("{kind}: {} attacks, {} honest suites, {probes} probes answered", names.len(), honest.len());
    assert!(probes > names.len());
    assert!(ground.changed_by().is_empty(), "{kind}");
    ground.bot.terminate().await;
}

/// Returns the user for drills as a plain user; `None` if this process is one.
pub(crate) fn plain_user() -> Option<u32> {
    geteuid().is_root().then_some(NOBODY)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_repository_is_confined() {
    for kind in kinds() {
        drill(kind, None).await;
    }
}

/// The same as a plain user, if this process is root and can become one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_repository_of_a_plain_user_is_confined() {
    if !geteuid().is_root() {
        eprintln!("SKIPPED: the other drill ran as a plain user already");
        return;
    }
    for kind in kinds() {
        drill(kind, plain_user()).await;
    }
}

/// Without a sandbox the attacks succeed, so their failure in the drills is the work of the sandbox.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attacks_succeed_without_a_sandbox() {
    let names: Vec<_> =
        ATTACKS.iter().filter(|(.., is_control)| *is_control).map(|(name, ..)| *name).collect();
    let commands = [("run the tests", targets(&names)), ("be honest", Vec::new())];
    let mut ground = Ground::make("none", plain_user(), commands).await;
    let (_, reported) = ground.run("run the tests").await;
    let succeeded: BTreeSet<_> = shown_by(&names, &reported).union(&ground.changed_by()).copied().collect();
    let expected: BTreeSet<_> = names.iter().copied().collect();
    assert_eq!(succeeded, expected, "{reported:#?}");
    ground.bot.terminate().await;
}
