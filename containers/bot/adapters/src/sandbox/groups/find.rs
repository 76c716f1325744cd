//! Finds where groups can be made.
//!
//! Version 2: below this process's group, if it may pass the controllers on. The kernel allows that
//! only to a group without processes, so a process that is alone in a group moves into a group
//! below it. A user whose group has other processes can have groups beside it. Version 1: below
//! this process's groups in both hierarchies.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use ars_types::Cgroup;
use rustix::fs::{Access, access};

use super::{
    cleanup::Cleanup,
    folder::{GroupPlace, is_busy, write},
    member::RunGroup,
    name::{Owner, is_left_over, is_of_a_service},
};
use crate::sandbox::limits::RunLimits;

/// The controllers that limit a run.
const CONTROLLERS: [&str; 2] = ["memory", "pids"];
/// Passes them on to the groups below.
const PASS_ON: &str = "+memory +pids";

/// Control groups for runs.
#[derive(Debug, Clone)]
pub(crate) struct Groups {
    /// Where they are made, by whom, and their removal, or why they are not.
    maker: Result<(GroupPlace, Owner, Cleanup), Arc<str>>,
    limits: RunLimits,
}

/// The file systems in which groups are looked for.
struct Roots {
    /// Where `/proc` is mounted.
    proc: PathBuf,
    /// Where `/sys/fs/cgroup` is mounted.
    groups: PathBuf,
}

impl Groups {
    /// Finds out where groups can be made, tries it, and removes leftovers from ended processes.
    pub(crate) fn find(limits: RunLimits) -> Self {
        let roots = Roots {
            proc: "/proc".into(),
            groups: "/sys/fs/cgroup".into(),
        };
        let maker = roots.maker(limits).map_err(Arc::from);
        Self { maker, limits }
    }

    /// Returns no groups, with the reason.
    pub(crate) fn none(reason: &str) -> Self {
        Self {
            maker: Err(reason.into()),
            limits: RunLimits::default(),
        }
    }

    /// Returns the groups' version.
    pub(crate) fn version(&self) -> Cgroup {
        match self.maker {
            Ok((GroupPlace::V2(_), ..)) => Cgroup::V2,
            Ok((GroupPlace::V1 { .. }, ..)) => Cgroup::V1,
            Err(_) => Cgroup::None,
        }
    }

    /// Returns why there are none.
    pub(crate) fn obstacle(&self) -> Option<&str> {
        self.maker.as_ref().err().map(|reason| &**reason)
    }

    /// Returns a run's group. The run's first program makes it.
    pub(crate) fn of_run(&self) -> Option<Arc<RunGroup>> {
        let (place, owner, cleanup) = self.maker.as_ref().ok()?;
        Some(Arc::new(RunGroup::new(
            place.clone(),
            owner.clone(),
            self.limits,
            cleanup.clone(),
        )))
    }
}

#[cfg(test)]
impl Groups {
    /// Returns the folders for another process's group.
    pub(super) fn folders_of(&self, pid: u32) -> super::folder::Folders {
        let (place, ..) = self.maker.as_ref().unwrap();
        place.folders(&Owner::of_process(Path::new("/proc"), pid).unwrap().next())
    }
}

impl Roots {
    fn maker(&self, limits: RunLimits) -> Result<(GroupPlace, Owner, Cleanup), String> {
        let owner = Owner::this(&self.proc).ok_or("/proc does not show this process")?;
        let place = self.place(&owner)?;
        let cleanup = Cleanup::start().map_err(|error| format!("no thread for groups: {error}"))?;
        self.remove_leftovers(&place, &cleanup);
        let trial = place.folders(&owner.next());
        let made = trial.make(limits);
        // At once, because a program that only looks for groups may end now.
        if !trial.is_removed() {
            cleanup.remove(trial);
        }
        made.map_err(|error| error.to_string())?;
        Ok((place, owner, cleanup))
    }

    /// Returns where groups can be made, by the files that are there.
    fn place(&self, owner: &Owner) -> Result<GroupPlace, String> {
        let own = fs::read_to_string(self.proc.join("self/cgroup")).unwrap_or_default();
        let mounts = [self.groups.clone(), self.groups.join("unified")];
        let unified = mounts
            .into_iter()
            .find(|mount| mount.join("cgroup.controllers").exists());
        let second = unified.map(|mount| second_version(&mount, &own, owner));
        match second {
            Some(Ok(place)) => Ok(place),
            Some(Err(obstacle)) => self
                .first_version(&own)
                .map_err(|other| format!("{obstacle}; {other}")),
            None => self.first_version(&own),
        }
    }

    fn first_version(&self, own: &str) -> Result<GroupPlace, String> {
        let [memory, pids] = CONTROLLERS.map(|controller| {
            let mount = self.groups.join(controller);
            if !mount.is_dir() {
                return Err(format!("version 1 has no hierarchy {controller}"));
            }
            let is_of = |line: &&str| {
                line.split(':')
                    .nth(1)
                    .is_some_and(|of| of.split(',').any(|of| of == controller))
            };
            let group = group_at(&mount, own.lines().find(is_of));
            must_be_writable(&group).map(|()| group)
        });
        Ok(GroupPlace::V1 {
            memory: memory?,
            pids: pids?,
        })
    }

    /// Removes ended processes' groups, with their members.
    fn remove_leftovers(&self, place: &GroupPlace, cleanup: &Cleanup) {
        for parent in place.parents() {
            for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
                let name = entry.file_name();
                if let Some(name) = name.to_str().filter(|name| is_left_over(name, &self.proc)) {
                    cleanup.remove(place.folders(name));
                }
            }
        }
    }
}

/// Returns the group for a `/proc/self/cgroup` line below a mount. Returns the mount itself if it
/// shows only a part of the hierarchy, as in a container.
fn group_at(mount: &Path, line: Option<&str>) -> PathBuf {
    let path = line
        .and_then(|line| line.splitn(3, ':').nth(2))
        .unwrap_or_default();
    let group = mount.join(path.trim_start_matches('/'));
    if group.is_dir() {
        group
    } else {
        mount.to_owned()
    }
}

fn must_be_writable(group: &Path) -> Result<(), String> {
    access(group, Access::WRITE_OK | Access::EXEC_OK)
        .map_err(|error| format!("{}: {error}", group.display()))
}

/// Returns whether a group's file names both controllers.
fn names_controllers(group: &Path, file: &str) -> bool {
    let text = fs::read_to_string(group.join(file)).unwrap_or_default();
    CONTROLLERS
        .iter()
        .all(|controller| text.split_whitespace().any(|word| word == *controller))
}

fn second_version(mount: &Path, own: &str, owner: &Owner) -> Result<GroupPlace, String> {
    let mut group = group_at(mount, own.lines().find(|line| line.starts_with("0::")));
    let name = group.file_name().and_then(|name| name.to_str());
    if let (true, Some(parent)) = (name.is_some_and(is_of_a_service), group.parent()) {
        group = parent.to_owned();
    }
    if !names_controllers(&group, "cgroup.controllers") {
        return Err(format!(
            "{} does not have the controllers memory and pids",
            group.display()
        ));
    }
    let Err(obstacle) = pass_controllers_on(&group, owner) else {
        return Ok(GroupPlace::V2(group));
    };
    // A group beside the service would escape the limits that a service manager gave to it, so root has none.
    let beside = group
        .parent()
        .filter(|_| !rustix::process::geteuid().is_root());
    let beside = beside.filter(|parent| {
        parent.starts_with(mount)
            && names_controllers(parent, "cgroup.subtree_control")
            && must_be_writable(parent).is_ok()
            && access(parent.join("cgroup.procs"), Access::WRITE_OK).is_ok()
    });
    beside
        .map(|parent| GroupPlace::V2(parent.to_owned()))
        .ok_or(obstacle)
}

/// Makes a group pass the controllers on to the groups below it.
fn pass_controllers_on(group: &Path, owner: &Owner) -> Result<(), String> {
    must_be_writable(group)?;
    if names_controllers(group, "cgroup.subtree_control") {
        return Ok(());
    }
    let pass_on = || write(group, "cgroup.subtree_control", PASS_ON);
    match pass_on() {
        Ok(()) => return Ok(()),
        Err(error) if is_busy(&error) => {}
        Err(error) => return Err(error.to_string()),
    }
    // Only this process is moved. Where others are in the group, they stay, and the group is as it was.
    let own = group.join(owner.service());
    let move_to = |group: &Path| write(group, "cgroup.procs", &std::process::id().to_string());
    let moved: io::Result<()> = fs::create_dir(&own)
        .and_then(|()| move_to(&own))
        .and_then(|()| pass_on());
    moved.map_err(|error| {
        let _ = move_to(group).and_then(|()| fs::remove_dir(&own));
        match is_busy(&error) {
            true => format!(
                "other processes are in the group {} of this process",
                group.display()
            ),
            false => error.to_string(),
        }
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A fake `/proc` and `/sys/fs/cgroup` tree.
    struct Fake(TempDir);

    impl Fake {
        fn new(own_groups: &str) -> Self {
            let fake = Self(tempfile::tempdir().unwrap());
            fake.file("proc/self/cgroup", own_groups);
            fake
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn file(&self, name: &str, text: &str) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        /// Makes a version 2 group with these controllers, some passed on.
        fn group(&self, name: &str, controllers: &str, passed_on: &str) -> PathBuf {
            self.file(&format!("groups/{name}/cgroup.controllers"), controllers);
            self.file(&format!("groups/{name}/cgroup.subtree_control"), passed_on);
            self.path("groups").join(name)
        }

        fn place(&self) -> Result<GroupPlace, String> {
            let roots = Roots {
                proc: self.path("proc"),
                groups: self.path("groups"),
            };
            roots.place(&Owner::this(Path::new("/proc")).unwrap())
        }
    }

    #[test]
    fn delegated_group_gets_the_groups_of_runs() {
        let fake = Fake::new("0::/system.slice/ars.service\n");
        fake.group("", "cpu memory pids\n", "cpu memory pids\n");
        let own = fake.group("system.slice/ars.service", "cpu memory pids\n", "\n");
        assert_eq!(fake.place(), Ok(GroupPlace::V2(own.clone())));
        assert_eq!(
            fs::read_to_string(own.join("cgroup.subtree_control")).unwrap(),
            PASS_ON
        );
        // A process that moved itself below finds the group again.
        let owner = Owner::this(Path::new("/proc")).unwrap();
        let name = format!("system.slice/ars.service/{}", owner.service());
        fake.group(&name, "memory pids\n", "\n");
        fake.file("proc/self/cgroup", &format!("0::/{name}\n"));
        assert_eq!(fake.place(), Ok(GroupPlace::V2(own)));
    }

    #[test]
    fn container_sees_its_group_as_the_root() {
        let fake = Fake::new("0::/outside/of/this/mount\n");
        let own = fake.group("", "memory pids\n", "memory pids\n");
        assert_eq!(fake.place(), Ok(GroupPlace::V2(own)));
    }

    #[test]
    fn group_without_controllers_is_no_place() {
        let fake = Fake::new("0::/user.slice\n");
        fake.group("", "cpu memory pids\n", "cpu\n");
        fake.group("user.slice", "cpu pids\n", "\n");
        let obstacle = fake.place().unwrap_err();
        assert!(
            obstacle.contains("does not have the controllers memory and pids"),
            "{obstacle}"
        );
        assert!(
            obstacle.contains("version 1 has no hierarchy memory"),
            "{obstacle}"
        );
    }

    #[test]
    fn hierarchies_of_version_1_are_used_without_version_2() {
        let fake = Fake::new("4:memory:/outer/own\n8:pids:/\n1:cpu,cpuacct:/x\n0::/\n");
        fake.group("unified", "hugetlb\n", "\n");
        for folder in ["groups/memory/outer/own", "groups/pids"] {
            fs::create_dir_all(fake.path(folder)).unwrap();
        }
        let place = GroupPlace::V1 {
            memory: fake.path("groups/memory/outer/own"),
            pids: fake.path("groups/pids"),
        };
        assert_eq!(fake.place(), Ok(place));
    }

    #[test]
    fn machine_without_groups_has_a_reason() {
        let fake = Fake::new("");
        assert_eq!(
            fake.place(),
            Err("version 1 has no hierarchy memory".into())
        );
    }
}
