//! Reads that the link has asked for, and what each was for. They may come in any order, late, or never.

use std::collections::BTreeMap;

use seenit_sites::message::StreamId;
use seenit_sites::number::Sequence;

use crate::action::{Action, Millis, ReplyTo, Ticket};
use crate::incarnation::Expected;
use crate::link::Link;
use crate::own::OwnId;
use crate::store::{HeldStream, OwnRun, Read, ReadDone, StoreError};

/// Reads under way: whoever asks for more is not answered, and asks again.
const READS_MAX: usize = 64;

/// A read that takes longer is lost, and asked for again where it is still wanted.
const LOST_MILLIS: u64 = 30_000;

/// What a read is for.
#[derive(Clone, Debug)]
pub(crate) enum Purpose {
    /// Own items, to be published.
    Publish(OwnId),
    /// The chain of an own stream at its end.
    Tip(OwnId),
    /// The chain of an own stream at a sequence, to be compared.
    Check(OwnId, Sequence, Expected),
    /// Own items after a sequence, to be answered.
    AnswerOwn(OwnId, Sequence, ReplyTo),
    /// Messages of another's stream after a sequence, to be answered.
    AnswerHeld(StreamId, Sequence, ReplyTo),
    /// All own streams.
    Snapshot,
}

/// What is read.
pub(crate) enum Wanted {
    Own { id: OwnId, after: Sequence, bytes_max: usize },
    Held { stream: HeldStream, after: Sequence, messages_max: usize },
    Snapshot { bytes_max: usize },
}

/// Reads under way.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    ticket: u64,
    under_way: BTreeMap<Ticket, (Purpose, Millis)>,
}

impl Reads {
    pub(crate) fn next_ticket(&mut self) -> Ticket {
        self.ticket += 1;
        Ticket(self.ticket)
    }

    /// Nobody waits for any of them any more.
    pub(crate) fn forget(&mut self) {
        self.under_way.clear();
    }
}

impl Link {
    /// Asks for a read. Whether there is room for it.
    pub(crate) fn read(&mut self, purpose: Purpose, wanted: Wanted) -> bool {
        if self.reads.under_way.len() >= READS_MAX {
            return false;
        }
        let read = match wanted {
            Wanted::Own { id: (incarnation, stream), after, bytes_max } => {
                Read::Own { incarnation, stream, after, bytes_max }
            }
            Wanted::Held { stream, after, messages_max } => Read::Held { stream, after, messages_max },
            Wanted::Snapshot { bytes_max } => Read::Snapshot { bytes_max },
        };
        let ticket = self.reads.next_ticket();
        self.reads.under_way.insert(ticket, (purpose, self.now));
        self.out.push(Action::Read { ticket, read });
        true
    }

    /// What came of [`Action::Read`].
    pub fn read_done(&mut self, now: Millis, ticket: Ticket, done: Result<ReadDone, StoreError>) {
        if !self.begin(now) {
            return;
        }
        let Some((purpose, _)) = self.reads.under_way.remove(&ticket) else { return };
        match done {
            Ok(done) => self.took(purpose, Some(done)),
            Err(error) => {
                self.note(format!("a read for the network failed, and is tried again: {error}"));
                self.took(purpose, None);
            }
        }
    }

    fn took(&mut self, purpose: Purpose, done: Option<ReadDone>) {
        match (purpose, done) {
            (Purpose::Publish(id), done) => self.publish_run(id, run_of(done)),
            // What was asked for is the value at the end; what comes behind it is left for the publisher.
            (Purpose::Tip(id), done) => self.tip_read(id, run_of(done)),
            (Purpose::Check(id, at, expected), done) => {
                self.checked(id, at, expected, run_of(done));
            }
            (Purpose::AnswerOwn(id, after, reply), Some(ReadDone::Own(run))) => {
                self.answer_own(id, after, run, reply);
            }
            (Purpose::AnswerHeld(id, after, reply), Some(ReadDone::Held(messages))) => {
                self.answer_held(&id, after, messages, reply);
            }
            (Purpose::Snapshot, Some(ReadDone::Snapshot(parts))) => self.snapshot_read(parts),
            // Who asked asks again; and the next snapshot comes.
            (Purpose::AnswerOwn(..) | Purpose::AnswerHeld(..), _) => {}
            (Purpose::Snapshot, _) => self.snapshots.again(self.now),
        }
    }

    /// Gives up reads that take too long.
    pub(crate) fn lose_reads(&mut self) {
        let now = self.now;
        // They were asked for in order.
        while let Some(first) = self.reads.under_way.first_entry() {
            if now.since(first.get().1) < LOST_MILLIS {
                break;
            }
            let (purpose, _) = first.remove();
            self.took(purpose, None);
        }
    }
}

fn run_of(done: Option<ReadDone>) -> Option<OwnRun> {
    match done {
        Some(ReadDone::Own(run)) => Some(run),
        _ => None,
    }
}
