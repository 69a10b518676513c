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
use super::caller::Caller;
use super::problem::Problem;
use super::receipt;
use crate::alarms;
use crate::backend::Served;
use crate::backend::{Backend, blocking};
use crate::link::{Site, Sites};

const TEXT: &str = "text/plain; charset=utf-8";

/// What scrapers of metrics expect.
const METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The contract for machines.
const OPENAPI: &str = include_str!("../../../../docs/reference/openapi.json");

/// What a record did, and what holds now.
pub(crate) async fn receipt(backend: &Arc<Backend>, caller: &Caller, id: &str) -> Result<Answered, Problem> {
    let id: RecordId = id.parse().map_err(|error| Problem::not_found(format!("{error}")))?;
    let found = blocking::status(backend, caller.budget(backend), move |backend| {
        let reach = || backend.site.get().and_then(|site| site.reach(&backend.ledger, id));
        backend.ledger.receipt(id).map(|receipt| (receipt, reach()))
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
pub(crate) async fn stats(backend: &Arc<Backend>) -> Result<Answered, Problem> {
    let stats = backend.stats.get(backend, |backend| {
        let mut stats = backend.ledger.stats();
        stats.alarms.extend(alarms::of_site(backend));
        let uptime_secs = backend.started.elapsed().as_secs();
        let version = env!("CARGO_PKG_VERSION");
        let served = backend.served.get();
        answer::json(&Told { version, uptime_secs, served, stats }).into_body()
    });
    Ok(answer::shared(answer::JSON, stats.await?))
}

/// How the other sites are doing.
pub(crate) async fn sites(backend: &Arc<Backend>, caller: &Caller) -> Result<Answered, Problem> {
    let sites = blocking::status(backend, caller.budget(backend), |backend| match backend.site.get() {
        Some(site) => site.status(),
        None => Sites::alone(backend.ledger.incarnation().0),
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
pub(crate) fn ready(backend: &Backend) -> Result<Answered, Problem> {
    let mut probe = Case::new();
    probe.push(Kind::RazorE8, &[0; 8])?;
    let signatures: Vec<_> = probe.iter().collect();
    backend.ledger.check_many(&signatures, &mut [Answer::default()]);
    let degraded = backend.ledger.ready()?;
    let lines = degraded.into_iter().map(|sentence| format!("degraded: {sentence}\n"));
    Ok(answer::of(TEXT, std::iter::once("ready\n".to_owned()).chain(lines).collect::<String>()))
}

/// Counters and gauges.
pub(crate) async fn metrics(backend: &Arc<Backend>) -> Result<Answered, Problem> {
    let text = backend.scrape.get(backend, |backend| {
        let stats = backend.ledger.stats();
        let sites = backend.site.get().map(Site::status);
        backend.metrics.encode(&stats, backend.networks.len(), sites.as_ref()).into()
    });
    Ok(answer::shared(METRICS, text.await?))
}

/// The contract for machines.
pub(crate) fn openapi() -> Answered {
    answer::shared(answer::JSON, OPENAPI)
}

/// Accepts the present time after a jump of the clock.
pub(crate) async fn confirm_clock(backend: &Arc<Backend>) -> Result<Answered, Problem> {
    blocking::care(backend, |backend| backend.ledger.confirm_clock()).await??;
    Ok(answer::json(&json!({"confirmed": true})))
}

/// Writes a snapshot.
pub(crate) async fn snapshot(backend: &Arc<Backend>) -> Result<Answered, Problem> {
    blocking::care(backend, |backend| backend.ledger.snapshot()).await??;
    Ok(answer::json(&json!({"written": true})))
}
