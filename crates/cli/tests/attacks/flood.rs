//! More sightings than the counts have room for.
//!
//! Somebody without an account says of distinct signatures that many got each of them. Beyond its capacity a counting
//! filter takes new signatures for known ones, with counts as high as the attacker claims: so what is beyond it is
//! refused, and mail that nobody saw is never called bulk.

use serde_json::Value;

use crate::common::Folder;
use crate::common::serving::{HTTP_ALONE, Serving, mail};
use crate::peer::{BINARY, PATIENT, cases, idle_kib, peak_kib, post, signature, until};

/// Signatures that one generation of counts is made for.
const CAPACITY: u64 = 20_000;

/// Distinct signatures that are flooded: four times the capacity, with which 99 % of new messages were bulk.
const FLOOD: u64 = 4 * CAPACITY;

/// Recipients claimed for every other batch: more than make a message bulk, and more than small cells hold. Of the rest
/// one is claimed, so that they find room where large counts do not.
const RECIPIENTS: [u64; 2] = [1000, 1];

/// Signatures that nobody ever saw, asked about afterwards. None may be bulk.
const NEW: u64 = 20_000;

/// What memory may grow by: counts of 20,000 signatures take less than one megabyte with all copies, the rest are
/// buffers of a server that works for the first time.
const GROWTH_KIB_MAX: u64 = 32 << 10;

/// Cases of one request.
const BATCH: u64 = 1000;

fn new_bulk(serving: &Serving<'_>) -> usize {
    let body = (1 << 40..(1 << 40) + NEW).flat_map(signature).collect::<Vec<u8>>();
    let mut bulk = 0;
    for part in body.chunks(23 * 10_000) {
        let json: Vec<_> = part
            .chunks(23)
            .map(|one| serde_json::json!([{"kind": "exact1", "digest": hex::encode(&one[3..])}]))
            .collect();
        for cases in json.chunks(BATCH as usize) {
            let body = serde_json::json!({ "cases": cases }).to_string();
            let answered = post(serving.address(), "/v1/check", "application/json", None, body.as_bytes());
            assert_eq!(answered.status, 200, "{}", answered.body);
            bulk += answered.body.matches("\"verdict\":\"bulk\"").count();
        }
    }
    bulk
}

#[test]
fn a_flood_of_sightings_makes_no_new_message_bulk_and_memory_stays_bounded() {
    let folder = Folder::new();
    // With a generation of a day, one that begins amid this would have room for as much again.
    let ledger = format!("seen_capacity = {CAPACITY}\ndelta_millis = 100\ngeneration_secs = 604800\n");
    folder.write("seenit.toml", format!("[ledger]\n{ledger}{PATIENT}"));
    let options = format!("--config seenit.toml {HTTP_ALONE}");
    let serving = Serving::start_with(&folder, &options);
    folder.write("before.eml", mail(1));
    assert_eq!(serving.run("see --recipients 25 before.eml").code, 0);
    let before_kib = idle_kib(&serving);

    let mut refused = 0;
    for first in (0..FLOOD).step_by(BATCH as usize) {
        let body = cases(first..first + BATCH);
        let path = format!("/v1/see?recipients={}", RECIPIENTS[(first / BATCH % 2) as usize]);
        match post(serving.address(), &path, BINARY, None, &body) {
            answered if answered.status == 202 => {}
            answered => {
                assert_eq!((answered.status, answered.json()["code"].as_str()), (503, Some("seen-full")));
                refused += 1;
            }
        }
        if first == FLOOD / 2 {
            folder.write("during.eml", mail(2));
            assert_eq!(serving.run("report during.eml").code, 0, "a report amid the flood is acknowledged");
        }
    }
    assert_eq!(new_bulk(&serving), 0, "of {NEW} signatures that nobody saw");
    assert!(refused >= (FLOOD - CAPACITY) / BATCH, "{refused} requests were refused");
    let grown = peak_kib(&serving).saturating_sub(before_kib);
    eprintln!("{grown} KiB more than before the flood ({before_kib} KiB)");
    assert!(grown < GROWTH_KIB_MAX, "{grown} KiB more than before the flood");

    let stats = serving.run("stats --json").json();
    let alarms = stats["alarms"].to_string();
    assert!(alarms.contains("sightings are not counted"), "{alarms}");
    // What was counted before the flood goes on counting, and a check that counts is answered all the same.
    folder.write("new.eml", mail(3));
    let checked = serving.run("check --json --see 5 new.eml").json();
    assert_eq!(
        (checked[0]["verdict"].as_str(), checked[0]["counted"].as_bool()),
        (Some("unknown"), Some(false))
    );
    let checked = serving.run("check --json --see 1 before.eml").json();
    assert_eq!((checked[0]["verdict"].as_str(), checked[0]["counted"].as_bool()), (Some("bulk"), Some(true)));
    serving.stop();

    let serving = Serving::start_with(&folder, &options);
    assert_eq!(new_bulk(&serving), 0, "after a restart");
    assert_eq!(serving.verdict("during.eml").0, "spam");
    // What cells hold is estimated at a start, within a few hundredths.
    let answered = post(serving.address(), "/v1/see", BINARY, None, &cases(FLOOD..FLOOD + BATCH));
    assert_eq!(answered.status, 503, "a restart gives no new room: {}", answered.body);
    serving.stop();
}

/// Texts that the shingle filters are made for, the least that can be configured.
const TEXTS: u64 = 1000;

/// Texts that are reported: with four times as many as fit, most texts that nobody saw would be replicas of spam.
const TEXTS_REPORTED: u64 = 4 * TEXTS;

/// A `near1` signature that only this number has: 32 shingles from a small generator.
fn text(number: u64) -> Vec<u8> {
    let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let shingle = |_| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27).to_le_bytes()
    };
    [2, 0, 1].into_iter().chain((0..32).flat_map(shingle)).collect()
}

/// More texts than the shingle filters can tell apart: the lie detector finds out, and what rests on them is no
/// opinion.
#[test]
fn shingle_filters_that_hold_too_much_are_found_out_and_make_no_text_spam() {
    let folder = Folder::new();
    folder.write("seenit.toml", format!("[ledger]\nnear_capacity = {TEXTS}\n{PATIENT}"));
    let serving = Serving::start_with(&folder, &format!("--config seenit.toml {HTTP_ALONE}"));
    let token = serving.operator_token();
    for first in (0..TEXTS_REPORTED).step_by(500) {
        let case = |number| [1u16.to_le_bytes().to_vec(), text(number)].concat();
        let body: Vec<u8> = (first..first + 500).flat_map(case).collect();
        let answered = post(serving.address(), "/v1/report", BINARY, Some(&token), &body);
        assert_eq!(answered.status, 200, "{}", answered.body);
    }
    let (mut near, mut alarms) = (Value::Null, Value::Null);
    until("the lie detector doubts the filter", || {
        let stats = serving.run("stats --json").json();
        let filters = stats["filters"].as_array().cloned().expect("filters");
        near = filters.into_iter().find(|filter| filter["name"] == "near").expect("near");
        alarms = stats["alarms"].clone();
        near["in_doubt"] == true
    });
    assert!(alarms.to_string().contains("the filter `near`"), "{alarms}");
    assert!(near["interval"][0].as_f64() > near["promised_rate"].as_f64(), "{near}");
    // Neither a text that nobody saw nor one that was reported is spam: of neither can the filters tell.
    for number in (0..50).chain(1_000_000..1_000_050) {
        let digest = hex::encode(&text(number)[3..]);
        let body = serde_json::json!({"case": [{"kind": "near1", "digest": digest}]}).to_string();
        let answered = post(serving.address(), "/v1/check", "application/json", None, body.as_bytes()).json();
        let (verdict, rule) = (&answered["verdict"], &answered["reasons"][0]["rule"]);
        let is_degraded = verdict == "no opinion" && rule == "overfull";
        assert!(is_degraded || number >= 50 && verdict == "unknown", "{answered}");
    }
    serving.stop();
}
