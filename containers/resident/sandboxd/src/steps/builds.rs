//! Copies build results, which tools change in place.

use std::path::Path;

use ars_resident::daemon::{Answer, FailureKind};
use ars_resident::layout::CHECKOUT;
use ars_resident::plan::User;
use rustix::fs::{Mode, fchown, mkdirat, renameat};
use rustix::io::Errno;

use crate::{
    failure::{Context as _, Result},
    places::open_beneath,
    step::StepContext,
    users,
    walk::Copy,
};

/// Build result folders at a tree's root.
const BUILDS: [&str; 4] = ["dist", "build", "out", ".next"];
/// A copy's name before the rename.
const BESIDE: &str = ".ars-build";

/// Copies the checkout's build results that a tree does not have.
pub(super) async fn copy(step: &StepContext<'_>, tree: &str, owner: User) -> Result<Answer> {
    step.require_root()?;
    let from = match step.runtime.places.open_dir(CHECKOUT) {
        Ok(from) => from,
        Err(failure) if failure.kind == FailureKind::NotFound => return Ok(Answer::Done),
        Err(failure) => return Err(failure),
    };
    let to = step.runtime.places.open_dir(tree)?;
    let owner = users::owner(&step.runtime.settings.mode, owner);
    let work = move |stop: &crate::stop::Stop| {
        for name in BUILDS {
            // A link in the checkout is no build result, and a folder in the tree belongs to the
            // commit.
            let Ok(source) = open_beneath(&from, Path::new(name)) else {
                continue;
            };
            if rustix::fs::statat(&to, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                continue;
            }
            match mkdirat(&to, BESIDE, Mode::from_raw_mode(0o755)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error).context(name),
            }
            let target = open_beneath(&to, Path::new(BESIDE)).context(name)?;
            if let Some(owner) = owner {
                fchown(&target, Some(owner.uid()), Some(owner.gid())).context(name)?;
            }
            Copy {
                owner,
                links: None,
                is_writable: true,
                stop,
            }
            .run(&source, &target)?;
            renameat(&to, BESIDE, &to, name).context(name)?;
        }
        Ok(Answer::Done)
    };
    super::folders::remove_real(
        step,
        &step.runtime.places.real(&format!("{tree}/{BESIDE}"))?,
    )
    .await?;
    step.blocking(work).await
}
