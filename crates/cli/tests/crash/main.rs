//! Crashes of the real server: killed at random moments under load, on disks that fail, fill up, or forget what was not
//! synced. Each time: what was acknowledged is found, nothing is found that was not sent, nothing is unreadable, and
//! seen counts are not below what was accepted some intervals before.
//!
//! `SEENIT_LONG=1` runs many more rounds. A failing round prints its seed.

mod faults;
mod load;
mod server;
mod soak;

use std::time::Duration;

use load::{Load, Random};
use server::Site;

/// Kills in one run. Two hundred find what happens once in fifty times; a long run has three thousand.
fn rounds(short: u64, long: u64) -> u64 {
    if std::env::var_os("SEENIT_LONG").is_some() { long } else { short }
}

#[test]
fn killed_two_hundred_times_nothing_acknowledged_is_lost() {
    let (site, mut load) = (Site::new(), Load::new(2006));
    let mut random = Random(2006);
    for round in 0..rounds(200, 3000) {
        let server = site.start(&[]).unwrap_or_else(|why| panic!("round {round}: {why}"));
        load.check(&server, &format!("round {round}, {:?}", server.recovery));
        let moment = Duration::from_millis(random.below(150));
        load.run(server, moment);
    }
    let server = site.start(&[]).expect("it starts");
    load.check_all(&server);
}

#[test]
fn a_power_failure_takes_only_what_was_not_synced() {
    let Some(library) = faults::library() else { return };
    let (site, mut load) = (Site::new(), Load::new(7));
    let mut random = Random(7);
    let undo = site.path("undo");
    std::fs::create_dir(&undo).expect("a folder");
    for round in 0..rounds(20, 300) {
        let environment = faults::power(&library, &site.data(), &undo);
        let server = site.start(&environment).unwrap_or_else(|why| panic!("round {round}: {why}"));
        load.check(&server, &format!("round {round}, {:?}", server.recovery));
        load.run(server, Duration::from_millis(20 + random.below(300)));
        let undone = faults::undo(&site.data(), &undo);
        load.note(format!("{undone} bytes undone"));
    }
    let server = site.start(&[]).expect("it starts");
    load.check_all(&server);
}

#[test]
fn writes_and_syncs_that_fail_refuse_and_lose_nothing() {
    let Some(library) = faults::library() else { return };
    for (fault, every) in [("FAULTS_WRITE", 37), ("FAULTS_SYNC", 11)] {
        let (site, mut load) = (Site::new(), Load::new(every));
        drop(site.start(&[]).expect("it starts without faults"));
        let switch = site.path("switch");
        let environment = faults::every(&library, &site.data(), &switch, fault, every);
        for round in 0..rounds(5, 50) {
            let server = site.start(&environment).unwrap_or_else(|why| panic!("{fault} {round}: {why}"));
            load.check(&server, &format!("{fault}, round {round}, {:?}", server.recovery));
            std::fs::write(&switch, b"").expect("written");
            load.run(server, Duration::from_millis(400));
            let _ = std::fs::remove_file(&switch);
        }
        assert!(load.refused() > 0, "{fault}: no write was refused, so nothing was tested");
        let server = site.start(&[]).expect("it starts");
        load.check_all(&server);
    }
}

#[test]
fn a_full_disk_refuses_writes_answers_reads_and_goes_on_when_there_is_room() {
    let Some(library) = faults::library() else { return };
    let (site, mut load) = (Site::new(), Load::new(99));
    let switch = site.path("switch");
    let environment = faults::space(&library, &site.data(), &switch, 1);
    let server = site.start(&environment).expect("it starts while there is room");
    load.some(&server, 50);
    std::fs::write(&switch, b"").expect("written");
    load.refused_with(&server, 503);
    let (status, body) = server.client().get("/readyz").expect("an answer");
    assert_eq!(status, 503, "{}", String::from_utf8_lossy(&body));
    load.check(&server, "while the disk is full");
    std::fs::remove_file(&switch).expect("removed");
    load.accepted_within(&server, Duration::from_secs(60));
    load.check_all(&server);
}
