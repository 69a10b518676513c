//! Audits: a copy is compared with what its site signed, and what was applied to it gathered.

use seenit_sites::beat::StreamId;
use seenit_sites::message::{Head, Stream};

use crate::cells;
use crate::following::{Following, Position};
use crate::journal::{Batch, Journal, JournalError};
use crate::link::Link;

/// How often a copy is compared with what its site signed.
const AUDIT_MILLIS: u64 = 2_000;

/// That reads all of it: after a large copy the next one waits a second for so many of its bytes. Ten million bytes
/// take two seconds (docs/scale.md), so that audits take a tenth of the time.
const AUDIT_BYTES_A_SECOND: u64 = 512 << 10;

/// When copies are compared.
#[derive(Default)]
pub(crate) struct Audits {
    /// Not before this time.
    due: u64,
    /// The one that was compared last.
    last: Option<StreamId>,
}

impl<J: Journal> Link<J> {
    /// Compares a copy with what its site signed, one at a time.
    pub(crate) fn audit(&mut self) -> Result<(), JournalError> {
        if self.now < self.audits.due {
            return Ok(());
        }
        let is_due = |(id, following): &(&StreamId, &Following)| {
            let at = following.position.applied;
            let newest = following.newest.as_ref().map(|(head, _)| head.state().sequence);
            matches!(id.stream, Stream::Seen { .. })
                && following.position.verified < at
                && newest == Some(at)
                && following.mismatch.is_none()
        };
        // In turn: those that count all the time are always due.
        let mut due = self.following.iter().filter(is_due);
        let next = due.clone().find(|(id, _)| Some(**id) > self.audits.last).or_else(|| due.next());
        let Some((&id, following)) = next else { return Ok(()) };
        self.audits.last = Some(id);
        let bytes = following.position.base_bytes + following.position.log_bytes;
        self.audits.due = self.now + AUDIT_MILLIS.max(bytes * 1000 / AUDIT_BYTES_A_SECOND);
        self.hold(&id)?;
        let held = self.held.as_mut().filter(|held| held.id == id);
        // What cannot be read is being repaired already.
        let Some(root) = held.map(|held| held.tree().root()) else { return Ok(()) };
        let Some(following) = self.following.get(&id) else { return Ok(()) };
        let newest = following.newest.clone();
        let is_signed = |(_, bytes): &(Head, Vec<u8>)| {
            self.papers.roster.as_ref().is_some_and(|roster| Head::decode(bytes, roster).is_ok())
        };
        // It came in a beat, and is a proof for others only by its own signature.
        let Some((head, bytes)) = newest.filter(is_signed) else { return Ok(()) };
        if root != head.state().root {
            self.mismatched(&id, "its pages have another root than the one it signed")?;
            return Ok(());
        }
        let (verified, root) = (head.state().sequence, head.state().root);
        let position = Position { verified, root, head: Some(bytes), ..following.position.clone() };
        self.put_position(&id, position, Batch::default())
    }

    /// Gathers the messages of a copy into chunks where there are many.
    pub(crate) fn gather(&mut self) -> Result<(), JournalError> {
        let is_due = |(id, following): &(&StreamId, &Following)| {
            let position = &following.position;
            matches!(id.stream, Stream::Seen { .. })
                && position.log_bytes > position.base_bytes.max(cells::LOG_BYTES_MIN)
                && following.mismatch.is_none()
        };
        let Some(id) = self.following.iter().find(is_due).map(|(id, _)| *id) else { return Ok(()) };
        let Stream::Seen { generation } = id.stream else { return Ok(()) };
        self.hold(&id)?;
        let Some(held) = self.held.take_if(|held| held.id == id) else { return Ok(()) };
        let Some(following) = self.following.get(&id) else { return Ok(()) };
        let before = following.position.clone();
        let at = held.follower.applied();
        if at != before.applied {
            return Ok(());
        }
        let nothing = cells::nothing(&self.journal, generation)?;
        let packed = cells::packed(&nothing, held.follower.counts()).map_err(JournalError)?;
        let batch = cells::base_rows(&self.journal, (following.slot, &id), &packed)?;
        let position = Position { base: at, base_bytes: packed.len() as u64, log_bytes: 0, ..before };
        self.put_position(&id, position, batch)?;
        self.held = Some(held);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{GENERATION, NOW, SEEN, gain, id, link};

    /// Peers that count all the time are all compared, and not only the first of them.
    #[test]
    fn copies_are_audited_in_turn() {
        let mut link = link();
        let mut peers = [2, 3].map(|seed| (seed, link.journal.empty(GENERATION).expect("terms")));
        let mut verified = [0, 0];
        for sequence in 1..=10 {
            let now = NOW + sequence * AUDIT_MILLIS;
            for (seed, counts) in &mut peers {
                let mut grown = link.journal.empty(GENERATION).expect("terms");
                grown.merge(counts).expect("of one kind");
                grown.raise_cell(sequence, 1);
                link.hear(now, &gain(*seed, counts, &grown, sequence), None);
                *counts = grown;
            }
            link.tick(now);
            verified = [2, 3].map(|seed| link.following[&id(seed, SEEN)].position.verified);
        }
        assert!(verified.iter().all(|verified| *verified >= 9), "{verified:?}");
    }
}
