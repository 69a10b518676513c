//! What the threads of a ledger share.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard};

use seenit_filter::hash::Hash128;

use crate::answers::{Receipt, SiteReceipt};
use crate::clock::Clock;
use crate::config::LedgerConfig;
use crate::error::WriteError;
use crate::identity::Identity;
use crate::journal::heard::{HeardBody, Origin, Uncounted};
use crate::journal::{Journal, RecordNumber};
use crate::judge::{Judge, judge_alone};
use crate::keys::Key;
use crate::memory::Memory;
use crate::own_chain::Chains;
use crate::own_log::OwnLogs;
use crate::record::{Record, RecordId, Verb};
use crate::reporter::{Reporter, ReporterId};
use crate::signature::{Case, SignatureRef};
use crate::tally_growth::TallyGrowth;
use crate::verdict::Verdict;
use crate::writer_progress::{WriterProgress, WriterStep};

/// Memory, journal, and how they are doing.
pub(crate) struct Shared {
    pub(crate) config: LedgerConfig,
    pub(crate) folder: PathBuf,
    pub(crate) clock: Arc<dyn Clock>,
    /// Only the thread that writes changes it.
    pub(crate) identity: RwLock<Identity>,
    pub(crate) memory: Memory,
    /// `None` while it is opened again after a failure.
    pub(crate) journal: RwLock<Option<Arc<Journal>>>,
    pub(crate) reporters: RwLock<HashMap<ReporterId, Reporter>>,
    pub(crate) generation: AtomicU64,
    /// The number of the last record.
    pub(crate) last: AtomicU64,
    /// The serial number of the last record that was heard from a peer.
    pub(crate) heard: AtomicU64,
    /// Generations before this one are hidden.
    pub(crate) hidden_before: AtomicU64,
    /// Whether that is later than records expire, because the tally was full.
    pub(crate) is_kept_short: AtomicBool,
    /// How fast the tally fills.
    pub(crate) growth: Mutex<TallyGrowth>,
    /// Signatures that became bulk in this generation.
    pub(crate) promoted: AtomicU64,
    /// Bulk marks of all generations that are kept, each signature once a generation.
    pub(crate) bulk: AtomicU64,
    /// Signatures whose promotion waits to be written.
    pub(crate) promoting: Mutex<HashSet<Hash128>>,
    pub(crate) state: Mutex<LedgerState>,
    /// How far the log of own sightings is.
    pub(crate) own_logs: Mutex<OwnLogs>,
    /// The first own record that is kept, without those that do not age.
    pub(crate) first_kept: AtomicU64,
    /// Values of own chains that were asked for last.
    pub(crate) chains: Mutex<Chains>,
    pub(crate) progress: WriterProgress,
    /// What is called when the log of own records or of own sightings has grown.
    pub(crate) on_growth: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

/// How the ledger is doing.
#[derive(Clone, Debug, Default)]
pub(crate) struct LedgerState {
    /// Why writes are refused. The writer sets it and takes it back.
    pub(crate) refused: Option<WriteError>,
    /// The ledger was closed, or is being closed: for good, whatever the writer still does.
    pub(crate) is_closed: bool,
    /// How the last report was refused that found no room in the tally, until there is room again.
    pub(crate) full: Option<WriteError>,
    /// What the clock does, where it is not believed.
    pub(crate) clock: Option<String>,
    /// Why the server is to be restarted.
    pub(crate) restart: Option<String>,
    /// What happened at start and since.
    pub(crate) recovery: Vec<String>,
    /// When the last snapshot was taken, by the ledger's time.
    pub(crate) snapshot_secs: Option<u64>,
    /// Why the last snapshot could not be taken.
    pub(crate) snapshot_failed: Option<String>,
    /// Records of peers that are kept and not counted.
    pub(crate) uncounted: UncountedNow,
    /// Seen signatures and their rate, and when they were estimated.
    pub(crate) seen_fill: Option<(std::time::Instant, u64, f64)>,
    /// Sites that contradicted themselves, in words.
    pub(crate) contradictions: Vec<String>,
    /// Since when, by the steady clock, the peer sums are being rebuilt.
    pub(crate) rebuilding_since: Option<u64>,
}

/// How many records of peers were not counted in a generation, by why. A restart begins anew.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UncountedNow {
    generation: u64,
    numbers: [u64; Uncounted::ALL.len()],
}

impl UncountedNow {
    pub(crate) fn note(&mut self, generation: u64, why: Uncounted) {
        if self.generation != generation {
            *self = UncountedNow { generation, ..UncountedNow::default() };
        }
        self.numbers[why as usize] += 1;
    }

    /// Those of a generation.
    pub(crate) fn of(&self, generation: u64, why: Uncounted) -> u64 {
        if self.generation == generation { self.numbers[why as usize] } else { 0 }
    }
}

impl LedgerState {
    /// Why writes are refused, where they are.
    pub(crate) fn refusal(&self) -> Option<WriteError> {
        if self.is_closed { Some(WriteError::Closed) } else { self.refused.clone() }
    }
}

impl Shared {
    pub(crate) fn journal(&self) -> Option<Arc<Journal>> {
        self.journal.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn identity(&self) -> RwLockReadGuard<'_, Identity> {
        self.identity.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, LedgerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes whoever publishes what this site writes.
    pub(crate) fn has_grown(&self) {
        if let Some(wake) = self.on_growth.get() {
            wake();
        }
    }

    pub(crate) fn own_logs(&self) -> MutexGuard<'_, OwnLogs> {
        self.own_logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn growth(&self) -> MutexGuard<'_, TallyGrowth> {
        self.growth.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Relaxed)
    }

    /// The writer begins a step.
    pub(crate) fn begin(&self, step: WriterStep) {
        self.progress.begin(step, self.clock.steady_secs());
    }

    /// What the writer is stuck in, where it is.
    pub(crate) fn stuck(&self) -> Option<WriteError> {
        self.progress.stuck(self.clock.steady_secs())
    }

    /// Who judges by what is known now: by memory alone, where the journal is not to be asked.
    pub(crate) fn judge<'a>(&'a self, journal: Option<&'a Journal>) -> Judge<'a> {
        Judge { memory: &self.memory, config: &self.config, generation: self.generation(), journal }
    }

    pub(crate) fn reporter(&self, id: ReporterId) -> Option<Reporter> {
        self.reporters.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    pub(crate) fn reporters(&self) -> HashMap<ReporterId, Reporter> {
        self.reporters.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The name of a record.
    pub(crate) fn record_id(&self, number: u64) -> RecordId {
        let identity = self.identity();
        let site = short_site(identity.site());
        RecordId { site, incarnation: identity.incarnation_of(number), number }
    }

    /// A record, who said it, and its name; nothing where it is of a peer that is gone. Of a reporter of a peer the
    /// number is a serial number.
    pub(crate) fn said_in(
        &self,
        journal: &Journal,
        reporter: ReporterId,
        number: RecordNumber,
    ) -> Option<(String, RecordId, Record)> {
        let Some(slot) = reporter.slot() else {
            let name = self.reporter(reporter).map_or_else(|| reporter.0.to_string(), |one| one.name);
            let (_, record) = journal.record(number).ok()??;
            let Some(serial) = number.returned_serial() else {
                return Some((name, self.record_id(number.0), record));
            };
            let (Origin { incarnation, sequence, .. }, _) = journal.heard(serial).ok()??;
            let identity = self.identity();
            let first = identity.span(incarnation).map_or(1, |span| span.first);
            let site = short_site(identity.site());
            return Some((name, RecordId { site, incarnation, number: first + sequence - 1 }, record));
        };
        let peers = journal.peers();
        let (peer, (origin, body)) = peers.get(slot).zip(journal.heard(number.0).ok()?)?;
        let HeardBody::Counted(record) = body else {
            return None;
        };
        let Origin { incarnation, sequence, .. } = origin;
        let id = RecordId { site: short_site(peer.site), incarnation, number: sequence };
        Some((format!("{}#{}", peer.name, reporter.remote()), id, record))
    }

    /// A case without digests of nothing, and with one signature of all of Razor's parts.
    pub(crate) fn usable<'a>(&self, case: Cow<'a, Case>) -> Cow<'a, Case> {
        let case = case.with_razor_together().map_or(case, Cow::Owned);
        use seenit_filter::hash::KeyHasher;
        let is_usable = |signature: &SignatureRef<'_>| {
            let hash = self.memory.sip.hash(signature);
            !self.memory.degenerate.contains(&hash)
        };
        if case.iter().all(|signature| is_usable(&signature)) {
            return case;
        }
        let mut usable = Case::new();
        for signature in case.iter().filter(is_usable) {
            // It was in a case: it fits into one.
            let _ = usable.add(signature);
        }
        Cow::Owned(usable)
    }

    /// What records of these keys did, as memory has it now.
    pub(crate) fn receipt(
        &self,
        number: u64,
        verb: Verb,
        records: u32,
        matched: u64,
        keys: &[Key],
    ) -> Receipt {
        let is_spam =
            |key: &&Key| judge_alone(&self.memory.tally(key.hash), key.kind, &self.config).0 == Verdict::Spam;
        let remaining = keys.iter().filter(is_spam).count() as u64;
        let is_revocation = verb == Verb::Revoke;
        let site = SiteReceipt { site: hex::encode(self.identity().site()), applied: true };
        Receipt {
            id: self.record_id(number),
            records,
            verb,
            matched,
            cleared: if is_revocation { keys.len() as u64 - remaining } else { 0 },
            remaining: if is_revocation { remaining } else { 0 },
            sites: vec![site],
            protection: None,
        }
    }
}

/// The half of a site's key that names it in records.
fn short_site(site: [u8; 32]) -> u128 {
    u128::from_be_bytes(std::array::from_fn(|index| site[index]))
}
