//! Removes port forwards to containers that no longer exist.
//!
//! Our own podman forwards a port to a container with rules in the machine's firewall and removes
//! them with the container. If it is killed between the two, the rules stay, and connections to any
//! server on that port are refused. Not here: other networks' rules.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

/// The chain in which every forward begins.
const FORWARDS: &str = "NETAVARK-HOSTPORT-DNAT";
/// The prefix of a container id in the comments on our network's rules.
const OURS: &str = "dnat name: ars id: ";
/// The rule option with this machine's port.
const PORT: &str = "--dport";
/// Takes a lock that others hold, instead of failing.
const WAIT: &str = "--wait";

/// Removes forwards to containers that `listed` does not return.
/// The rules are read first, so a container that starts concurrently has none among them.
pub(crate) fn sweep(listed: impl FnOnce() -> Result<BTreeSet<String>>) -> Result<()> {
    let rules = output(Command::new("iptables").args([WAIT, "--table", "nat", "--list-rules"]))?;
    if !rules.contains(OURS) {
        return Ok(());
    }
    for removal in removals(&rules, &listed()?) {
        remove(&removal)?;
    }
    Ok(())
}

/// Returns the rules to remove for each unlisted container.
/// If a listed container forwards the same port, its rules are indistinguishable, so they are left to a later sweep.
fn removals(rules: &str, listed: &BTreeSet<String>) -> Vec<Vec<String>> {
    let forwards = || {
        rules
            .lines()
            .filter(|rule| rule.starts_with(&format!("-A {FORWARDS} ")))
    };
    let id_of = |rule: &str| Some(rule.split_once(OURS)?.1.split('"').next()?.to_owned());
    let is_listed = |rule: &str| id_of(rule).is_some_and(|id| listed.contains(&id));
    let used: BTreeSet<_> = forwards()
        .filter(|rule| is_listed(rule))
        .map(|rule| value(rule, PORT))
        .collect();
    let stale = forwards().filter(|rule| id_of(rule).is_some_and(|id| !listed.contains(&id)));
    stale
        .filter(|rule| !used.contains(&value(rule, PORT)))
        .map(|forward| whole(rules, forward))
        .collect()
}

/// Returns the value for a rule's option.
fn value<'r>(rule: &'r str, option: &str) -> Option<&'r str> {
    rule.split(' ').skip_while(|word| *word != option).nth(1)
}

/// A forward and the rules it leads to.
fn whole(rules: &str, forward: &str) -> Vec<String> {
    let mut removal = vec![forward.to_owned()];
    if let (Some(port), Some(chain)) = (value(forward, PORT), value(forward, "-j")) {
        let (begin, port) = (format!("-A {chain} "), format!(" {PORT} {port} "));
        let led_to = rules
            .lines()
            .filter(|rule| rule.starts_with(&begin) && rule.contains(&port));
        removal.extend(led_to.map(str::to_owned));
    }
    removal
}

/// Removes all these rules, or none.
fn remove(rules: &[String]) -> Result<()> {
    let deletions = rules
        .iter()
        .map(|rule| rule.replacen("-A", "-D", 1))
        .collect::<Vec<_>>()
        .join("\n");
    let mut restore = Command::new("iptables-restore");
    restore
        .args([WAIT, "--noflush"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = restore.spawn().context("iptables-restore")?;
    let mut stdin = child
        .stdin
        .take()
        .context("iptables-restore reads nothing")?;
    writeln!(stdin, "*nat\n{deletions}\nCOMMIT").context("iptables-restore")?;
    drop(stdin);
    // It fails if another process removed the rule first.
    child.wait().context("iptables-restore")?;
    Ok(())
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.stdin(Stdio::null()).output().context("iptables")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "as root: iptables ({})",
        said.trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"-P PREROUTING ACCEPT
-A OUTPUT -m addrtype --dst-type LOCAL -j NETAVARK-HOSTPORT-DNAT
-A NETAVARK-DN-31A1 -s 127.0.0.1/32 -p tcp -m tcp --dport 41073 -j NETAVARK-HOSTPORT-SETMARK
-A NETAVARK-DN-31A1 -p tcp -m tcp --dport 41073 -j DNAT --to-destination 10.89.77.39:8080
-A NETAVARK-DN-31A1 -p tcp -m tcp --dport 4107 -j DNAT --to-destination 10.89.77.40:8080
-A NETAVARK-HOSTPORT-DNAT -p tcp -m tcp --dport 41073 -m comment --comment "dnat name: ars id: gone" -j NETAVARK-DN-31A1
-A NETAVARK-HOSTPORT-DNAT -p tcp -m tcp --dport 4107 -m comment --comment "dnat name: ars id: here" -j NETAVARK-DN-31A1
-A NETAVARK-HOSTPORT-DNAT -p tcp -m tcp --dport 4108 -m comment --comment "dnat name: podman id: gone" -j NETAVARK-DN-77
"#;

    #[test]
    fn rules_of_a_removed_container_are_removed() {
        let found = removals(RULES, &BTreeSet::from(["here".to_owned()]));
        let lines: Vec<_> = RULES.lines().collect();
        assert_eq!(found, [[lines[5], lines[2], lines[3]]]);
    }

    #[test]
    fn forward_of_a_listed_container_stays() {
        let both = BTreeSet::from(["here".to_owned(), "gone".to_owned()]);
        assert!(removals(RULES, &both).is_empty());
    }

    #[test]
    fn rules_of_a_reused_port_stay() {
        let taken = RULES.replace("--dport 4107 ", "--dport 41073 ");
        let here = BTreeSet::from(["here".to_owned()]);
        assert_eq!(removals(&taken, &here), Vec::<Vec<String>>::new());
        // With that rule gone as well, each of the two is found.
        assert_eq!(removals(&taken, &BTreeSet::new()).len(), 2);
    }
}
