//! A hostile repository under each sandbox: every attack of its test targets is refused, and the bot answers throughout.
//!
//! The attacks are targets of the repository's Makefile. Each prints `reached` where it succeeds. The suites of an honest
//! repository pass in the same sandbox.

use std::{
    fs,
    path::Path,
    process::{Child, Command},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use ars_bot_adapters::sandbox::trusted;
use ars_testkit::Reply;
use ars_tests_drills::{Bot, Machine, PATIENCE, Setup, answers, results, secrets, shown_with, until};
use rustix::process::geteuid;
use serde_json::{Value, json};

use crate::{PROGRAM, kills::over};

/// The content of everything that no attack may read or change.
const CANARY: &str = "canary-of-the-machine";
/// The output of an attack that succeeded.
const REACHED: &str = "reached";
/// The user `nobody`.
const NOBODY: u32 = 65_534;
/// An argument by which processes that outlived their command are found.
const SURVIVOR: &str = "98764";

/// What an attack comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// The kernel refuses each of its steps.
    Refused,
    /// The command ends, and with it the attack.
    Ends,
    /// The attack meets a limit. Root has no limit of processes, so there that attack is not made.
    Limited,
}

/// An attack: its target, its commands, and what it comes to. `$data` is the data directory of the bot, `$machine` the
/// folder around it, which has the bot's home.
const ATTACKS: &[(&str, &str, Expected)] = &[
    (
        "siblings",
        r#"cat "$data"/workspaces/other/tree/private.txt && echo reached
        echo x > "$data"/workspaces/other/tree/private.txt && echo reached
        rm -f "$data"/workspaces/other/tree/private.txt && [ -d "$data"/workspaces/other ] && echo reached"#,
        Expected::Refused,
    ),
    (
        "data",
        r#"ls "$data" | grep -q meta && echo reached; grep -rs canary-of "$data"; echo x > "$data"/x && echo reached"#,
        Expected::Refused,
    ),
    (
        "store",
        r#"cat "$data"/store.sqlite3 && echo reached; echo x >> "$data"/store.sqlite3 && echo reached
        ln "$data"/store.sqlite3 hard && cat hard && echo reached; ln -s "$data"/store.sqlite3 soft && cat soft && echo reached"#,
        Expected::Refused,
    ),
    (
        "processes",
        r#"for p in /proc/[0-9]*; do tr '\0' '\n' < $p/environ; timeout 0.2 head -qc 99 $p/fd/*; cat $p/root$data/store.sqlite3; done 2>/dev/null | grep -a canary | grep -v grep"#,
        Expected::Refused,
    ),
    (
        "users",
        r#"cat "$machine"/home/.ssh/id && echo reached; cat /etc/shadow /root/.bash_history && echo reached
        grep -s canary-of /home/* /home/*/.* /root/.* /var/lib/*"#,
        Expected::Refused,
    ),
    (
        "persistence",
        r#"for place in /etc/cron.d/hostile /etc/ld.so.preload /etc/profile.d/hostile.sh "$machine"/home/.bashrc ~root/.profile /var/spool/cron/root; do
            echo x >> $place && echo reached; done
        for folder in $(echo "$PATH" | tr : ' ') "$RUSTUP_HOME" /usr/local/bin; do echo x > $folder/hostile && echo reached; done"#,
        Expected::Refused,
    ),
    ("signals", "kill -9 -1; kill -9 $PPID; sleep 60; echo reached", Expected::Ends),
    (
        "survivor",
        "setsid sleep 98764 > /dev/null 2>&1 & (setsid setsid sleep 98764 &) > /dev/null 2>&1; true",
        Expected::Ends,
    ),
    (
        "forks",
        r#"most=$(bash -c 'ulimit -u'); [ "$most" = unlimited ] && echo reached
        # The limit of all processes of the user is too high to be met here.
        [ "$most" -gt 1024 ] || perl -e 'for (1..1100) { defined(my $p = fork) or exit 0; $p or do { sleep 60; exit } } print "reached\n"'"#,
        Expected::Limited,
    ),
    (
        "memory",
        r#"perl -e '$x = "x" x (1 << 46); print "reached\n"'; cat /proc/self/oom_score_adj | grep -qx 1000 || echo reached"#,
        Expected::Refused,
    ),
    (
        "disk",
        "truncate -s 1T large && echo reached; dd if=/dev/zero of=large bs=1 count=1 seek=1T && echo reached",
        Expected::Refused,
    ),
    (
        "metadata",
        r#"for kind in 'mkfifo' 'ln -sf /dev/zero' 'ln -s /' 'mknod -m 666'; do
            for name in "$data"/meta "$data"/meta/x.json ../meta.json; do
                case $kind in mknod*) $kind $name c 1 5;; *) $kind $name;; esac && echo reached; done; done"#,
        Expected::Refused,
    ),
    (
        "tree",
        r#"cd ..; mv tree away && echo reached; ln -s / tree && [ -e tree/etc ] && echo reached; rmdir home && ln -s / home && echo reached"#,
        Expected::Refused,
    ),
    (
        "links",
        r#"ln /etc/passwd passwd && echo x >> passwd && echo reached; mount -t tmpfs none /mnt && echo reached; chroot / true && echo reached
        mknod device b 8 0 && echo reached"#,
        Expected::Refused,
    ),
    // Runs with the bot's next git, which must not run it, or run it in a sandbox.
    (
        "git",
        r#"trap_command="sh -c 'echo x > $machine/trapped; cat'"
        git config filter.trap.clean "$trap_command"; git config filter.trap.smudge "$trap_command"; git config filter.trap.required true
        git config core.fsmonitor "$trap_command"; git config diff.trap.command "$trap_command"; git config diff.trap.textconv "$trap_command"
        git config core.hooksPath hooks; git config core.pager "$trap_command"; git config core.sshCommand "$trap_command"
        mkdir -p hooks; for hook in post-checkout post-index-change pre-commit reference-transaction; do
            printf '#!/bin/sh\necho x > %s/trapped\n' "$machine" > hooks/$hook; chmod +x hooks/$hook; done
        echo '* filter=trap diff=trap' > .gitattributes; echo changed >> README.md; true"#,
        Expected::Refused,
    ),
];

/// The suites of an honest repository: the program that each needs, and its command.
const HONEST: &[(&str, &str)] = &[
    ("python3", "python=/usr/bin/python3; [ -x $python ] || python=python3; $python -m unittest -q test_app"),
    ("node", "node --test test/"),
    ("cargo", "cd rust && cargo test --offline -q"),
];

/// The repository of this drill.
fn repository() -> Vec<(&'static str, String)> {
    let mut makefile = String::from(
        "export data := $(patsubst %/workspaces,%,$(patsubst %/,%,$(dir $(patsubst %/,%,$(dir $(CURDIR))))))\nexport machine := $(patsubst %/,%,$(dir $(data)))\n",
    );
    for (name, ..) in ATTACKS {
        makefile += &format!(".PHONY: {name}\n{name}:\n\t@sh attacks/{name}.sh\n");
    }
    let mut files = vec![("Makefile", makefile)];
    let paths = ATTACKS.iter().map(|(name, ..)| &*Box::leak(format!("attacks/{name}.sh").into_boxed_str()));
    files.extend(paths.zip(ATTACKS.iter().map(|(_, script, _)| format!("{script}\n"))));
    files.extend([
        (
            "test_app.py",
            "import subprocess, tempfile, unittest\n\nclass App(unittest.TestCase):\n    def test_app(self):\n        \
             with tempfile.TemporaryFile() as file:\n            file.write(subprocess.check_output(['echo', 'x']))\n"
                .to_owned(),
        ),
        (
            "test/app.test.js",
            "const test = require('node:test');\nconst { execSync } = require('node:child_process');\n\
             test('app', () => { if (String(execSync('echo x')) !== 'x\\n') throw new Error(); });\n"
                .to_owned(),
        ),
        ("rust/Cargo.toml", "[package]\nname = \"app\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n".to_owned()),
        ("rust/src/lib.rs", "#[test]\nfn app() {\n    assert!(std::env::temp_dir().is_dir());\n}\n".to_owned()),
    ]);
    files
}

/// The kinds of sandbox that work here. Each missing one is named in the output.
fn kinds() -> Vec<&'static str> {
    if trusted("bwrap").is_none() {
        eprintln!("SKIPPED: the drill under bubblewrap, which is not installed");
        return vec!["landlock"];
    }
    vec!["bubblewrap", "landlock"]
}

/// Returns whether commands find a program on this machine. Cargo is in the home of root, which others cannot open.
fn is_found(program: &str, user: Option<u32>) -> bool {
    if user.is_some() && program == "cargo" {
        return false;
    }
    Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap().status.success()
}

fn machine_of(kind: &str, user: Option<u32>) -> Setup {
    let rustup =
        std::env::var("RUSTUP_HOME").or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.rustup")));
    let mut environment = vec![("RUSTUP_HOME", rustup.unwrap_or_default())];
    if user.is_some() {
        // The user's own tools are in the home of root, which others cannot open.
        environment.push(("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()));
    }
    let config = format!("[sandbox]\nkind = \"{kind}\"\n");
    Setup { files: repository(), config, environment, user, ..Setup::default() }
}

fn is_made((_, _, expected): &&(&str, &str, Expected), is_root: bool) -> bool {
    let is_made = *expected != Expected::Limited || !is_root;
    if !is_made {
        eprintln!("SKIPPED: processes of root are not limited, so the fork bomb is not started");
    }
    is_made
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
            let client = reqwest::Client::builder().timeout(PATIENCE).build().unwrap();
            while !stop.load(Ordering::Relaxed) {
                let answer = client.get(&url).send().await.unwrap();
                assert_eq!(answer.status(), 200);
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

/// A process outside of the sandbox with a secret in its environment, and the files that attacks aim at.
struct Surroundings {
    bystander: Child,
    kept: Vec<std::path::PathBuf>,
}

impl Surroundings {
    fn make(machine: &Machine, user: Option<u32>) -> Self {
        let kept =
            ["data/workspaces/other/tree/private.txt", "data/store.sqlite3", "home/.ssh/id", "home/.bashrc"]
                .map(|name| machine.path(name));
        for path in &kept {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, CANARY).unwrap();
        }
        let mut bystander = Command::new("sleep");
        bystander.arg("600").env("SECRET", CANARY);
        if let Some(user) = user {
            use std::os::unix::process::CommandExt as _;
            machine.give_to(user);
            bystander.uid(user).gid(user);
        }
        Self { bystander: bystander.spawn().unwrap(), kept: kept.into() }
    }

    fn assert_untouched(&mut self, machine: &Machine) {
        for path in &self.kept {
            assert_eq!(fs::read_to_string(path).unwrap(), CANARY, "{}", path.display());
        }
        assert!(self.bystander.try_wait().unwrap().is_none(), "another process of the user was killed");
        let places = [
            "/etc/cron.d/hostile",
            "/etc/profile.d/hostile.sh",
            "/usr/local/bin/hostile",
            "/usr/bin/hostile",
        ];
        assert!(places.iter().all(|place| !Path::new(place).exists()));
        assert!(
            !machine.path("trapped").exists(),
            "a program of the repository's git configuration ran outside"
        );
    }
}

impl Drop for Surroundings {
    fn drop(&mut self) {
        let _ = self.bystander.kill();
        let _ = self.bystander.wait();
    }
}

async fn ask(bot: &Bot, text: &str) -> Value {
    let answered = bot.ask(&json!({ "text": text, "thread": "hostile" })).await.unwrap().unwrap();
    assert_eq!(answered.0, 200, "{}", answered.1);
    answered.1
}

async fn drill(kind: &'static str, user: Option<u32>) {
    let is_root = user.is_none() && geteuid().is_root();
    let attacks: Vec<_> = ATTACKS.iter().filter(|attack| is_made(attack, is_root)).collect();
    let honest: Vec<_> = HONEST.iter().filter(|(program, _)| is_found(program, user)).collect();
    let bash = |command: String| Reply::tool("bash", json!({ "command": command }));
    let (targets, suites) = (attacks.clone(), honest.clone());
    let machine = Machine::with(PROGRAM, machine_of(kind, user), move |body| {
        let done = answers(body);
        let is_honest = body["messages"].to_string().contains("be honest");
        let command = match is_honest {
            true => suites.get(done).map(|(_, command)| (*command).to_owned()),
            false => targets.get(done).map(|(name, ..)| format!("make -s {name} 2>&1")),
        };
        command.map_or_else(|| Reply::text("Done."), bash)
    })
    .await;
    let mut bot = machine.bot().await;
    let health = bot.read("/healthz").await;
    assert!(health.contains(&format!("\"{kind}\"")), "{health}");
    let mut surroundings = Surroundings::make(&machine, user);
    let prober = Prober::start(&bot);

    let run = ask(&bot, "run the tests").await["run"]["id"].as_str().unwrap().to_owned();
    let reported = results(&machine.vendor.requests().last().unwrap().body);
    assert_eq!(reported.len(), attacks.len(), "{reported:#?}");
    for ((name, _, expected), (_, said)) in attacks.iter().zip(&reported) {
        let leaks = [CANARY, REACHED].iter().any(|word| said.contains(word));
        assert!(!leaks, "{kind}: {name}, expected {expected:?}: {said}");
        assert!(secrets::seen_in(said).is_empty(), "{kind}: {name}: {said}");
    }
    until("no process outlives its command", || shown_with(SURVIVOR).is_empty()).await;
    bot.read(&format!("/runs/{run}?tab=changes")).await;
    surroundings.assert_untouched(&machine);

    over(&machine).await;
    let before = machine.vendor.requests().len();
    ask(&bot, "be honest").await;
    let asked = machine.vendor.requests();
    assert!(asked.len() > before, "the thread goes on after the attacks");
    let passed = results(&asked.last().unwrap().body);
    assert_eq!(passed.len(), honest.len());
    for ((program, _), (is_error, said)) in honest.iter().zip(&passed) {
        assert!(!is_error && !said.contains("exit 1"), "{kind}: {program}: {said}");
    }
    let answered = prober.end().await;
    eprintln!(
        "{kind}: {} attacks, {} honest suites, {answered} probes answered",
        attacks.len(),
        honest.len()
    );
    assert!(answered > attacks.len());
    surroundings.assert_untouched(&machine);
    over(&machine).await;
    bot.terminate().await;
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
        drill(kind, Some(NOBODY)).await;
    }
}
