//! The group of one run, and a program in it.

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ars_bot_ports::ReachedLimit;
use rustix::process::Pid;
use tokio::{task::spawn_blocking, time::sleep};

use super::{
    cleanup::Cleanup,
    folder::{Counters, Door, Folders, GroupPlace},
    name::Owner,
};
use crate::sandbox::limits::RunLimits;

/// Interval at which the limits of a running command are looked at.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);
/// Refused starts of processes during one command, after which all are killed.
/// A program that meets the limit by accident gives up much earlier; a fork bomb would go on until its timeout.
const MAX_REFUSED_STARTS: u64 = 1_000;

/// Share of the limit of processes that ended ones may use up before their group is replaced.
/// They count until init has reaped them, which takes long on some machines.
const ENDED_SHARE: u64 = 8;

/// The group of a run. Its first member makes it; it is removed when dropped.
#[derive(Debug)]
pub(crate) struct RunGroup {
    place: GroupPlace,
    owner: Owner,
    limits: RunLimits,
    cleanup: Cleanup,
    state: Mutex<MemberState>,
}

#[derive(Debug, Default)]
struct MemberState {
    /// The group, once it is made.
    folders: Option<Folders>,
    /// Programs that have not ended.
    members: usize,
}

/// A program in the group of its run.
/// With the last one the other members of the group are killed.
#[derive(Debug)]
pub(crate) struct Membership(Arc<Member>);

#[derive(Debug)]
pub(super) struct Member {
    group: Arc<RunGroup>,
    folders: Folders,
    /// The counters at its start.
    before: Counters,
    /// All members were killed, because they did not stop starting more.
    is_killed: AtomicBool,
    /// It no longer counts as a member. Changes under the lock of the group's state only.
    is_over: AtomicBool,
}

/// The way of a thread into the group of a run, where it starts a program and comes back.
/// Has the lock of the group, so that no other thread replaces the group or kills its members.
#[derive(Debug)]
pub(crate) struct Entrance<'a> {
    group: &'a Arc<RunGroup>,
    state: MutexGuard<'a, MemberState>,
    folders: Folders,
    doors: Vec<Door>,
    before: Counters,
}

impl RunGroup {
    pub(super) fn new(
        place: GroupPlace,
        owner: Owner,
        limits: RunLimits,
        cleanup: Cleanup,
    ) -> Self {
        Self {
            place,
            owner,
            limits,
            cleanup,
            state: Mutex::default(),
        }
    }

    /// Makes a program a member that was started and waits for its first input.
    pub(crate) async fn join(self: Arc<Self>, pid: Pid) -> io::Result<Membership> {
        let joined = spawn_blocking(move || self.add(pid)).await;
        joined.unwrap_or_else(|broken| Err(io::Error::other(broken)))
    }

    fn add(self: Arc<Self>, pid: Pid) -> io::Result<Membership> {
        let mut state = self.state();
        let folders = self.current(&mut state)?;
        let before = folders.counters();
        folders.add(pid)?;
        state.members += 1;
        drop(state);
        Ok(Membership::new(self, folders, before))
    }

    /// Counts one more program of a member, such as a command that a program in the group starts.
    /// `None` if the group is gone.
    pub(crate) fn attend(self: &Arc<Self>) -> Option<Membership> {
        let mut state = self.state();
        let folders = state.folders.clone()?;
        let before = folders.counters();
        state.members += 1;
        drop(state);
        Some(Membership::new(Arc::clone(self), folders, before))
    }

    /// Opens the way of this thread into the group. The thread may give up its rights afterwards.
    /// `None` if programs join the group after their start only.
    pub(crate) fn entrance(self: &Arc<Self>) -> Option<Entrance<'_>> {
        let mut state = self.state();
        let folders = self.current(&mut state).ok()?;
        let doors = folders.doors()?;
        let before = folders.counters();
        Some(Entrance {
            group: self,
            state,
            folders,
            doors,
            before,
        })
    }

    /// Returns the group, which is made if there is none.
    fn current(&self, state: &mut MemberState) -> io::Result<Folders> {
        let max_ended = self
            .limits
            .processes
            .filter(|_| state.members == 0)
            .map(|max| max / ENDED_SHARE);
        let is_used_up =
            |folders: &mut Folders| max_ended.is_some_and(|max| folders.charged() > max);
        if let Some(used_up) = state.folders.take_if(is_used_up) {
            self.cleanup.remove(used_up);
        }
        let folders = match &state.folders {
            Some(folders) => folders.clone(),
            None => self.made()?,
        };
        state.folders = Some(folders.clone());
        Ok(folders)
    }

    /// Makes a group. One without its limits is removed, and no program joins it.
    fn made(&self) -> io::Result<Folders> {
        let new = self.place.folders(&self.owner.next());
        match new.make(self.limits) {
            Ok(()) => Ok(new),
            Err(error) => {
                self.cleanup.remove(new);
                Err(error)
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, MemberState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entrance<'_> {
    /// Starts a program in the group.
    pub(crate) fn start<T>(
        mut self,
        spawn: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(T, Membership)> {
        let entered = self.doors.iter().try_for_each(Door::enter);
        let started = entered.and_then(|()| spawn());
        for door in &self.doors {
            if let Err(error) = door.leave() {
                tracing::warn!(%error, "a thread stays in a control group until its program ends");
            }
        }
        let started = started?;
        self.state.members += 1;
        Ok((
            started,
            Membership::new(Arc::clone(self.group), self.folders, self.before),
        ))
    }
}

impl Drop for RunGroup {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(folders) = state.folders.take() {
            self.cleanup.remove(folders);
        }
    }
}

impl Membership {
    fn new(group: Arc<RunGroup>, folders: Folders, before: Counters) -> Self {
        let (is_killed, is_over) = (AtomicBool::default(), AtomicBool::default());
        Self(Arc::new(Member {
            group,
            folders,
            before,
            is_killed,
            is_over,
        }))
    }

    /// Waits until the members of the group have reached a limit that ends them, and kills all.
    pub(crate) async fn watch(&self) {
        loop {
            sleep(WATCH_INTERVAL).await;
            let counted = self.0.counted();
            let is_storm = counted.refused >= MAX_REFUSED_STARTS;
            // Version 1 kills one process only, and the others would go on without it.
            if counted.kills > 0 || is_storm {
                self.0.is_killed.store(is_storm, Ordering::Relaxed);
                let member = Arc::clone(&self.0);
                let _ = spawn_blocking(move || member.kill()).await;
                return;
            }
        }
    }

    /// Ends the membership. Returns the limits that were reached since the program's start.
    pub(crate) async fn end(self) -> Vec<ReachedLimit> {
        let member = Arc::clone(&self.0);
        let ended = spawn_blocking(move || {
            let reached = member.reached();
            member.leave();
            reached
        });
        ended.await.unwrap_or_default()
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        if !self.0.is_over.load(Ordering::Relaxed) {
            self.0.group.cleanup.end(Arc::clone(&self.0));
        }
    }
}

impl Member {
    /// Kills the members of the group, unless this program ended: others may have joined since.
    fn kill(&self) {
        let _state = self.group.state();
        if !self.is_over.load(Ordering::Relaxed) {
            self.kill_locked();
        }
    }

    /// Ends the membership once. The last one kills the members that are left.
    pub(super) fn leave(&self) {
        // The lock keeps a new member from joining a group that is being killed.
        let mut state = self.group.state();
        if self.is_over.swap(true, Ordering::Relaxed) {
            return;
        }
        state.members -= 1;
        if state.members == 0 {
            self.kill_locked();
        }
    }

    /// Kills the members. Needs the lock of the state.
    fn kill_locked(&self) {
        if self.folders.kill() {
            self.folders.reopen(self.group.limits);
        }
    }

    fn reached(&self) -> Vec<ReachedLimit> {
        let counted = self.counted();
        let memory = self
            .group
            .limits
            .memory_bytes
            .filter(|_| counted.memory_hits > 0);
        let memory = (counted.kills > 0)
            .then(|| memory.map_or(ReachedLimit::OtherMemory, ReachedLimit::Memory));
        let max = self.group.limits.processes.filter(|_| counted.refused > 0);
        let is_killed = self.is_killed.load(Ordering::Relaxed);
        let processes = max.map(|max| ReachedLimit::Processes { max, is_killed });
        memory.into_iter().chain(processes).collect()
    }

    fn counted(&self) -> Counters {
        self.folders.counters().since(self.before)
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::Write as _,
        process::{Child, Command, Stdio},
    };

    use ars_types::Cgroup;

    use super::{super::find::Groups, *};

    const LIMITS: RunLimits = RunLimits {
        memory_bytes: Some(256 << 20),
        processes: Some(32),
    };

    /// Returns the groups of this machine. Without them the reason is checked.
    fn groups() -> Option<Groups> {
        let groups = Groups::find(LIMITS);
        assert_eq!(
            groups.obstacle().is_some_and(|reason| !reason.is_empty()),
            groups.version() == Cgroup::None
        );
        (groups.version() != Cgroup::None).then_some(groups)
    }

    /// Starts a shell that waits for a line, and then leaves a process of its own session behind.
    fn waiting() -> Child {
        let script = "read -r _; setsid sleep 98771 & read -r _";
        Command::new("/bin/sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn pid_of(child: &Child) -> Pid {
        Pid::from_child(child)
    }

    /// Waits until a condition holds; only a hang ends the test otherwise.
    fn until(mut holds: impl FnMut() -> bool) {
        while !holds() {
            std::thread::yield_now();
        }
    }

    #[tokio::test]
    async fn survivors_and_groups_end_with_their_run() {
        let Some(groups) = groups() else { return };
        let group = groups.of_run().unwrap();
        let mut child = waiting();
        let first = Arc::clone(&group).join(pid_of(&child)).await.unwrap();
        let folders = first.0.folders.clone();
        writeln!(child.stdin.as_mut().unwrap()).unwrap();
        until(|| folders.members().len() == 2);
        // While another program of the run is in progress, none is killed.
        let mut other = waiting();
        Arc::clone(&group)
            .join(pid_of(&other))
            .await
            .unwrap()
            .end()
            .await;
        assert_eq!(folders.members().len(), 3);
        assert!(first.end().await.is_empty());
        until(|| folders.members().is_empty());
        for child in [&mut child, &mut other] {
            child.wait().unwrap();
        }
        assert!(folders.exists());
        drop(group);
        until(|| !folders.exists());
    }

    #[test]
    fn leftovers_of_an_ended_process_are_removed() {
        let Some(groups) = groups() else { return };
        let mut owner = Command::new("sleep").arg("600").spawn().unwrap();
        let folders = groups.folders_of(owner.id());
        folders.make(LIMITS).unwrap();
        let mut member = waiting();
        folders.add(pid_of(&member)).unwrap();
        assert!(
            self::groups().is_some() && folders.exists(),
            "its owner is alive"
        );
        owner.kill().unwrap();
        owner.wait().unwrap();
        assert!(self::groups().is_some());
        assert!(!member.wait().unwrap().success());
        until(|| !folders.exists());
    }

    /// The members of a program end too if its command broke off.
    #[tokio::test]
    async fn dropped_membership_kills_survivors() {
        let Some(groups) = groups() else { return };
        let group = groups.of_run().unwrap();
        let mut child = waiting();
        let dropped = Arc::clone(&group).join(pid_of(&child)).await.unwrap();
        let folders = dropped.0.folders.clone();
        drop(dropped);
        assert!(!child.wait().unwrap().success());
        until(|| folders.members().is_empty() && group.state().members == 0);
        // The next program can start processes.
        let mut next = waiting();
        let joined = Arc::clone(&group).join(pid_of(&next)).await.unwrap();
        writeln!(next.stdin.as_mut().unwrap()).unwrap();
        until(|| joined.0.folders.members().len() == 2);
        assert!(joined.end().await.is_empty());
        next.wait().unwrap();
    }

    /// The late kill of a command does not end the next one.
    #[tokio::test]
    async fn ended_membership_kills_none() {
        let Some(groups) = groups() else { return };
        let group = groups.of_run().unwrap();
        let [mut child, mut next] = [waiting(), waiting()];
        let ended = Arc::clone(&group).join(pid_of(&child)).await.unwrap();
        let member = Arc::clone(&ended.0);
        assert!(ended.end().await.is_empty());
        child.wait().unwrap();
        let joined = Arc::clone(&group).join(pid_of(&next)).await.unwrap();
        member.kill();
        member.leave();
        assert!(next.try_wait().unwrap().is_none());
        assert!(joined.end().await.is_empty());
        next.wait().unwrap();
    }

    /// Concurrent ends and kills of a group's members never close it for later commands.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn concurrent_kills_keep_the_limit() {
        let Some(groups) = groups() else { return };
        let group = groups.of_run().unwrap();
        for _ in 0..20 {
            let mut children: Vec<_> = std::iter::repeat_with(waiting).take(3).collect();
            let mut members = Vec::new();
            for child in &children {
                members.push(Arc::clone(&group).join(pid_of(child)).await.unwrap());
            }
            let limits = members[0].0.folders.limits();
            let [first, second] = [0, 1].map(|index: usize| Arc::clone(&members[index].0));
            let kills = [
                spawn_blocking(move || first.kill()),
                spawn_blocking(move || second.kill()),
            ];
            for member in members {
                member.end().await;
            }
            for kill in kills {
                kill.await.unwrap();
            }
            for child in &mut children {
                child.wait().unwrap();
            }
            assert_eq!(fs::read_to_string(&limits[1]).unwrap().trim(), "32");
        }
    }

    /// The thread that starts a program from inside is outside afterwards.
    #[test]
    fn program_starts_in_its_group() {
        let Some(groups) = groups().filter(|groups| groups.version() == Cgroup::V1) else {
            return;
        };
        let group = groups.of_run().unwrap();
        let place = || fs::read_to_string("/proc/thread-self/cgroup").unwrap();
        let outside = place();
        let entrance = group.entrance().unwrap();
        let folders = entrance.folders.clone();
        let (mut child, membership) = entrance
            .start(|| {
                assert_ne!(place(), outside);
                // Only the thread is in the group, which a kill spares.
                assert!(folders.members().is_empty());
                Ok(waiting())
            })
            .unwrap();
        assert_eq!(place(), outside);
        assert_eq!(folders.members(), [pid_of(&child)]);
        writeln!(child.stdin.as_mut().unwrap()).unwrap();
        until(|| folders.members().len() == 2);
        drop(membership);
        assert!(!child.wait().unwrap().success());
        until(|| group.state().members == 0);
        // A start that fails leaves nothing.
        let failed = group
            .entrance()
            .unwrap()
            .start(|| Err::<(), _>(io::Error::other("full")));
        assert_eq!(failed.unwrap_err().to_string(), "full");
        assert_eq!((place(), group.state().members), (outside, 0));
    }

    #[test]
    fn group_without_its_limits_is_not_joined() {
        let parent = tempfile::tempdir().unwrap();
        let place = GroupPlace::V2(parent.path().to_owned());
        let owner = Owner::this(std::path::Path::new("/proc")).unwrap();
        // A plain folder has no files of limits.
        let group = Arc::new(RunGroup::new(
            place,
            owner,
            LIMITS,
            Cleanup::start().unwrap(),
        ));
        let this = Pid::from_raw(std::process::id().cast_signed()).unwrap();
        for _ in 0..2 {
            let error = Arc::clone(&group).add(this).unwrap_err().to_string();
            assert!(error.contains("pids.max"), "{error}");
            assert!(group.state().folders.is_none());
            until(|| fs::read_dir(parent.path()).unwrap().count() == 0);
        }
    }

    #[tokio::test]
    async fn group_has_its_limits() {
        let Some(groups) = groups() else { return };
        let group = groups.of_run().unwrap();
        let mut child = waiting();
        let membership = Arc::clone(&group).join(pid_of(&child)).await.unwrap();
        let limits = membership
            .0
            .folders
            .limits()
            .map(|path| fs::read_to_string(path).unwrap().trim().to_owned());
        assert_eq!(
            limits,
            [LIMITS.memory_bytes, LIMITS.processes].map(|limit| limit.unwrap().to_string())
        );
        drop(membership);
        // Its input stays open, so that it starts nothing before it is killed.
        let _input = child.stdin.take();
        assert!(!child.wait().unwrap().success());
    }
}
