//! The commands' network: everything they reach through their proxy, and nothing else.

use std::{
    net::{TcpListener, UdpSocket},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use ars_bot_adapters::sandbox::trusted;
use ars_testkit::github::FakeGitHub;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Machine, events, run};

/// The text that the origin answers.
const MARK: &str = "answer-of-the-origin";

/// Returns the sandbox kinds that this machine has.
fn kinds() -> Vec<&'static str> {
    let bubblewrap = trusted("bwrap").map(|_| "bubblewrap");
    bubblewrap.into_iter().chain(["landlock"]).collect()
}

/// Starts an origin and returns the port and the connection count.
async fn origin() -> (u16, Arc<AtomicUsize>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, count) = (
        listener.local_addr().unwrap().port(),
        Arc::new(AtomicUsize::new(0)),
    );
    let counter = Arc::clone(&count);
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            counter.fetch_add(1, Ordering::SeqCst);
            let _ = stream.read(&mut [0; 4096]).await;
            let answer = format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{MARK}");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (port, count)
}

/// Runs a command through an agent. Returns the output and the run's record.
async fn command(machine: &Machine, configuration: &str, command: &str) -> (String, Value) {
    let project = machine.project();
    command_on(
        machine,
        project.to_str().unwrap(),
        configuration,
        command,
        &[],
    )
    .await
}

/// The same on another repository, with more variables.
async fn command_on(
    machine: &Machine,
    repository: &str,
    configuration: &str,
    command: &str,
    variables: &[(&str, &str)],
) -> (String, Value) {
    let config = machine.file("ars.toml", configuration);
    let input = serde_json::to_string(command).unwrap();
    let call =
        format!("[[turn]]\n[[turn.call]]\ntool = \"bash\"\ninput = {{ command = {input} }}\n");
    let script = machine.file("script.toml", &format!("{call}[[turn]]\ntext = \"done\"\n"));
    let [config, script] = [&config, &script].map(|path| path.to_str().unwrap());
    let arguments = [
        "ask",
        "x",
        "--repo",
        repository,
        "--config",
        config,
        "--rehearsal",
        script,
    ];
    run(machine.ars(&arguments).envs(variables.iter().copied()))
        .await
        .assert_code(0);
    let record = machine.record().await;
    let output = events(&record, "tool_result")[0]["output"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    (output, record)
}

#[tokio::test]
async fn command_reaches_allowed_hosts_only() {
    for kind in kinds() {
        let machine = Machine::new();
        let (port, connections) = origin().await;
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        other.set_nonblocking(true).unwrap();
        let local = other.local_addr().unwrap().port();
        let udp = UdpSocket::bind(("127.0.0.1", local)).unwrap();
        udp.set_nonblocking(true).unwrap();
        let configuration = format!(
            "[sandbox]\nkind = \"{kind}\"\n[sandbox.egress]\nallow = [\"localhost:{port}\"]\n"
        );
        // Each line would print the origin's answer, or reach the other port.
        let attempts = format!(
            "curl -sS --noproxy '*' --max-time 5 http://127.0.0.1:{port}/\n\
             curl -sS --noproxy '*' --max-time 5 http://localhost:{local}/\n\
             curl -sS --noproxy '' http://127.0.0.1:{port}/\n\
             curl -sS --noproxy '' http://[::ffff:127.0.0.1]:{port}/\n\
             curl -sS --noproxy '' http://localhost:{local}/\n\
             curl -sS --noproxy '' -p http://localhost:{local}/\n\
             curl -sS https://refused.example/\n\
             curl -sS https://refused.example/again\n\
             curl -sS http://169.254.169.254/latest\n\
             echo x > /dev/udp/127.0.0.1/{local}\n\
             exec 3<>/dev/tcp/127.0.0.1/{local}\n\
             perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0); \
             send(S, \"x\", 0x20000000, sockaddr_in({local}, inet_aton(\"127.0.0.1\")))'\n"
        );
        let reach = format!("curl -sS --noproxy '' http://localhost:{port}/ && echo");
        let tunnel = format!("curl -sS --noproxy '' -p http://localhost:{port}/ && echo");
        let listen = "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0); bind(S, \
                      sockaddr_in(0, inet_aton(\"127.0.0.1\"))) && listen(S, 1) && print \"listens\"'";
        let script =
            format!("({attempts}) 2>&1 | sed s/{MARK}/LEAKED/; {reach}; {tunnel}; {listen}");
        let (output, record) = command(&machine, &configuration, &script).await;
        assert_eq!(output.matches(MARK).count(), 2, "{kind}: {output}");
        assert!(!output.contains("LEAKED"), "{kind}: {output}");
        // Landlock has no separate loopback, so a listener there needs `sandbox.listen`.
        assert_eq!(
            output.contains("listens"),
            kind == "bubblewrap",
            "{kind}: {output}"
        );
        assert_eq!(connections.load(Ordering::SeqCst), 2, "{kind}: {output}");
        assert!(
            other.accept().is_err() && udp.recv(&mut [0]).is_err(),
            "{kind}: {output}"
        );

        let notes = events(&record, "run_note");
        let summaries: Vec<_> = notes
            .iter()
            .map(|note| note["summary"].as_str().unwrap())
            .collect();
        let of = |host: &str| {
            summaries
                .iter()
                .filter(|summary| summary.starts_with(host))
                .count()
        };
        for host in [
            "127.0.0.1 ",
            &format!("localhost:{local} "),
            "refused.example ",
            "169.254.169.254 ",
        ] {
            assert_eq!(of(host), 1, "{kind}: {host}: {summaries:?}");
        }
        assert!(
            notes.iter().all(|note| note["kind"] == "egress_refused"),
            "{notes:?}"
        );
        let setting = "sandbox.egress.allow = [\"refused.example\"] allows it";
        assert!(
            summaries.iter().any(|summary| summary.contains(setting)),
            "{summaries:?}"
        );
        // The model reads the same line.
        assert!(output.contains(setting), "{kind}: {output}");
        let meta = events(&record, "run_meta");
        assert_eq!(
            (&meta[0]["sandbox"], &meta[0]["network"]),
            (&json!(kind), &json!("proxy"))
        );
        assert!(
            ["v1", "v2", "none"].contains(&meta[0]["cgroup"].as_str().unwrap()),
            "{}",
            meta[0]
        );
    }
}

/// Clients that read proxy variables need no further settings.
#[tokio::test]
async fn git_uses_the_proxy() {
    for kind in kinds() {
        let machine = Machine::new();
        let (port, connections) = origin().await;
        let configuration = format!(
            "[sandbox]\nkind = \"{kind}\"\n[sandbox.egress]\nallow = [\"localhost:{port}\"]\n"
        );
        let script = format!(
            "unset NO_PROXY no_proxy; git ls-remote http://localhost:{port}/a; git ls-remote https://refused.example/b"
        );
        let (output, _) = command(&machine, &configuration, &script).await;
        assert_ne!(connections.load(Ordering::SeqCst), 0, "{kind}: {output}");
        assert!(
            output.contains("refused.example was refused"),
            "{kind}: {output}"
        );
    }
}

/// The proxy adds the service's login, which the command never sees.
#[tokio::test]
async fn private_repository_is_reached_under_each_kind() {
    for kind in kinds() {
        let (machine, github) = (Machine::new(), FakeGitHub::start().await);
        github.add_repository("acme/app", &[("README.md", "hi\n")]);
        let (site, app) = (github.url().replace("127.0.0.1", "localhost"), github.app());
        let (host, installation) = (
            site.trim_start_matches("http://"),
            app.installation.to_string(),
        );
        let configuration =
            format!("[sandbox]\nkind = \"{kind}\"\n[sandbox.egress]\nallow = [\"{host}\"]\n");
        let variables = [
            ("GITHUB_BASE_URL", &*site),
            ("GITHUB_APP_ID", &app.id),
            ("GITHUB_APP_INSTALLATION_ID", &installation),
            ("GITHUB_APP_PRIVATE_KEY", &app.private_key),
        ];
        let script =
            "git ls-remote origin 2>&1; git config --list; env; cat /proc/*/environ 2>/dev/null";
        let repository = format!("{site}/acme/app.git");
        let (output, _) =
            command_on(&machine, &repository, &configuration, script, &variables).await;
        assert!(output.contains("refs/heads/main"), "{kind}: {output}");
        let seen = github
            .seen()
            .into_iter()
            .filter(|seen| seen.target.contains("info/refs"));
        let tokens: Vec<_> = seen.map(|seen| seen.token).collect();
        // The clone asks twice, because git sends a login only after a challenge. The command comes last.
        assert!(
            matches!(tokens[..], [None, Some(_), Some(_)]),
            "{kind}: {tokens:?}"
        );
        assert!(
            tokens.iter().flatten().all(|token| !output.contains(token)),
            "{kind}: {output}"
        );
    }
}

#[tokio::test]
async fn first_program_closes_its_descriptors_and_limits_processes() {
    if trusted("bwrap").is_none() {
        return;
    }
    let machine = Machine::new();
    let script = "ls -l /proc/self/fd /proc/1/fd 2>/dev/null | grep -c socket; ls /run/ars; \
                  perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); \
                  connect(S, sockaddr_un(\"/run/ars/egress\")) and print \"connected\"'; \
                  ulimit -u";
    let (output, _) = command(&machine, "[sandbox]\nkind = \"bubblewrap\"\n", script).await;
    assert!(
        output.lines().any(|line| line == "0") && !output.contains("connected"),
        "{output}"
    );
    assert!(
        output.lines().any(|line| line == "1024"),
        "the processes of the namespace are limited: {output}"
    );
}
