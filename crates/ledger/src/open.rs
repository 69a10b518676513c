//! Opening a ledger: memory from the newest snapshot that is whole, brought up to date by the journal; or from the
//! journal alone. What happened is said.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, OnceLock, RwLock};

use seenit_filter::hash::SipKey;
use seenit_link::store::HeldStream;

use crate::age;
use crate::clock::{Calendar, Clock};
use crate::config::LedgerConfig;
use crate::error::OpenError;
use crate::follow::{self, Following, Unsummed};
use crate::held::{self, Held, HeldBytes};
use crate::identity::{Ending, FolderLock, HighMark, Identity};
use crate::journal::horizon::{Horizon, MoveTo, NextNumbers};
use crate::journal::{Journal, JournalError, LASTING};
use crate::memory::Memory;
use crate::migrate;
use crate::own_log::{self, OwnLogs};
use crate::peers::change;
use crate::peers::table::Peers;
use crate::private;
use crate::protection;
use crate::salvage::{self, Salvage};
use crate::share::Shares;
use crate::shared::{LedgerState, Shared};
use crate::snapshot::{self, FILES, Head, Snapshot, SnapshotError};
use crate::tally_growth::TallyGrowth;
use crate::writer::{Job, TALLIES_ANEW, Writer, count_sightings};
use crate::writer_progress::WriterProgress;

/// Where the journal lies in the data folder.
pub(crate) const JOURNAL_FOLDER: &str = "journal";

/// Where tallies come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tallies {
    /// From the newest snapshot that is whole, if it is of the same size.
    OfSnapshot,
    /// From the rows of the journal.
    Anew,
}

/// How memory is to be made.
#[derive(Clone, Copy)]
struct Opening<'a> {
    config: &'a LedgerConfig,
    tallies: Tallies,
    /// The numbers after those that the journal has.
    next: NextNumbers,
}

/// Memory, and how far it is.
struct Opened {
    memory: Memory,
    hidden_before: u64,
    /// The heads of the snapshots that are whole, the newest first.
    heads: [Option<Head>; 2],
    growth: TallyGrowth,
    /// Whether generations are hidden that have not expired, because the tally has no room for them.
    is_early: bool,
    /// Whether the tallies know records that the journal has lost.
    salvage: Salvage,
}

/// Opens everything a writer needs.
pub(crate) fn open(
    folder: &Path,
    config: LedgerConfig,
    clock: Arc<dyn Clock>,
    tallies: Tallies,
    jobs: Receiver<Job>,
) -> Result<(FolderLock, Writer), OpenError> {
    private::folder(folder)?;
    let lock = FolderLock::take(folder)?;
    let mut identity = Identity::open(folder, clock.now_secs())?;
    let journal_folder = folder.join(JOURNAL_FOLDER);
    if !journal_folder.exists() {
        private::folder(&journal_folder)?;
    }
    private::all_in(&journal_folder)?;
    let journal = Journal::open(&journal_folder)?;
    check_slices(folder, &journal, &config)?;
    let kept_secs = journal.number("high")?;
    let mut calendar = Calendar::new(&*clock, kept_secs, config.generation_secs);
    calendar.tick(&*clock);
    let now = calendar.generation();
    journal.ensure(now)?;
    journal.ensure(LASTING)?;

    if age::is_reindexing(&journal)? {
        let why = "a rebuild was cut off: run `seenit rebuild` again".into();
        return Err(OpenError::Damaged { path: folder.to_owned(), why });
    }
    change::finish(&journal)?;
    let undone = protection::count_once(&journal, &SipKey::new(identity.hash_key()))?;
    let last = journal.last_number()?;
    let last_heard = journal.last_heard()?;
    let mut recovery = Vec::new();
    if undone > 0 {
        recovery.push(format!(
            "protections are counted from now on: {undone} earlier undos named only a part of a protected message and \
             have no effect any more; undo the whole message (`seenit explain` says which) where that is not wanted"
        ));
    }
    migrate::migrate(folder, &config, now, &identity, &journal, &mut recovery)?;
    let next = NextNumbers { own: last + 1, heard: last_heard + 1 };
    let opening = Opening { config: &config, tallies, next };
    let opened = memory(folder, opening, &identity, &journal, now, &mut recovery)?;
    let mark = HighMark::open(folder)?;
    let position = opened.heads.iter().flatten().map(|head| head.position).fold(mark.number(), u64::max);
    if position > last && position >= identity.incarnation().first {
        recovery.push(format!(
            "the journal ends at record {last}, but record {position} was acknowledged: it is an older copy, or the \
             disk lost its end; a new incarnation begins"
        ));
        let ending = Ending { last, next: position + 1, ..Ending::default() };
        identity.begin_incarnation(folder, ending, clock.now_secs())?;
    }
    let own_logs = sightings(&opened.memory, &identity, &journal, now, &mut recovery)?;
    if let Some(unknown) = own_logs.keys().map(|stream| stream.incarnation).max()
        && unknown > identity.incarnation().id
    {
        recovery.push(format!(
            "the identity does not know incarnation {unknown}: it is an older copy; a new incarnation begins"
        ));
        let end = last.max(position);
        let ending = Ending { last: end, next: end + 1, ..Ending::default() };
        identity.begin_incarnation(folder, ending, clock.now_secs().max(unknown + 1))?;
    }
    migrate::load(folder, &opened.memory, &identity, &mut recovery);
    let reporters = crate::open_reporters::reporters(&journal, &config)?;
    remove_litter(folder);

    let Opened { memory, hidden_before, heads, growth, is_early, salvage } = opened;
    let is_snapshot_due = memory.has_lost_records;
    let next = last.max(position) + 1;
    let next_heard = heads.iter().flatten().map(|head| head.heard).fold(last_heard, u64::max) + 1;
    let marks = BulkMarks::count(&journal, now, config.bulk_threshold)?;
    let numbers = NextNumbers { own: next, heard: next_heard };
    // After a new incarnation has begun: the numbers that it keeps are what tells that one is due.
    salvage.keep(&journal, numbers)?;
    let to = MoveTo { before: hidden_before, capacity: config.capacity, is_early };
    let horizon = horizon(&journal, to, numbers, &heads)?;
    let peers = journal.peers();
    let shares = journal.shares(horizon.before)?;
    let first_kept = journal.first_number()?.unwrap_or(next);
    memory.put_weightless(journal.weightless_since(horizon.before)?);
    let snapshot_secs = heads[0].as_ref().map(|head| head.time);
    let shared = Shared {
        config,
        folder: folder.to_owned(),
        clock,
        identity: RwLock::new(identity),
        memory,
        journal: RwLock::new(Some(Arc::new(journal))),
        reporters: RwLock::new(reporters.into_iter().map(|reporter| (reporter.id, reporter)).collect()),
        promoted: AtomicU64::new(marks.today),
        bulk: AtomicU64::new(marks.all),
        generation: AtomicU64::new(now),
        last: AtomicU64::new(next - 1),
        heard: AtomicU64::new(next_heard - 1),
        hidden_before: AtomicU64::new(hidden_before),
        is_kept_short: AtomicBool::new(horizon.is_early),
        growth: Mutex::new(growth),
        promoting: Mutex::default(),
        state: Mutex::new(LedgerState { recovery, snapshot_secs, ..LedgerState::default() }),
        own_logs: Mutex::new(own_logs),
        first_kept: AtomicU64::new(first_kept),
        chains: Mutex::default(),
        progress: WriterProgress::default(),
        on_growth: OnceLock::new(),
    };
    let held = held_sightings(&shared, &peers)?;
    let kept_secs = kept_secs.unwrap_or(0);
    let shared = Arc::new(shared);
    Ok((
        lock,
        Writer {
            shared,
            jobs,
            calendar,
            next,
            horizon,
            heads,
            kept_secs,
            mark,
            shares,
            peer_shares: Shares::default(),
            next_heard,
            peers,
            last_is_ours: false,
            publishing: None,
            working: None,
            held,
            is_rebuild_due: false,
            is_unsure: false,
            unsummed: Unsummed::default(),
            is_snapshot_due,
        },
    ))
}

/// Rebuilds what this site saw from the log of its sightings, and moves deltas whose move was cut off.
fn sightings(
    memory: &Memory,
    identity: &Identity,
    journal: &Journal,
    now: u64,
    recovery: &mut Vec<String>,
) -> Result<OwnLogs, OpenError> {
    let seen = &memory.seen;
    seen.enter(identity.incarnation().keys.clone(), false, seen.new_own()?);
    seen.advance(now)?;
    let mut logs = own_log::load(memory, identity, journal, recovery)?;
    own_log::move_unconfirmed(journal, identity, &mut logs)?;
    Ok(logs)
}

/// Rebuilds the peer sums from what is kept of peers' sightings.
fn held_sightings(shared: &Shared, peers: &Peers) -> Result<HashMap<HeldStream, HeldBytes>, OpenError> {
    let (Some(journal), mut all) = (shared.journal(), HashMap::new()) else {
        return Ok(HashMap::new());
    };
    let now = journal.link_now();
    for stream in held::streams(&now)? {
        let read = held::each(&now, &stream, |held| {
            let (Held::Block(_, bytes) | Held::Delta(_, bytes)) = held;
            let sightings = held::sightings_of(&stream, bytes);
            let counted = count_sightings(shared, peers, &stream, &sightings);
            counted.map_err(JournalError::from)
        });
        all.insert(stream, read?);
    }
    Ok(all)
}

/// Generations are numbered by their length: with another length the numbers in the journal mean other days.
fn check_slices(folder: &Path, journal: &Journal, config: &LedgerConfig) -> Result<(), OpenError> {
    match journal.number("generation_secs")? {
        Some(secs) if secs != config.generation_secs => {
            let why = format!(
                "its generations have {secs} s, so generation_secs cannot be {}",
                config.generation_secs
            );
            Err(OpenError::Damaged { path: folder.to_owned(), why: why.into() })
        }
        Some(_) => Ok(()),
        None => {
            let mut batch = journal.batch();
            batch.number("generation_secs", config.generation_secs);
            Ok(batch.commit()?)
        }
    }
}

fn memory(
    folder: &Path,
    opening: Opening<'_>,
    identity: &Identity,
    journal: &Journal,
    now: u64,
    recovery: &mut Vec<String>,
) -> Result<Opened, OpenError> {
    let Opening { config, tallies, next } = opening;
    let last = next.own - 1;
    let last_heard = next.heard - 1;
    let horizon = journal.horizon()?;
    let expired = (now + 1).saturating_sub(config.record_generations);
    let mut least = expired.max(horizon.least(config.capacity));
    let mut hidden_before = least;
    let mut heads = [None, None];
    let mut memory = None;
    let mut salvage = Salvage::read(journal, now, config.record_generations)?;
    let is_anew = journal.number(TALLIES_ANEW)?.is_some_and(|mark| mark > 0);
    let tallies = if salvage == Salvage::Over || is_anew { Tallies::Anew } else { tallies };
    let is_unprotected = journal.has_no_records(LASTING);
    for (name, head) in FILES.into_iter().zip(&mut heads) {
        let path = folder.join(name);
        let opened = Snapshot::open(&path).and_then(|opened| match opened {
            Some(snapshot) if memory.is_none() => {
                // Tallies cannot be made right again that count by another table of peers, by another horizon than
                // records after them, or that know only the last protection of a signature. Those that know more
                // records than the journal are all that is left of these.
                let head = &snapshot.head;
                let is_beyond = head.position > last || head.heard > last_heard;
                let is_ours = (head.protections_counted || is_unprotected)
                    && head.peers == journal.peers().tag
                    && horizon.is_replayable(head.horizon, next);
                let tallies = if is_ours || is_beyond { tallies } else { Tallies::Anew };
                memory = Some(restored(&snapshot, config, tallies, identity)?);
                if is_beyond && memory.as_ref().is_some_and(|(_, head)| head.is_some()) {
                    salvage = Salvage::Since(now);
                    recovery.push(salvage::told(last, head.position));
                }
                Ok(Some(snapshot))
            }
            other => Ok(other),
        });
        match opened {
            Ok(snapshot) => *head = snapshot.map(|snapshot| snapshot.head),
            Err(error) => {
                // What cannot be renamed is overwritten by the next snapshot.
                let done = snapshot::put_aside(&path)
                    .unwrap_or_else(|why| format!("it could not be put aside: {why}"));
                recovery.push(format!("{name}: {error}; {done}"));
            }
        }
    }
    let (memory, growth) = match memory {
        Some((mut memory, Some(head))) => {
            // Before records are replayed: what they say does not erase what the lost ones did.
            memory.has_lost_records = salvage != Salvage::NotNeeded;
            // What was hidden stays so, even if records are now kept for longer.
            hidden_before = hidden_before.max(head.hidden_before);
            least = hidden_before;
            let held = memory.table.len();
            let mut growth = TallyGrowth::known(head.added.iter().copied());
            let replayed = catch_up(&memory, &head, journal, hidden_before)?;
            if replayed > 0 {
                recovery.push(format!("{replayed} records were replayed after the last snapshot"));
            }
            growth.add(now, memory.table.len().saturating_sub(held));
            (memory, growth)
        }
        other => {
            let mut memory = match other {
                Some((memory, _)) => memory,
                None => Memory::new(config, identity.hash_key())?,
            };
            let growth = made_anew(&mut memory, config, journal, &mut hidden_before, now, recovery)?;
            if let Salvage::Since(_) = salvage {
                recovery.push("verdicts about messages whose records were lost earlier are gone".into());
            }
            salvage = Salvage::NotNeeded;
            (memory, growth)
        }
    };
    age::fold_bulk(&memory, journal, now, config.bulk_threshold)?;
    let is_early = hidden_before > least;
    Ok(Opened { memory, hidden_before, heads, growth, is_early, salvage })
}

/// Makes the tallies from the rows of the journal. Where they are more than the tally has room for, the oldest
/// generations are hidden.
fn made_anew(
    memory: &mut Memory,
    config: &LedgerConfig,
    journal: &Journal,
    hidden_before: &mut u64,
    now: u64,
    recovery: &mut Vec<String>,
) -> Result<TallyGrowth, OpenError> {
    let mut folded = 0u64;
    journal.hide_before(*hidden_before);
    let mut ages = age::fold(memory, journal, || folded += 1)?;
    let first = ages.first_that_fits(config.capacity, now);
    if first > *hidden_before {
        *hidden_before = first;
        folded = 0;
        memory.clear_tallies(config)?;
        journal.hide_before(first);
        ages = age::fold(memory, journal, || folded += 1)?;
    }
    if folded > 0 {
        recovery.push(format!("the tallies were made anew from {folded} rows of the journal"));
    }
    Ok(TallyGrowth::known(ages.by_generation().filter(|(generation, _)| *generation != LASTING)))
}

/// The horizon as it is now, durable before any record is written under it.
fn horizon(
    journal: &Journal,
    to: MoveTo,
    next: NextNumbers,
    heads: &[Option<Head>; 2],
) -> Result<Horizon, JournalError> {
    let kept = journal.horizon()?;
    let mut batch = journal.batch();
    // Earlier releases kept them until they expired.
    batch.forget_weightless(to.before)?;
    if journal.number(TALLIES_ANEW)?.is_some() {
        batch.number(TALLIES_ANEW, 0);
    }
    if kept.is(to.before, to.capacity) {
        batch.commit()?;
        return Ok(kept);
    }
    let is_early = to.is_early || kept.is_early && to.before == kept.before;
    let known = heads.iter().map(|head| head.as_ref().map_or(0, |head| head.horizon)).min().unwrap_or(0);
    let moved = kept.moved(MoveTo { is_early, ..to }, next, known);
    batch.horizon(&moved)?;
    batch.commit()?;
    Ok(moved)
}

/// Memory of a snapshot, and its head where its tallies can be used; else empty tallies.
fn restored(
    snapshot: &Snapshot,
    config: &LedgerConfig,
    tallies: Tallies,
    identity: &Identity,
) -> Result<(Memory, Option<Head>), SnapshotError> {
    if tallies == Tallies::OfSnapshot && is_like(&snapshot.head.config, config) {
        return Ok((restore(snapshot, config, identity)?, Some(snapshot.head.clone())));
    }
    Ok((Memory::new(config, identity.hash_key())?, None))
}

/// Whether tallies made with one configuration can be used with another.
fn is_like(one: &LedgerConfig, other: &LedgerConfig) -> bool {
    let sizes = |config: &LedgerConfig| (config.capacity, config.near_capacity, config.near_threshold);
    sizes(one) == sizes(other)
}

/// Memory as a snapshot has it.
pub(crate) fn restore(
    snapshot: &Snapshot,
    config: &LedgerConfig,
    identity: &Identity,
) -> Result<Memory, SnapshotError> {
    let hash_key = identity.hash_key();
    let table = snapshot.table(config, &SipKey::new(hash_key))?;
    let memory = Memory::of(config, hash_key, table, snapshot.near(config)?)?;
    for (hash, forgotten) in snapshot.forgotten()? {
        memory.forget(hash, forgotten);
    }
    Ok(memory)
}

/// Applies the records after a snapshot, and hides what has become too old since.
fn catch_up(
    memory: &Memory,
    head: &Head,
    journal: &Journal,
    hidden_before: u64,
) -> Result<u64, JournalError> {
    journal.hide_before(head.hidden_before);
    let mut replayed = 0;
    let mut unsummed = Unsummed::default();
    let mut following = Following::new(memory, journal.peers(), &mut unsummed);
    for generation in journal.generations() {
        journal.each_heard(generation, head.heard + 1, |_, _, body| {
            following.replay_heard(generation, &body);
            replayed += 1;
            Ok(())
        })?;
    }
    for generation in journal.generations() {
        journal.each_record(generation, head.position + 1, |_, record| {
            following.replay(generation, &record);
            replayed += 1;
            Ok(())
        })?;
    }
    unsummed.sum_up(memory, journal)?;
    for generation in journal.generations() {
        if (head.hidden_before..hidden_before).contains(&generation) {
            follow::hide(memory, journal, generation)?;
        }
    }
    journal.hide_before(hidden_before);
    Ok(replayed)
}

/// Bulk marks of the journal that are believed.
pub(crate) struct BulkMarks {
    /// Those of the present generation.
    pub(crate) today: u64,
    /// Those of all generations.
    pub(crate) all: u64,
}

impl BulkMarks {
    /// Goes over all of them.
    pub(crate) fn count(journal: &Journal, now: u64, threshold: u64) -> Result<Self, JournalError> {
        let mut marks = BulkMarks { today: 0, all: 0 };
        journal.each_believed_bulk(threshold, |generation, _| {
            marks.today += u64::from(generation == now);
            marks.all += 1;
        })?;
        Ok(marks)
    }
}

/// Unfinished snapshots of a process that was killed.
fn remove_litter(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(".seenit-") && name.ends_with(".tmp") {
            // What cannot be removed is in nobody's way.
            let _ = fs::remove_file(entry.path());
        }
    }
}
