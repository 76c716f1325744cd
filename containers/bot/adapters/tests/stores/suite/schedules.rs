//! Firings of schedules, whichever store they are in.

use ars_wire::schedules::{Firing, Outcome};

use super::{Fixture, refusal};

fn firing(schedule: &str, fired_at: i64) -> Firing {
    Firing {
        schedule: schedule.into(),
        fired_at,
        run_id: Some("r1".into()),
        outcome: Outcome::StoppedSoft,
        detail: None,
    }
}

pub async fn firings_are_kept_and_the_newest_of_each_schedule_is_shown(fixture: Fixture) {
    assert_eq!(fixture.schedules.latest().await.unwrap(), []);
    let mut nightly = firing("nightly", 5);
    nightly.detail = Some("HTTP 500 🦀".into());
    nightly.run_id = None;
    for (firing, retained) in [(firing("nightly", 4), 1), (nightly.clone(), 2), (firing("hourly", 9), 1)] {
        assert_eq!(fixture.schedules.record(&firing).await.unwrap(), retained);
    }
    assert_eq!(fixture.schedules.latest().await.unwrap(), [firing("hourly", 9), nightly]);
}

pub async fn a_late_arrival_is_kept_and_never_the_newest(fixture: Fixture) {
    fixture.schedules.record(&firing("nightly", 5)).await.unwrap();
    assert_eq!(fixture.schedules.record(&firing("nightly", 4)).await.unwrap(), 2);
    assert_eq!(fixture.schedules.latest().await.unwrap(), [firing("nightly", 5)]);
}

pub async fn a_firing_with_too_long_a_detail_is_refused_by_name(fixture: Fixture) {
    let mut long = firing("nightly", 5);
    long.detail = Some("x".repeat(301));
    let refused = refusal(fixture.schedules.record(&long).await);
    assert!(refused.starts_with("400: firing.detail "), "{refused}");
    assert_eq!(fixture.schedules.latest().await.unwrap(), []);
}
