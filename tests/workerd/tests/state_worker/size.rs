//! Size limits for the shipped build.

use ars_tests_workerd::{resident_worker_build, state_worker_build};
use ars_workerd::{RESIDENT_WORKER_GZIP_LIMIT, STATE_WORKER_GZIP_LIMIT, build_state_worker};

#[test]
fn workers_are_within_their_size_limits() {
    for (built, limit) in [
        (state_worker_build(), STATE_WORKER_GZIP_LIMIT),
        (resident_worker_build(), RESIDENT_WORKER_GZIP_LIMIT),
    ] {
        let bytes = built.gzip_bytes;
        assert!(
            bytes <= limit,
            "{}: {bytes} bytes compressed, more than {limit}",
            built.crate_dir.display()
        );
    }
}

#[test]
fn building_again_without_a_change_packs_nothing() {
    state_worker_build();
    assert!(build_state_worker(&|_| ()).unwrap().reused);
}
