//! Size limits of the shipped build.

use ars_tests_workerd::state_worker_build;
use ars_workerd::{WORKER_GZIP_LIMIT, build_state_worker};

#[test]
fn worker_is_within_its_size_limit() {
    let bytes = state_worker_build().gzip_bytes;
    assert!(bytes <= WORKER_GZIP_LIMIT, "{bytes} bytes compressed, more than {WORKER_GZIP_LIMIT}");
}

#[test]
fn building_again_without_a_change_packs_nothing() {
    state_worker_build();
    assert!(build_state_worker(&|_| ()).unwrap().reused);
}
