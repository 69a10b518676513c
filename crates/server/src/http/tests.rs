//! That checks are answered by their deadline, and whatever status work waits for. A real server answers on loopback;
//! what is slow is held by the test.

#[path = "../../tests/http/site.rs"]
#[allow(dead_code)]
mod site;

use std::sync::{Arc, RwLock};
use std::time::Duration;

use seenit_ledger::signature::Case;
use seenit_signature::Kind;
use serde_json::{Value, json};

use self::site::{BINARY, JSON, MAIL, MESSAGE, Reply, Site, config};
use super::check;
use super::deadline::Deadline;
use crate::backend::Backend;
use crate::backend::blocking;
use crate::clients::tests::until;
use crate::connections::{Doing, Guest};
use crate::memory::Holder;

impl Site {
    fn backend(&self) -> &Arc<Backend> {
        &self.running.as_ref().expect("it runs").backend
    }

    fn check(&self, content_type: &str, body: impl AsRef<[u8]>) -> Reply {
        self.ask("POST", "/v1/check").body(content_type, body).send()
    }
}

fn signature() -> Value {
    json!({"kind": "exact1", "digest": "ab".repeat(20)})
}

#[test]
fn a_check_that_waits_too_long_is_no_opinion_with_the_reason_deadline() {
    let mut config = config();
    // Far longer than a check takes whose turn has come.
    config.check.deadline_millis = 1000;
    let site = Site::start(config);
    let reason = json!({"rule": "deadline", "verdict": "no opinion", "deadline_millis": 1000});
    let late = json!({"verdict": "no opinion", "reasons": [reason]});
    let held = site.backend().queues.hold_checks();
    let message = site.check(MESSAGE, MAIL);
    assert_eq!((message.status, message.json()), (200, late.clone()));
    assert_eq!(site.check(JSON, json!({"case": [signature()]}).to_string()).json(), late);
    let cases = json!({"cases": [[signature()], [signature()]]}).to_string();
    assert_eq!(site.check(JSON, cases).json(), json!({"judgements": [late, late]}));
    // What memory answers waits for nobody.
    let signatures = json!({"signatures": [signature()]}).to_string();
    assert_eq!(site.check(JSON, &signatures).json(), json!({"answers": [{"verdict": "unknown"}]}));
    drop(held);
    until("its turn comes", || site.check(MESSAGE, MAIL).json()["verdict"] == "unknown");
}

#[test]
fn memory_that_is_too_slow_is_no_opinion_of_every_signature() {
    let site = Site::start(config());
    let mut case = Case::new();
    case.push(Kind::RazorE8, &[1; 8]).expect("a digest of its length");
    let signatures: Vec<_> = case.iter().collect();
    let backend = site.backend();
    let asked = |deadline| check::CheckOptions { deadline, counting: None };
    assert!(
        check::answers(backend, &asked(Deadline::from_now(&backend.config.check)), &signatures).is_some()
    );
    assert!(check::answers(backend, &asked(Deadline::passed()), &signatures).is_none());
    assert_eq!(Deadline::passed().late().answers(1)["answers"], json!([{"verdict": "no opinion"}]));
    let codes = check::no_opinions(2).into_iter().map(|answer| answer.to_bytes());
    assert_eq!(codes.collect::<Vec<_>>(), [[4, 0, 0, 0, 0, 0, 0, 0]; 2]);
}

/// How long a test waits for what must happen, before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Pieces of work at a time, of which each holder has half.
const AT_A_TIME: u32 = 4;

#[test]
fn whoever_holds_all_its_turns_waits_for_itself_and_others_are_served() {
    let mut config = config();
    config.http.at_a_time = AT_A_TIME;
    // Far longer than a check takes: only the holder's own waits for so long.
    config.check.deadline_millis = 10_000;
    let site = Site::start(config);
    let [first, second] = ["first", "second"].map(|name| site.account(name, r#"["check"]"#));
    let verdict = |token: Option<&str>| {
        let ask = site.ask("POST", "/v1/check").body(MESSAGE, MAIL);
        let ask = token.into_iter().fold(ask, |ask, token| ask.token(token));
        ask.send().json()["verdict"].as_str().expect("a verdict").to_owned()
    };
    let backend = site.backend();
    let holder = backend.accounts.holder(first.as_bytes()).expect("an account");
    let (begun, begins) = std::sync::mpsc::channel();
    let gate = Arc::new(RwLock::new(()));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    // Made after the runtime, which waits for its work when it is dropped: a failed assertion opens the gate first.
    let held = gate.write().expect("nobody else has it");
    // More slow messages of one account than there are permits for all.
    let slow = (0..2 * AT_A_TIME).map(|_| {
        let backend = Arc::clone(backend);
        let holder = Arc::clone(&holder);
        let begun = begun.clone();
        let gate = Arc::clone(&gate);
        let work = move |_: &Backend| {
            let _ = begun.send(());
            drop(gate.read());
        };
        runtime.spawn(async move { blocking::sign(&backend, &holder.budget, work).await.is_ok() })
    });
    let slow: Vec<_> = slow.collect();
    // Each of them waits for a permit now, or has one.
    runtime.block_on(async { tokio::task::yield_now().await });
    (0..AT_A_TIME / 2).for_each(|_| begins.recv_timeout(PATIENCE).expect("its own turns are free"));
    assert_eq!(verdict(Some(&second)), "unknown", "another account is served");
    assert_eq!(verdict(Some(&site.token)), "unknown", "and so is the operator");
    assert_eq!(verdict(None), "unknown", "and so are users of this machine without an account");
    assert_eq!(verdict(Some(&first)), "no opinion", "the holder waits for itself, beyond the deadline");
    assert!(begins.try_recv().is_err(), "it has half of the permits");
    drop(held);
    assert!(
        slow.into_iter().all(|one| runtime.block_on(one).expect("no panic")),
        "its turns come in the end"
    );
    assert_eq!(verdict(Some(&first)), "unknown", "and it is served again");
}

/// Connections with a question about the site: more than any queue has room for.
const POLLERS: usize = 40;

#[test]
fn checks_are_answered_while_status_work_is_stuck() {
    let mut config = config();
    config.check.deadline_millis = 60_000;
    let site = Site::start(config);
    let backend = site.backend();
    std::thread::scope(|scope| {
        let held = backend.queues.hold_status();
        let site = &site;
        let ask = move |number: usize| site.get(["/v1/sites", "/v1/stats", "/metrics"][number % 3]);
        let pollers: Vec<_> = (0..POLLERS).map(|number| scope.spawn(move || ask(number))).collect();
        // Those who ask for the sites wait; the others are answered at once, each once for all.
        until("all ask", || backend.metrics.connections.get() >= POLLERS as i64 / 3);
        assert_eq!(site.check(MESSAGE, MAIL).json()["verdict"], "unknown");
        assert_eq!(site.check(JSON, json!({"case": [signature()]}).to_string()).json()["verdict"], "unknown");
        assert_eq!(site.check(BINARY, [7, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8]).body, [0; 8]);
        assert_eq!(site.post("/v1/report", MESSAGE, MAIL).status, 200);
        assert_eq!((site.get("/healthz").status, site.get("/readyz").status), (200, 200));
        // Those whose turn never came are told to come back; those that are being answered are, in the end.
        until("some are refused", || backend.metrics.status_refused.get() > 0);
        drop(held);
        let replies: Vec<Reply> =
            pollers.into_iter().map(|poller| poller.join().expect("an answer")).collect();
        let (answered, refused): (Vec<_>, Vec<_>) = replies.iter().partition(|reply| reply.status == 200);
        assert!(!answered.is_empty() && !refused.is_empty());
        for reply in refused {
            assert_eq!(reply.problem(), (503, "status-busy".into()));
            assert!(reply.header("retry-after").is_some());
        }
    });
}

#[test]
fn one_holder_that_has_all_it_may_keeps_no_other_one_s_large_bodies_out() {
    let mut config = config();
    config.http.held_bytes_max = 1 << 20;
    config.http.message_bytes_max = 256 << 10;
    config.http.body_bytes_max = 256 << 10;
    let site = Site::start(config);
    let memory = &site.backend().memory;
    let guest = Arc::new(Guest::new([127, 0, 0, 1].into()));
    guest.set(Doing::Working);
    let mut held = Vec::new();
    while memory.held_bytes() < (1 << 20) / 2 {
        let bytes = vec![0; 80 << 10].into();
        held.push(memory.hold_answer(Holder::Local, &guest, bytes));
        assert!(held.len() < 100, "it gets its half");
    }
    let large = format!("{MAIL}{}", "some words of a long text\r\n".repeat(8_000));
    assert_eq!(site.check(MESSAGE, &large).problem(), (503, "memory-busy".into()), "its own");
    assert_eq!(site.post("/v1/check", MESSAGE, &large).status, 200, "the operator's");
}

#[test]
fn statistics_and_metrics_are_answered_while_other_questions_wait_for_their_turn() {
    let site = Site::start(config());
    let _held = site.backend().queues.hold_status();
    assert_eq!((site.get("/v1/stats").status, site.get("/metrics").status), (200, 200));
}
