//! Reads that the link has asked for, and what is done with each. They may come in any order, late, or never.

use std::collections::BTreeMap;

use seenit_sites::message::StreamId;
use seenit_sites::number::Sequence;

use crate::action::{Action, Millis, Ticket};
use crate::link::Link;
use crate::store::{OwnRun, Read, ReadDone, StoreError};

/// Reads under way: whoever asks for more is not answered, and asks again.
const READS_MAX: usize = 64;

/// A read that takes longer is lost, and asked for again where it is still wanted.
const LOST_MILLIS: u64 = 30_000;

/// What is done with what was read; `None` where it could not be.
type Then = Box<dyn FnOnce(&mut Link, Option<ReadDone>) + Send>;

/// Reads under way.
#[derive(Default)]
pub(crate) struct Reads {
    ticket: u64,
    under_way: BTreeMap<Ticket, (Then, Millis)>,
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
    pub(crate) fn read(
        &mut self,
        read: Read,
        then: impl FnOnce(&mut Link, Option<ReadDone>) + Send + 'static,
    ) -> bool {
        if self.reads.under_way.len() >= READS_MAX {
            return false;
        }
        let ticket = self.reads.next_ticket();
        self.reads.under_way.insert(ticket, (Box::new(then), self.now));
        self.out.push(Action::Read { ticket, read });
        true
    }

    /// Asks for own items after a sequence; with `bytes_max` 0 for the value of the chain there.
    pub(crate) fn read_own(
        &mut self,
        id: StreamId,
        after: Sequence,
        bytes_max: usize,
        then: impl FnOnce(&mut Link, Option<OwnRun>) + Send + 'static,
    ) -> bool {
        let StreamId { incarnation, stream, .. } = id;
        self.read(Read::Own { incarnation, stream, after, bytes_max }, move |link, done| match done {
            Some(ReadDone::Own(run)) => then(link, Some(run)),
            _ => then(link, None),
        })
    }

    /// What came of [`Action::Read`].
    pub fn read_done(&mut self, now: Millis, ticket: Ticket, done: Result<ReadDone, StoreError>) {
        if !self.begin(now) {
            return;
        }
        let Some((then, _)) = self.reads.under_way.remove(&ticket) else { return };
        if let Err(error) = &done {
            self.note(format!("a read for the network failed, and is tried again: {error}"));
        }
        then(self, done.ok());
    }

    /// Gives up reads that take too long.
    pub(crate) fn lose_reads(&mut self) {
        let now = self.now;
        // They were asked for in order.
        while let Some(first) = self.reads.under_way.first_entry() {
            if now.since(first.get().1) < LOST_MILLIS {
                break;
            }
            let (then, _) = first.remove();
            then(self, None);
        }
    }
}
