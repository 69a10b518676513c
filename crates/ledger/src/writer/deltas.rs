//! What was seen, on its way into the journal: one delta a generation and interval, or a few where there is much.

use super::Writer;
use crate::journal::sightings::{OwnStreamKey, SightingsRow};
use crate::journal::{Journal, JournalError};
use crate::seen::Taken;
use crate::shared::Shared;
use seenit_filter::sightings::encode_all;

/// How often the highest time is kept when nothing else is written.
const HIGH_SECS: u64 = 60;

impl Writer {
    /// Journals everything that was counted until now.
    pub(crate) fn journal_deltas(&mut self, shared: &Shared, journal: &Journal) -> Result<(), JournalError> {
        let incarnation = shared.identity().incarnation().id;
        let taken = shared.memory.seen.take();
        self.write_deltas(shared, journal, incarnation, taken)
    }

    /// Makes deltas of an incarnation durable, and with them how late it is; without any, the time now and then. Where
    /// that fails, what was taken is pending again, and the next deltas have the numbers of those that failed: if they
    /// are durable all the same, they are overwritten by ones that say as much and more.
    pub(crate) fn write_deltas(
        &mut self,
        shared: &Shared,
        journal: &Journal,
        incarnation: u64,
        taken: Vec<Taken>,
    ) -> Result<(), JournalError> {
        let secs = self.calendar.secs();
        if taken.is_empty() && secs < self.kept_secs + HIGH_SECS {
            return Ok(());
        }
        let written = write(shared, journal, incarnation, &taken, secs);
        match &written {
            Ok(()) => self.kept_secs = secs,
            Err(_) => taken.iter().for_each(|taken| taken.own.put_back(&taken.sightings)),
        }
        written
    }
}

fn write(
    shared: &Shared,
    journal: &Journal,
    incarnation: u64,
    taken: &[Taken],
    secs: u64,
) -> Result<(), JournalError> {
    let mut batch = journal.batch();
    let mut ends = Vec::new();
    for Taken { generation, sightings, .. } in taken {
        let stream = OwnStreamKey { incarnation, generation: *generation };
        let mut last = shared.own_logs().get(&stream).map_or(0, |log| log.last);
        let deltas = encode_all(sightings)?;
        for delta in &deltas {
            last += 1;
            batch.sightings(SightingsRow::delta(stream, last), delta);
        }
        ends.push((stream, last));
    }
    batch.number("high", secs);
    batch.commit()?;
    if ends.is_empty() {
        return Ok(());
    }
    let mut logs = shared.own_logs();
    ends.into_iter().for_each(|(stream, last)| logs.entry(stream).or_default().last = last);
    drop(logs);
    shared.has_grown();
    Ok(())
}
