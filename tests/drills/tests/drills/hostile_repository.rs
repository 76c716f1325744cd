//! A hostile repository in each sandbox. Its test targets reach nothing outside, and the bot
//! answers throughout.
//!
//! An attack succeeds if the output has a word that only the attacked place has, or if it changed
//! something on this machine. Changes in the sandbox's private file system do not count. Without a
//! sandbox the same attacks succeed, which shows that the drill can fail. An honest repository's
//! suites pass in the same sandbox.

use std::{
    collections::BTreeSet,
    fs::{self, Permissions},
    net::TcpListener,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::{Child, Command},
};

use ars_bot_adapters::sandbox::trusted;
use ars_testkit::{Reply, leave_out};
use ars_tests_drills::{
    Bot, Machine, PACKAGE, Registry, Setup, answers, results, secrets, shown_with, until,
};
use rustix::process::geteuid;
use serde_json::json;
use tempfile::TempDir;

use crate::{PROGRAM, kills::over, probes::Prober};

/// The content that no attack may read or change. No script contains it.
const CANARY: &str = "canary-of-the-machine";
/// Output from an attack that succeeded. No script contains it.
const REACHED: &str = "reached-it";
/// A user id that owns no files on this machine.
const NOBODY: u32 = 65_534;
/// An argument by which processes that outlived their command are found.
const SURVIVOR: &str = "98764";
/// Memory for a run in a control group.
const RUN_MEMORY_BYTES: u64 = 512 << 20;
/// Start of each script. `$data` is the bot's data directory, `$machine` the folder around it, with
/// the home.
const PREAMBLE: &str = "tree=$(pwd -P); data=${tree%/workspaces/*}; machine=${data%/*}; word=canary; word=$word-of\n\
    reached() { echo reached\"-it\"; }; exec 2>&1\n";

/// An attack: target, commands, and whether it succeeds without a sandbox. Others are left out
/// there: they would end this test, or they meet limits in every kind.
const ATTACKS: &[(&str, &str, bool)] = &[
    (
        "siblings",
        r#"cat "$data"/workspaces/other/tree/private.txt; echo x >> "$data"/workspaces/other/tree/private.txt"#,
        true,
    ),
    (
        "store",
        r#"cat "$data"/store.sqlite3; grep -rsh $word "$data"; echo x >> "$data"/store.sqlite3"#,
        true,
    ),
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
    (
        "loopback",
        r#"bash -c "exec 3<>/dev/tcp/127.0.0.1/$(cat port)" && reached"#,
        true,
    ),
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
        // The process outside the sandbox.
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
        // A limit in the thousands is not used up: the processes would fill this machine first.
        "forks",
        r#"[ "$(bash -c 'ulimit -u')" = unlimited ] && [ "$(id -u)" != 0 ] && reached; true"#,
        false,
    ),
    (
        // A process obtains half its limit, so the limit refuses the rest.
        "memory",
        r#"map() { perl -MPOSIX -e 'exit(syscall((POSIX::uname())[4] eq "x86_64" ? 9 : 222, 0, 0 + $ARGV[0], 3, 34, -1, 0) == -1)' $1; }
        most=$(ulimit -d); [ "$most" -gt 0 ] || reached
        map $((most * 512)) || reached; map $((most * 1024 + (64 << 20))) && reached
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
    // The last attack: the commands after it have no tree.
    (
        "tree",
        r#"cd ..; mv tree away && ln -s / tree; rmdir home && ln -s / home; true"#,
        true,
    ),
];

/// Processes that fill their memory together, each less than a run's limit, and end when all have.
/// They are tried only where a run has a control group.
const FILL: &str = r#"mkdir filled; for n in 1 2 3 4; do
    perl -e 'vec(my $x, 160 << 20, 8) = 1; mkdir "filled/$ARGV[0]"; sleep 1 until 4 == (() = glob "filled/*")' $n &
    done; wait; [ "$(ls filled | wc -l)" = 4 ] && echo reached"-it""#;
/// Words in a result whose run reached the memory limit.
const FILL_ENDED: &str = "memory limit of a run was reached";

/// A fork bomb, which is tried only where a run has a control group. Elsewhere, as root, it would
/// use up the machine's processes.
const BOMB: &str = "perl -e 'while (1) { fork }'";
/// Words in a result whose run reached the process limit and was killed.
const BOMB_ENDED: &str = "process limit of a run was reached";

/// An honest repository's suites: the program that each needs, and the command.
const HONEST: &[(&str, &str)] = &[
    (
        "/usr/bin/pip3",
        "unset NO_PROXY no_proxy; /usr/bin/python3 -m pip install -q --target deps -r requirements.txt && \
         PYTHONPATH=deps /usr/bin/python3 -m unittest -q test_app",
    ),
    (
        "npm",
        "unset NO_PROXY no_proxy npm_config_noproxy; npm ci --no-audit --no-fund && node --test",
    ),
    ("cargo", "unset NO_PROXY no_proxy; cd rust && cargo test -q"),
];

/// Returns the repository. Its scripts know a local listener's port.
fn repository(port: u16, registry: &Registry) -> Vec<(&'static str, String)> {
    let mut makefile = String::new();
    let mut files = registry.dependents();
    for (name, script, _) in ATTACKS {
        makefile += &format!(".PHONY: {name}\n{name}:\n\t-@sh attacks/{name}.sh\n");
        let path: &'static str = Box::leak(format!("attacks/{name}.sh").into_boxed_str());
        files.push((path, format!("{PREAMBLE}{script}\n")));
    }
    let python = format!(
        "import subprocess, tempfile, unittest, {PACKAGE}\n\nclass App(unittest.TestCase):\n    def test_app(self):\n        \
        self.assertEqual({PACKAGE}.TEXT, 'hello')\n        \
        with tempfile.TemporaryFile() as file:\n            file.write(subprocess.check_output(['echo', 'x']))\n"
    );
    let node = format!(
        "const test = require('node:test');\nconst {{ execSync }} = require('node:child_process');\n\
         test('app', () => {{ if (String(execSync('echo x')) !== 'x\\n' || require('{PACKAGE}') !== 'hello') throw new Error(); }});\n"
    );
    let rust = format!("#[test]\nfn app() {{\n    assert_eq!({PACKAGE}::TEXT, \"hello\");\n}}\n");
    let rest = [
        ("Makefile", makefile),
        ("port", port.to_string()),
        ("test_app.py", python),
        ("test/app.test.js", node),
        ("rust/src/lib.rs", rust),
    ];
    files.extend(rest);
    files
}

/// Returns the sandbox kinds that work here. A missing kind is named in the output.
fn kinds() -> Vec<&'static str> {
    if trusted("bwrap").is_none() {
        leave_out("the drill under bubblewrap, which is not installed");
        return vec!["landlock"];
    }
    vec!["bubblewrap", "landlock"]
}

/// Returns whether commands find a program on this machine.
fn is_found(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output()
        .unwrap();
    if !found.status.success() {
        leave_out(&format!(
            "the honest suite of {program}, which this machine does not have"
        ));
    }
    found.status.success()
}

/// The Rust toolchain at a place that others can open. That of root is in its home.
struct Toolchain(TempDir);

impl Toolchain {
    /// Returns `None` without a toolchain. The files are links, because a copy would fill the disk.
    fn for_others() -> Option<Self> {
        let printed = Command::new("rustc")
            .args(["--print", "sysroot"])
            .output()
            .ok()?;
        let own = PathBuf::from(String::from_utf8(printed.stdout).ok()?.trim());
        // A sandbox's private /tmp would hide it there.
        let place = tempfile::tempdir_in("/var/tmp").unwrap();
        fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
        for folder in ["bin", "lib"] {
            let copied = |how: &str| {
                let from = own.join(folder);
                Command::new("cp")
                    .arg(how)
                    .arg(from)
                    .arg(place.path())
                    .status()
                    .unwrap()
                    .success()
            };
            assert!(copied("-al") || copied("-a"), "{folder}");
        }
        Some(Self(place))
    }

    fn programs(&self) -> String {
        self.0.path().join("bin").display().to_string()
    }
}

/// A machine with a bot and attack targets. These are a process outside the sandbox with a word in
/// the environment, and files.
struct Ground {
    machine: Machine,
    bot: Bot,
    registry: Registry,
    bystander: Child,
    _listener: TcpListener,
    _toolchain: Option<Toolchain>,
}

impl Ground {
    /// Makes the ground. `commands` are the model's calls, by request.
    async fn make(
        kind: &str,
        user: Option<u32>,
        commands: Vec<(&'static str, Vec<String>)>,
    ) -> Self {
        let (listener, registry) = (
            TcpListener::bind("127.0.0.1:0").unwrap(),
            Registry::start().await,
        );
        let mut environment = Vec::new();
        // Without a sandbox no suite runs.
        let toolchain = user
            .filter(|_| kind != "none")
            .and_then(|_| Toolchain::for_others());
        if user.is_some() {
            let programs = toolchain
                .as_ref()
                .map(|toolchain| format!(":{}", toolchain.programs()));
            environment.push((
                "PATH",
                format!(
                    "/usr/local/bin:/usr/bin:/bin{}",
                    programs.unwrap_or_default()
                ),
            ));
        } else if let Ok(home) = std::env::var("HOME") {
            let rustup = std::env::var("RUSTUP_HOME").unwrap_or(format!("{home}/.rustup"));
            environment.push(("RUSTUP_HOME", rustup));
        }
        let egress = match kind {
            "none" => String::new(),
            _ => format!(
                "[sandbox.limits]\nmemoryBytes = {RUN_MEMORY_BYTES}\n[sandbox.egress]\nallow = [\"localhost:{}\"]\n",
                registry.port()
            ),
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
        for name in [
            "data/workspaces/other/tree/private.txt",
            "data/store.sqlite3",
            "home/.ssh/id",
            "home/.bashrc",
        ] {
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
        Self {
            machine,
            bot,
            registry,
            bystander,
            _listener: listener,
            _toolchain: toolchain,
        }
    }

    /// Runs the commands that a request names, in a new thread. Returns their results.
    async fn run(&self, words: &str) -> (String, Vec<(bool, String)>) {
        let before = self.machine.vendor.requests().len();
        let answered = self
            .bot
            .ask(&json!({ "text": words, "thread": words.replace(' ', "-") }))
            .await;
        let (status, answer) = answered.unwrap().unwrap();
        assert_eq!(status, 200, "{answer}");
        over(&self.machine).await;
        let asked = self.machine.vendor.requests();
        assert!(asked.len() > before, "{answer}");
        (
            answer["run"]["id"].as_str().unwrap().to_owned(),
            results(&asked.last().unwrap().body),
        )
    }

    /// Returns the attacks that changed something on this machine.
    fn changed_by(&mut self) -> BTreeSet<&'static str> {
        let is_kept = |name: &str| {
            fs::read_to_string(self.machine.path(name)).is_ok_and(|text| text == CANARY)
        };
        let hostile_folders = std::env::split_paths(&std::env::var_os("PATH").unwrap())
            .chain(std::env::var_os("RUSTUP_HOME").map(PathBuf::from))
            .any(|folder| folder.join("hostile").exists());
        let hostile_files = [
            "/etc/cron.d/hostile",
            "/etc/profile.d/hostile.sh",
            "/var/spool/cron/hostile",
        ];
        let has_hostile = hostile_folders
            || hostile_files
                .iter()
                .any(|path| PathBuf::from(path).exists());
        let entries = |name: &str| {
            let folder = fs::read_dir(self.machine.path(name)).into_iter().flatten();
            folder.map(|entry| entry.unwrap()).collect::<Vec<_>>()
        };
        let is_odd = |entry: &fs::DirEntry| !entry.file_type().unwrap().is_file();
        let is_link = |name: &str| {
            entries("data/workspaces")
                .iter()
                .any(|place| place.path().join(name).is_symlink())
        };
        let found = [
            (
                "siblings",
                !is_kept("data/workspaces/other/tree/private.txt"),
            ),
            ("store", !is_kept("data/store.sqlite3")),
            ("users", !is_kept("home/.ssh/id")),
            ("persistence", has_hostile || !is_kept("home/.bashrc")),
            ("metadata", entries("data/meta").iter().any(is_odd)),
            ("tree", is_link("tree") || is_link("home")),
            ("git", self.machine.path("trapped").exists()),
            ("signals", self.bystander.try_wait().unwrap().is_some()),
        ];
        found
            .into_iter()
            .filter(|(_, is_found)| *is_found)
            .map(|(name, _)| name)
            .collect()
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
    names
        .iter()
        .map(|name| format!("make -s {name} 2>&1"))
        .collect()
}

async fn drill(kind: &'static str, user: Option<u32>) {
    let names: Vec<_> = ATTACKS.iter().map(|(name, ..)| *name).collect();
    let honest: Vec<_> = HONEST
        .iter()
        .filter(|(program, _)| is_found(program))
        .collect();
    let suites = honest
        .iter()
        .map(|(_, command)| (*command).to_owned())
        .collect();
    let [bomb, fill] = [BOMB, FILL].map(|command| vec![command.to_owned()]);
    let attacks = ("run the tests", targets(&names));
    let commands = vec![
        attacks,
        ("be honest", suites),
        ("drop a bomb", bomb),
        ("fill the memory", fill),
    ];
    let mut ground = Ground::make(kind, user, commands).await;
    let idle = Prober::idle(&ground.bot).await;
    let prober = Prober::start(&ground.bot);

    let (run, reported) = ground.run("run the tests").await;
    for (name, (_, said)) in names.iter().zip(&reported) {
        assert!(secrets::seen_in(said).is_empty(), "{kind}: {name}: {said}");
    }
    until("no process outlives its command", || {
        shown_with(SURVIVOR).is_empty()
    })
    .await;
    // The service's own git reads the tree.
    ground.bot.read(&format!("/runs/{run}?tab=changes")).await;
    let succeeded: BTreeSet<_> = shown_by(&names, &reported)
        .union(&ground.changed_by())
        .copied()
        .collect();
    assert!(succeeded.is_empty(), "{kind}: {succeeded:?}\n{reported:#?}");

    let (_, passed) = ground.run("be honest").await;
    assert_eq!(passed.len(), honest.len());
    for ((program, _), (is_error, said)) in honest.iter().zip(&passed) {
        assert!(
            !is_error && !said.contains("exit 1"),
            "{kind}: {program}: {said}"
        );
    }
    let served = ground.registry.served();
    for (program, file) in [
        ("/usr/bin/pip3", "greeting-1.0.0-py3-none-any.whl"),
        ("npm", "greeting-1.0.0.tgz"),
        ("cargo", "greeting-1.0.0.crate"),
    ] {
        let is_expected = honest.iter().any(|(name, _)| *name == program);
        assert_eq!(
            served.iter().any(|path| path == file),
            is_expected,
            "{kind}: {served:?}"
        );
    }
    let has_groups = !ground
        .bot
        .read("/healthz")
        .await
        .contains("\"cgroup\":\"none\"");
    // Root can make groups in each version 1 hierarchy.
    assert!(
        has_groups || user.is_some() || !fs::exists("/sys/fs/cgroup/pids/cgroup.procs").unwrap(),
        "{kind}"
    );
    if has_groups {
        for (words, reason) in [("drop a bomb", BOMB_ENDED), ("fill the memory", FILL_ENDED)] {
            let (_, ended) = ground.run(words).await;
            let said = &ended[0].1;
            assert!(
                said.starts_with("exit 137:") && said.contains(reason),
                "{kind}: {said}"
            );
            assert!(!said.contains(REACHED), "{kind}: {said}");
        }
    } else {
        eprintln!(
            "SKIPPED: the fork bomb and full memory, because this bot can make no control group"
        );
    }
    let probes = prober.end().await;
    eprintln!(
        "{kind}: {} attacks, {} honest suites; under attack {probes}; idle {idle}",
        names.len(),
        honest.len()
    );
    assert!(probes.count() > names.len());
    probes.assert_usual(&idle);
    assert!(ground.changed_by().is_empty(), "{kind}");
    ground.bot.terminate().await;
}

/// Returns the user for drills as a plain user; `None` if this process already is a plain user.
pub(crate) fn plain_user() -> Option<u32> {
    geteuid().is_root().then_some(NOBODY)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_repository_is_confined() {
    for kind in kinds() {
        drill(kind, None).await;
    }
}

/// The same as a plain user, if this process is root and can become that user.
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

/// Without a sandbox the attacks succeed, so it is the sandbox that makes them fail in the drills.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attacks_succeed_without_a_sandbox() {
    let names: Vec<_> = ATTACKS
        .iter()
        .filter(|(.., is_control)| *is_control)
        .map(|(name, ..)| *name)
        .collect();
    let commands = vec![
        ("run the tests", targets(&names)),
        ("fill the memory", vec![FILL.to_owned()]),
    ];
    let mut ground = Ground::make("none", plain_user(), commands).await;
    let (_, reported) = ground.run("run the tests").await;
    let succeeded: BTreeSet<_> = shown_by(&names, &reported)
        .union(&ground.changed_by())
        .copied()
        .collect();
    let expected: BTreeSet<_> = names.iter().copied().collect();
    assert_eq!(succeeded, expected, "{reported:#?}");
    let (_, filled) = ground.run("fill the memory").await;
    assert!(filled[0].1.contains(REACHED), "{filled:?}");
    ground.bot.terminate().await;
}
