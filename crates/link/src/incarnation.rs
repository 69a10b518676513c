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
use seenit_sites::message::{Stream, StreamId};
use seenit_sites::number::Sequence;

use crate::action::{Action, BrokerStream, Millis};
use crate::link::Link;
use crate::own::{OwnStream, beginning};
use crate::publish::Publisher;
use crate::rows;
use crate::store::Renewal;

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
        let Holding { id, sequence, value, .. } = *holding;
        if id.stream.generation().is_some_and(|generation| !self.is_live(generation)) {
            return;
        }
        match self.own.streams.get(&id) {
            Some(one) if sequence <= one.last => match one.ends.get(&sequence) {
                _ if sequence <= one.confirmed => {}
                Some(known) if *known == value => self.confirm(id, sequence),
                Some(_) => self.doubt(holder, id, sequence),
                None => self.read_chain(id, sequence, Some(Expected::Holding(holder, value))),
            },
            _ if id.incarnation >= self.own.latest.incarnation => self.doubt(holder, id, sequence),
            // Of an earlier incarnation somebody has more than we remember.
            _ => self.hear_claim(holder, holding),
        }
    }

    /// Somebody else holds an own stream up to here, and it is what we said.
    fn confirm(&mut self, id: StreamId, sequence: Sequence) {
        let Some(one) = self.own.streams.get_mut(&id).filter(|one| sequence > one.confirmed) else { return };
        debug_assert!(sequence <= one.last, "no other site knows more of a site than the site itself");
        one.confirmed = sequence;
        self.own.confirmed.insert(id, sequence);
        let key = rows::confirmed(id.incarnation, id.stream);
        self.batch.rows.push((key, Some(sequence.0.to_be_bytes().to_vec())));
    }

    /// Somebody claims to hold of our present incarnation what we do not remember, or something else: let it show.
    fn doubt(&mut self, holder: SiteKey, id: StreamId, held: Sequence) {
        if let Some(one) = self.own.streams.get_mut(&id) {
            one.doubted_at = Some(self.now);
        }
        if self.may_publish() {
            // The message that leads there is enough.
            let after = Sequence(held.0.saturating_sub(1));
            self.out.push(Action::Ask { to: holder, bytes: Ask::Range { id, after }.encode() });
        }
    }

    /// The chain of an own stream was read at a sequence, to be compared.
    pub(crate) fn compare(&mut self, id: StreamId, at: Sequence, expected: &Expected, found: Option<Chain>) {
        let Some(one) = self.own.streams.get_mut(&id) else { return };
        let Some(found) = found.filter(|found| found.sequence == at && at <= one.last) else {
            // Where it has expired, there is nothing to compare.
            return self.verified(BrokerStream::of(id.stream));
        };
        one.keep_end(found);
        match *expected {
            Expected::Holding(_, value) if beginning(found.value) == value => self.confirm(id, at),
            Expected::Holding(holder, _) => self.doubt(holder, id, at),
            Expected::Head { value, .. } if found.value == value => {}
            Expected::Head { time_secs, .. } => {
                self.not_remembered(id, time_secs);
            }
        }
    }

    /// Somebody shows a value of our chain that was signed with our key at a time. If we do not remember to have said
    /// that, this folder came back from a backup, or a copy of it is running. Whether there is nothing against it.
    pub(crate) fn said_by_us(&mut self, id: StreamId, at: Chain, time_secs: u64) -> bool {
        let Chain { sequence, value } = at;
        let is_old = id.stream.generation().is_some_and(|generation| generation < self.own.latest.oldest);
        if id.incarnation < self.own.latest.incarnation || is_old || sequence == Sequence::START {
            return true;
        }
        if !self.may_publish() {
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
                self.read_chain(id, sequence, Some(Expected::Head { value, time_secs }));
                false
            }
        }
    }

    /// Something was signed with our key that we did not say. Whether nothing more can be done about it: each
    /// incarnation leads to one new one, and a clock that was wrong to no more.
    fn not_remembered(&mut self, id: StreamId, time_secs: u64) -> bool {
        if !self.may_publish() || id.incarnation < self.own.latest.incarnation {
            return false;
        }
        if self.is_of_running_copy(time_secs) {
            self.fence();
            return false;
        }
        if !self.own.renewed_for.insert(id.incarnation) {
            return true;
        }
        let mut renewal = Renewal { records_after: Sequence::START, sightings_after: Vec::new() };
        for (id, one) in self.own.present() {
            match id.stream {
                Stream::Records => renewal.records_after = one.confirmed,
                Stream::Sightings { generation } => renewal.sightings_after.push((generation, one.confirmed)),
            }
        }
        debug_assert!(self.own.fenced.is_none(), "a fenced site does not begin an incarnation");
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
        one.is_reading || is_claimed && self.now.since(self.own.since) < DOUBT_MILLIS
    }
}
