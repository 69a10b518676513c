//! Questions: receipts, statistics, health, metrics.

use std::sync::Arc;

use seenit_ledger::Stats;
use seenit_ledger::record::RecordId;
use seenit_ledger::signature::Case;
use seenit_ledger::verdict::Answer;
use seenit_signature::Kind;
use serde::Serialize;
use serde_json::json;

use super::answer::{self, Answered};
use super::problem::Problem;
use super::state::State;
use super::who::Caller;
use super::{blocking, receipt};
use crate::alarms;
use crate::clients::Served;
use crate::link::{Site, Sites};

const TEXT: &str = "text/plain; charset=utf-8";

/// What scrapers of metrics expect.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The contract for machines.
const OPENAPI: &str = include_str!("../../../../docs/reference/openapi.json");

/// What a record did, and what holds now.
pub(crate) async fn receipt(state: &Arc<State>, caller: &Caller, id: &str) -> Result<Answered, Problem> {
    let id: RecordId = id.parse().map_err(|error| Problem::not_found(format!("{error}")))?;
    let found = blocking::status(state, caller.budget(state), move |state| {
        let reach = || state.site.get().and_then(|site| site.reach(&state.ledger, id));
        state.ledger.receipt(id).map(|receipt| (receipt, reach()))
    });
    let unknown = || Problem::not_found(format!("the record {id} is not known (any more)"));
    let (receipt, reach) = found.await?.ok_or_else(unknown)?;
    Ok(receipt::told(&receipt, reach.as_ref(), None))
}

#[derive(Serialize)]
struct Told<'a> {
    version: &'static str,
    uptime_secs: u64,
    #[serde(flatten)]
    served: Option<&'a Served>,
    #[serde(flatten)]
    stats: Stats,
}

/// How the ledger is doing, and where clients are answered.
pub(crate) async fn stats(state: &Arc<State>) -> Result<Answered, Problem> {
    let stats = state.stats.get(state, |state| {
        let mut stats = state.ledger.stats();
        stats.alarms.extend(alarms::of_site(state));
        let uptime_secs = state.started.elapsed().as_secs();
        let (version, served) = (env!("CARGO_PKG_VERSION"), state.served.get());
        answer::json(&Told { version, uptime_secs, served, stats }).into_body()
    });
    Ok(answer::shared(answer::JSON, stats.await?))
}

/// How the other sites are doing.
pub(crate) async fn sites(state: &Arc<State>, caller: &Caller) -> Result<Answered, Problem> {
    let sites = blocking::status(state, caller.budget(state), |state| match state.site.get() {
        Some(site) => site.status(),
        None => Sites::alone(state.ledger.incarnation().0),
    });
    Ok(answer::json(&sites.await?))
}

/// The process serves: no more, no less.
pub(crate) fn health() -> Answered {
    answer::of(TEXT, "ok\n")
}

/// Checks and writes work, and the writer gets on. What works worse than it should is listed after the word `ready`,
/// one thing a line. Answered from memory and in no queue: whoever balances load must not take a site away because its
/// status is asked for too often.
pub(crate) fn ready(state: &State) -> Result<Answered, Problem> {
    let mut probe = Case::new();
    probe.push(Kind::RazorE8, &[0; 8])?;
    let signatures: Vec<_> = probe.iter().collect();
    state.ledger.check_many(&signatures, &mut [Answer::default()]);
    let degraded = state.ledger.ready()?;
    let lines = degraded.into_iter().map(|sentence| format!("degraded: {sentence}\n"));
    Ok(answer::of(TEXT, std::iter::once("ready\n".to_owned()).chain(lines).collect::<String>()))
}

/// Counters and gauges.
pub(crate) async fn metrics(state: &Arc<State>) -> Result<Answered, Problem> {
    let text = state.scrape.get(state, |state| {
        let stats = state.ledger.stats();
        let sites = state.site.get().map(Site::status);
        state.metrics.encode(&stats, state.networks.len(), sites.as_ref()).into()
    });
    Ok(answer::shared(METRICS, text.await?))
}

/// The contract for machines.
pub(crate) fn openapi() -> Answered {
    answer::shared(answer::JSON, OPENAPI)
}

/// Accepts the present time after a jump of the clock.
pub(crate) async fn confirm_clock(state: &Arc<State>) -> Result<Answered, Problem> {
    blocking::care(state, |state| state.ledger.confirm_clock()).await??;
    Ok(answer::json(&json!({"confirmed": true})))
}

/// Writes a snapshot.
pub(crate) async fn snapshot(state: &Arc<State>) -> Result<Answered, Problem> {
    blocking::care(state, |state| state.ledger.snapshot()).await??;
    Ok(answer::json(&json!({"written": true})))
}
