//! Strangers who fill the tally.
//!
//! Users of this machine without an account, an account whose opinions weigh nothing, and one that the operator does
//! not vouch for send more signatures than the tally holds, generation after generation, with a restart in between.

use crate::common::Folder;
use crate::common::serving::{HTTP_ALONE, Serving};
use crate::peer::{BINARY, PATIENT, cases, post, send_as, signature, until};
use crate::users::{account, is_root};

/// Signatures that the tally holds.
const CAPACITY: u64 = 1000;

/// A tenth of it, the share of one account over all generations that are kept.
const SHARE: u64 = CAPACITY / 10;

/// What a vouched account and the operator report before: more than half of the tally.
const VOUCHED: u64 = 500;
const OPERATORS: u64 = 50;

/// What the tally may hold afterwards: that, the operator's new report, and two shares, of the account and of all users
/// of this machine.
const HELD_MAX: u64 = VOUCHED + OPERATORS + 1 + 2 * SHARE;

/// Generations that the attackers go on for. With a share in each they would have pushed everything out.
const GENERATIONS: u64 = 4;

/// Seconds of a generation: long enough for one wave.
const GENERATION_SECS: u64 = 5;

/// A user of the system with no account here, and what it reports in each: more than its share in all of them.
const NOBODY: u32 = 65_534;
const REPORTS_OF_NOBODY: u64 = 400;

struct Site<'a> {
    serving: Serving<'a>,
    operator: String,
}

impl<'a> Site<'a> {
    fn start(folder: &'a Folder) -> Self {
        let options = HTTP_ALONE.replace("--pyzor off", "--pyzor 127.0.0.1:0");
        let serving = Serving::start_with(folder, &format!("--config seenit.toml {options}"));
        let operator = serving.operator_token();
        Site { serving, operator }
    }

    fn account(&self, name: &str, weight: Option<u8>) -> String {
        let token = self.serving.run(&format!("account add {name} --role report")).out.trim().to_owned();
        if let Some(weight) = weight {
            assert_eq!(self.serving.run(&format!("account weight {name} {weight}")).code, 0);
        }
        token
    }

    fn report(&self, token: &str, numbers: std::ops::Range<u64>) -> u16 {
        post(self.serving.address(), "/v1/report", BINARY, Some(token), &cases(numbers)).status
    }

    /// Reports signatures one by one, in batches that may be refused.
    fn flood(&self, token: &str, numbers: std::ops::Range<u64>) {
        for first in numbers.step_by(20) {
            let status = self.report(token, first..first + 20);
            assert!([200, 429].contains(&status), "{status}");
        }
    }

    fn stat(&self, name: &str) -> u64 {
        self.serving.run("stats --json").json()[name].as_u64().expect("a number")
    }

    fn wait_for_generation(&self, after: u64) {
        until("the next generation has begun", || self.stat("generation") > after);
    }

    /// How many are spam.
    fn spam(&self, numbers: std::ops::Range<u64>) -> usize {
        let one =
            |number| serde_json::json!([{"kind": "exact1", "digest": hex::encode(&signature(number)[3..])}]);
        let body = serde_json::json!({ "cases": numbers.map(one).collect::<Vec<_>>() }).to_string();
        let answered = post(self.serving.address(), "/v1/check", "application/json", None, body.as_bytes());
        let judgements = answered.json()["judgements"].as_array().cloned().expect("judgements");
        judgements.iter().filter(|one| one["verdict"] == "spam").count()
    }

    /// How many records of an account there are.
    fn records(&self, name: &str) -> u64 {
        account(&self.serving, name)["reporter"]["records"].as_u64().expect("a number")
    }

    /// Pyzor reports of distinct digests by a user without an account.
    fn flood_as_nobody(&self, wave: u64) {
        let pyzor = self.serving.said["clients"]["pyzor"].as_str().expect("it is served");
        let port = pyzor.rsplit_once(':').expect("a port").1;
        let report = |number: u64| {
            let thread = 1024 + number;
            format!("Op: report\nOp-Digest: {wave:08x}{number:032x}\nThread: {thread}\nPV: 2.1\n\n")
        };
        send_as(NOBODY, port, &(0..REPORTS_OF_NOBODY).map(report).collect::<Vec<_>>());
    }
}

#[test]
fn strangers_take_a_tenth_at_most_and_push_out_nothing_that_vouched_accounts_said() {
    let folder = Folder::new();
    // With the usual 30 generations words would expire in this test where the disk is slow.
    let ledger =
        format!("capacity = {CAPACITY}\ngeneration_secs = {GENERATION_SECS}\nrecord_generations = 400\n");
    folder.write("seenit.toml", format!("[ledger]\n{ledger}snapshot_secs = 2\n{PATIENT}"));
    let mut site = Site::start(&folder);
    let vouched = site.account("vouched", Some(10));
    let (known, weightless) = (site.account("known", None), site.account("weightless", Some(0)));
    assert_eq!(site.report(&vouched, 0..VOUCHED), 200);
    assert_eq!(site.report(&site.operator, 1000..1000 + OPERATORS), 200);

    let is_root = is_root();
    if !is_root {
        eprintln!("not tried: only root can send datagrams as another user");
    }
    for wave in 0..GENERATIONS {
        let first = (wave + 1) * 10_000;
        site.flood(&known, first..first + CAPACITY);
        site.flood(&weightless, first + CAPACITY..first + 2 * CAPACITY);
        if is_root {
            site.flood_as_nobody(wave);
        }
        if wave == GENERATIONS / 2 {
            site.serving.stop();
            site = Site::start(&folder);
            let status = site.report(&known, 90_000..90_000 + SHARE);
            assert_eq!(status, 429, "a restart gives no new share");
        }
        site.wait_for_generation(site.stat("generation"));
    }
    assert_eq!(site.spam(0..VOUCHED), VOUCHED as usize, "what a vouched account said");
    assert_eq!(site.spam(1000..1000 + OPERATORS), OPERATORS as usize, "what the operator said");
    assert_eq!(site.report(&site.operator, 5000..5001), 200, "the operator's report is acknowledged");
    assert_eq!(site.spam(5000..5001), 1);
    let heard = site.records("local");
    assert!(!is_root || heard >= SHARE / 2, "users without an account were heard: {heard} records");
    let held = site.stat("signatures");
    eprintln!("{held} signatures are held; {heard} records of users without an account");
    assert!(held <= HELD_MAX, "the tally holds {held} signatures, {HELD_MAX} at most");
    site.serving.stop();
}
