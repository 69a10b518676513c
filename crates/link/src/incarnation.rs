//! What follows when somebody shows that we said more than we remember.
//!
//! A folder that came back from a backup begins a new incarnation: what nobody else is known to hold is said again in
//! it. A folder of which a copy runs at the same time does not: it stops publishing, until somebody stops one of the
//! two.

use seenit_sites::Digest;
use seenit_sites::ask::Ask;
use seenit_sites::chain::Chain;
use seenit_sites::heartbeat::Holding;
use seenit_sites::key::SiteKey;
use seenit_sites::message::{Head, State, Stream, StreamId};
use seenit_sites::number::Sequence;

use crate::action::{Action, Millis};
use crate::link::Link;
use crate::own::{OwnId, OwnStream, beginning, kind_of};
use crate::publish::Publisher;
use crate::read::{Purpose, Wanted};
use crate::rows;
use crate::store::{OwnRun, Renewal};

/// How far clocks of one machine may be apart, when it is told whether something was signed before our own start.
const START_MILLIS: u64 = 2_000;

/// What was signed farther ahead than this was signed by a clock that was wrong, not by a copy that runs now.
const FUTURE_MILLIS: u64 = 60_000;

/// So long after an incarnation began, a stream of which somebody claims to hold something else is not published: it
/// may be that we came back from a backup. Afterwards nobody can stop us by claims.
const DOUBT_MILLIS: u64 = 30_000;

/// And so long after the claim.
const CLAIM_MILLIS: u64 = 5_000;

/// What an own chain's value should be.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// As somebody holds it.
    Holding(SiteKey, [u8; 8]),
    /// As a head says that is signed with our key.
    Head { value: Digest, time_secs: u64 },
}

impl Link {
    /// Takes note of what somebody holds of our streams.
    pub(crate) fn hear_holding_of_ours(&mut self, holder: SiteKey, holding: &Holding) {
        let own_id = (holding.id.incarnation, holding.id.stream);
        let is_present = own_id.0 >= self.own.latest.incarnation;
        if matches!(own_id.1, Stream::Sightings { generation } if !self.is_live(generation)) {
            return;
        }
        match self.own.streams.get(&own_id) {
            Some(one) if holding.sequence <= one.last => match one.ends.get(&holding.sequence) {
                _ if holding.sequence <= one.confirmed => {}
                Some(value) if *value == holding.value => self.confirm(own_id, holding.sequence),
                Some(_) => self.doubt(holder, &holding.id, holding.sequence),
                None => self.check(own_id, holding.sequence, Expected::Holding(holder, holding.value)),
            },
            _ if is_present => self.doubt(holder, &holding.id, holding.sequence),
            // Of an earlier incarnation somebody has more than we remember.
            _ => self.hear_claim(holder, holding),
        }
    }

    /// Somebody else holds an own stream up to here, and it is what we said.
    pub(crate) fn confirm(&mut self, id: OwnId, sequence: Sequence) {
        let Some(one) = self.own.streams.get_mut(&id).filter(|one| sequence > one.confirmed) else { return };
        one.confirmed = sequence;
        self.own.confirmed.insert(id, sequence);
        self.batch.rows.push((rows::confirmed(id.0, id.1), Some(sequence.0.to_be_bytes().to_vec())));
    }

    /// Somebody claims to hold of our present incarnation what we do not remember, or something else: let it show.
    fn doubt(&mut self, holder: SiteKey, id: &StreamId, held: Sequence) {
        if let Some(one) = self.own.streams.get_mut(&(id.incarnation, id.stream)) {
            one.doubted_at = Some(self.now);
        }
        if self.own.is_settled && self.own.fenced.is_none() {
            // The message that leads there is enough.
            let after = Sequence(held.0.saturating_sub(1));
            let bytes = Ask::Range { id: *id, after }.encode();
            self.out.push(Action::Ask { to: holder, bytes });
        }
    }

    /// Reads the chain of an own stream at a sequence, to compare it.
    fn check(&mut self, id: OwnId, at: Sequence, expected: Expected) {
        if self.own.streams.get(&id).is_none_or(|one| one.is_checking) {
            return;
        }
        let is_asked =
            self.read(Purpose::Check(id, at, expected), Wanted::Own { id, after: at, bytes_max: 0 });
        if let Some(one) = self.own.streams.get_mut(&id) {
            one.is_checking = is_asked;
        }
    }

    /// The chain of an own stream was read at a sequence, if it could be.
    pub(crate) fn checked(&mut self, id: OwnId, at: Sequence, expected: Expected, run: Option<OwnRun>) {
        let Some(one) = self.own.streams.get_mut(&id) else { return };
        one.is_checking = false;
        let Some(run) = run else { return };
        let found = run.value.map(|value| Chain::resume(run.after, value));
        let Some(found) = found.filter(|found| found.sequence() == at && at <= one.last) else {
            // Where it has expired, there is nothing to compare.
            return self.verified(kind_of(id.1));
        };
        one.keep_end(at, found.value());
        match expected {
            Expected::Holding(_, value) if beginning(found.value()) == value => self.confirm(id, at),
            Expected::Holding(holder, _) => {
                let id = StreamId { site: self.key, incarnation: id.0, stream: id.1 };
                self.doubt(holder, &id, at);
            }
            Expected::Head { value, .. } if found.value() == value => {}
            Expected::Head { time_secs, .. } => {
                self.not_remembered(id, time_secs);
            }
        }
    }

    /// Somebody shows a head that was signed with our key. If we do not remember to have said that, this folder came
    /// back from a backup, or a copy of it is running. Whether there is nothing against it.
    pub(crate) fn said_by_us(&mut self, head: &Head) -> bool {
        let State { incarnation, stream, sequence, value, time_secs, .. } = *head.state();
        self.said_at((incarnation, stream), Chain::resume(sequence, value), time_secs)
    }

    /// The same of a value of our chain that was signed at a time.
    pub(crate) fn said_at(&mut self, id: OwnId, at: Chain, time_secs: u64) -> bool {
        let (sequence, value) = (at.sequence(), at.value());
        let is_old = matches!(id.1, Stream::Sightings { generation } if generation < self.own.latest.oldest);
        if id.0 < self.own.latest.incarnation || is_old || sequence == Sequence::START {
            return true;
        }
        if !self.own.is_settled || self.own.fenced.is_some() {
            return false;
        }
        let stream = self.own.streams.get(&id);
        if sequence > stream.map_or(Sequence::START, |one| one.last) {
            let is_ours = self.own.signed.get(&id).is_some_and(|signed| sequence <= *signed);
            return is_ours || self.not_remembered(id, time_secs);
        }
        match stream.and_then(|one| one.ends.get(&sequence)) {
            Some(known) if *known == beginning(value) => true,
            Some(_) => self.not_remembered(id, time_secs),
            None => {
                self.check(id, sequence, Expected::Head { value, time_secs });
                false
            }
        }
    }

    /// Something was signed with our key that we did not say. Whether nothing more can be done about it: each
    /// incarnation leads to one new one, and a clock that was wrong to no more.
    fn not_remembered(&mut self, id: OwnId, time_secs: u64) -> bool {
        if !self.own.is_settled || self.own.fenced.is_some() || id.0 < self.own.latest.incarnation {
            return false;
        }
        if self.is_of_running_copy(time_secs) {
            self.fence();
            return false;
        }
        if !self.own.renewed_for.insert(id.0) {
            return true;
        }
        let of_present =
            |stream: Stream| self.own.present(stream).map_or(Sequence::START, |one| one.confirmed);
        let sightings_after =
            self.own.streams.iter().filter_map(|((incarnation, stream), one)| match stream {
                Stream::Sightings { generation } if *incarnation == self.own.latest.incarnation => {
                    Some((*generation, one.confirmed))
                }
                _ => None,
            });
        let renewal = Renewal {
            records_after: of_present(Stream::Records),
            sightings_after: sightings_after.collect(),
        };
        self.batch.renewal = Some(renewal);
        self.own.is_settled = false;
        self.own.publishers.iter_mut().for_each(Publisher::begin_incarnation);
        self.warn(
            "others hold what this folder does not remember to have said: it came back from a backup, or its disk \
             lost something; a new incarnation begins"
                .into(),
        );
        false
    }

    /// Whether something that we did not say was signed since our own start: then a copy of this folder runs.
    pub(crate) fn is_of_running_copy(&self, time_secs: u64) -> bool {
        // Whole seconds: the end of the second that was signed.
        let signed = Millis(time_secs.saturating_mul(1000));
        signed > self.own.started.after(START_MILLIS) && signed <= self.now.after(FUTURE_MILLIS)
    }

    /// Stops publishing: two programs under one key would contradict each other.
    pub(crate) fn fence(&mut self) {
        if self.own.fenced.is_none() {
            let why = "a copy of this site's data folder is running: it publishes under the same key. This site has \
                       stopped publishing. Stop one of the two, and restart the other";
            self.own.fenced = Some(why.into());
            self.warn(why.into());
        }
    }

    /// Whether an own stream must not be published yet: somebody may hold something else of it.
    pub(crate) fn is_doubtful(&self, one: &OwnStream) -> bool {
        let is_claimed = one.doubted_at.is_some_and(|at| self.now.since(at) < CLAIM_MILLIS);
        one.is_checking || is_claimed && self.now.since(self.own.since) < DOUBT_MILLIS
    }
}
