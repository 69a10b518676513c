//! What is forgotten: sightings of generations that count no more, messages of records that have expired, and streams
//! of earlier incarnations of which nothing is left.

use seenit_sites::message::{Stream, StreamId};
use seenit_sites::number::{Generation, Incarnation};

use crate::action::Millis;
use crate::link::Link;
use crate::rows;

/// How often that is looked at, at least.
const TURN_MILLIS: u64 = 3_600_000;

impl Link {
    /// Forgets what is too old, when a generation begins and every so often.
    pub(crate) fn turn(&mut self) {
        let oldest = self.own.latest.oldest;
        if self.turned.oldest == oldest && self.now.since(self.turned.at) < TURN_MILLIS {
            return;
        }
        self.turned = Turned { oldest, at: self.now };
        let is_old = |stream: Stream| stream.generation().is_some_and(|generation| generation < oldest);
        let is_dead = |id: &&StreamId| is_old(id.stream) || self.is_ended(id);
        let dead: Vec<StreamId> = self.streams.keys().filter(is_dead).copied().collect();
        for id in dead {
            self.forget_stream(&id);
        }
        self.expire_messages();
        self.own.signed.retain(|id, _| !is_old(id.stream));
        for neighbour in self.neighbours.values_mut() {
            neighbour.holds.retain(|id, _| !is_old(id.stream));
        }
    }

    /// Whether nothing of a stream of records counts any more: its incarnation is over, and all of it has expired.
    fn is_ended(&self, id: &StreamId) -> bool {
        let Some(following) = self.streams.get(id).filter(|_| id.stream == Stream::Records) else {
            return false;
        };
        let newest = following.newest.map_or(0, |(_, secs)| secs).max(following.last_secs);
        newest < self.own.latest.kept_from_secs && id.incarnation < self.present_of(id)
    }

    /// The incarnation that a stream's site is in, as far as it is known.
    fn present_of(&self, id: &StreamId) -> Incarnation {
        if id.site == self.key {
            return self.own.latest.incarnation;
        }
        let heard = self.neighbours.get(&id.site).map_or(Incarnation::default(), |one| one.incarnation);
        let followed = self.streams_of(&id.site).map(|(id, _)| id.incarnation).max();
        heard.max(followed.unwrap_or_default())
    }

    fn forget_stream(&mut self, id: &StreamId) {
        let Some(following) = self.streams.get(id) else { return };
        let stream = following.held(id);
        // What this very batch adds to it is dropped with it.
        self.batch.leave_out(|one| *one == stream);
        self.batch.forgotten.push(stream);
        self.batch.rows.push((rows::position(&stream), None));
        self.unfollow(id);
    }

    /// Messages of records that have expired help nobody any more.
    fn expire_messages(&mut self) {
        let kept_from = self.own.latest.kept_from_secs;
        for (id, following) in self.streams.iter_mut().filter(|(id, _)| id.stream == Stream::Records) {
            if let Some(sequence) = following.applied_before(kept_from) {
                self.batch.expired.push((following.held(id), sequence));
            }
        }
    }
}

/// When old streams were last looked for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turned {
    /// The oldest generation then.
    oldest: Generation,
    at: Millis,
}
