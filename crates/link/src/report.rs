//! The status of the network, made from what the link knows: numbers, and sentences that say what to do.

use seenit_sites::key::SiteKey;
use seenit_sites::message::{Stream, StreamId};

use crate::action::{BrokerState, BrokerStream, Millis};
use crate::apply::{INCARNATIONS_MAX, described};
use crate::following::Following;
use crate::link::Link;
use crate::neighbour::Neighbour;
use crate::status::{BrokerStatus, HoldsOfOurs, NetworkStatus, SiteStatus, StreamStatus};

/// From when on silence is a problem: so long, and so many heartbeats.
const SILENT_MILLIS: u64 = 30_000;
const SILENT_HEARTBEATS: u64 = 5;

/// Own items that have waited for so long, and none was published, are a problem.
const WAITING_MILLIS: u64 = 30_000;

/// For so long something that no member signed is worth an alarm: longer than between two heartbeats.
const UNKNOWN_MILLIS: u64 = 60_000;

impl Link {
    /// How the network is doing.
    pub fn status(&self, now: Millis) -> NetworkStatus {
        let now = self.now.max(now);
        let roster = self.documents.roster.as_ref();
        let others = roster.into_iter().flat_map(|roster| &roster.members);
        let others = others.filter(|member| member.site != self.key);
        let sites: Vec<SiteStatus> = others.map(|member| self.site_status(&member.site, now)).collect();
        let records = self.own_in(BrokerStream::Records).next().map(|(_, one)| one);
        let (state, since) = &self.broker;
        let why = match state {
            BrokerState::Up => None,
            BrokerState::Down { why } => Some(why.clone()),
        };
        let since_secs = now.since(*since) / 1000;
        let waiting = self.own.publishers[BrokerStream::Records as usize].waiting_since;
        let alarms = self.alarms(&sites, now);
        NetworkStatus {
            network: self.documents.network.to_string(),
            member: self.is_member(),
            roster: roster.map_or(0, |roster| roster.version),
            incarnation: self.own.latest.incarnation.0,
            records: records.map_or(0, |one| one.last.0),
            published: records.and_then(|one| one.published).map_or(0, |published| published.0),
            records_bytes: self.own.publishers[BrokerStream::Records as usize].bytes,
            seen_bytes: self.own.publishers[BrokerStream::Sightings as usize].bytes,
            broker: BrokerStatus { up: why.is_none(), why, since_secs },
            waiting_secs: waiting.map_or(0, |since| now.since(since) / 1000),
            fenced: self.own.fenced.clone(),
            alarms,
            sites,
        }
    }

    fn site_status(&self, site: &SiteKey, now: Millis) -> SiteStatus {
        let neighbour = self.neighbours.get(site);
        let heard_at = neighbour.and_then(|one| one.heard_at);
        let incarnation = neighbour.filter(|_| heard_at.is_some()).map(|one| one.incarnation);
        let mut streams = Vec::new();
        let mut uncounted = 0;
        let mut records = (0, 0);
        for (id, following) in self.streams_of(site) {
            uncounted += following.position.uncounted;
            if id.stream == Stream::Records && Some(id.incarnation) == incarnation {
                records = (following.known().0, following.applied().0);
            }
            streams.push(stream_status(id, following));
        }
        let behind =
            || neighbour.into_iter().flat_map(|one| &one.behind).filter_map(|id| self.streams.get(id));
        let agreed_at = neighbour.and_then(|one| one.agreed_at);
        let is_mismatched = behind().any(|one| one.mismatch.is_some());
        let is_late = behind().any(|one| one.is_late(now));
        let missing = behind().filter(|one| one.known() > one.applied() || !one.is_unshown(now));
        let lag =
            missing.filter_map(|one| one.missing.since).map(|since| now.since(since)).max().unwrap_or(0);
        let cut_off = match &self.broker {
            (BrokerState::Down { .. }, since) => now.since(*since),
            (BrokerState::Up, _) => 0,
        };
        let holds = neighbour.map(held_of_ours).unwrap_or_default();
        let present = self.own.latest.incarnation.0;
        SiteStatus {
            name: self.documents.name_of(site),
            site: site.to_string(),
            incarnation: incarnation.map(|incarnation| incarnation.0),
            silent_secs: heard_at.map(|at| now.since(at) / 1000),
            clock_secs: neighbour.zip(heard_at).map(|(one, at)| ahead(one.time_secs, at.secs())),
            records_known: records.0,
            records_applied: records.1,
            lag_secs: lag.max(cut_off) / 1000,
            streams,
            agrees: if is_mismatched { Some(false) } else { agreed_at.map(|_| !is_late) },
            agreed_secs: agreed_at.map(Millis::secs),
            agreed_since_secs: neighbour
                .and_then(|one| one.agreed_since)
                .filter(|_| !is_late)
                .map(Millis::secs),
            repairs: neighbour.map_or(0, |one| one.repairs),
            has_of_ours: holds
                .iter()
                .find(|held| held.incarnation == present)
                .map_or(0, |held| held.sequence),
            uncounted,
            problem: self.problem(site, now),
            holds,
        }
    }

    /// Streams of a site that have been behind for too long.
    fn late_streams<'a>(
        &'a self,
        neighbour: &'a Neighbour,
        now: Millis,
    ) -> impl Iterator<Item = (&'a StreamId, &'a Following)> {
        let behind = neighbour.behind.iter().filter_map(|id| Some((id, self.streams.get(id)?)));
        behind.filter(move |(_, one)| one.is_late(now))
    }

    /// What is wrong with a site, in a sentence with what to do.
    fn problem(&self, site: &SiteKey, now: Millis) -> Option<String> {
        let name = self.documents.name_of(site);
        let neighbour = self.neighbours.get(site);
        if let Some(one) = neighbour {
            if one.is_copied(now) {
                return Some(format!(
                    "{name} runs twice: a copy of its data folder sends heartbeats as well; stop one of the two and \
                     restart the other"
                ));
            }
            if let Some((id, late)) = self.late_streams(one, now).find(|(_, late)| late.mismatch.is_some()) {
                let stream = described(id.stream);
                let why = late.mismatch.as_deref().unwrap_or_default();
                return Some(format!(
                    "{stream} of {name}, incarnation {}: {why}; ask its operator whether the folder was restored or \
                     copied, and restart it",
                    id.incarnation
                ));
            }
            if let Some(incarnation) = one.unheard {
                return Some(format!(
                    "{name} has had {INCARNATIONS_MAX} incarnations and is not heard in {incarnation}: find out why \
                     its folder is restored so often, then remove it and admit it again"
                ));
            }
            if let Some(generation) = one.skewed.filter(|one| self.is_ahead(*one)) {
                return Some(format!(
                    "{name} spoke of generation {generation}, which is in the future: correct its clock"
                ));
            }
        }
        if let Some(problem) = self.silence(&name, neighbour, now) {
            return Some(problem);
        }
        let (id, late) = self.late_streams(neighbour?, now).next()?;
        let stream = described(id.stream);
        let missing = late.known().max(late.claimed()).0 - late.applied().0;
        let secs = late.missing.since.map_or(0, |since| now.since(since) / 1000);
        Some(format!(
            "this site is behind: {missing} items of {stream} of {name} have been missing for {secs} s; they are being \
             asked for, look at the broker and at {name} if that does not end"
        ))
    }

    /// What is to be said of a site that is not heard.
    fn silence(&self, name: &str, neighbour: Option<&Neighbour>, now: Millis) -> Option<String> {
        let heard_at = neighbour.and_then(|one| one.heard_at);
        let silent = now.since(heard_at.unwrap_or(self.own.started));
        if silent < SILENT_MILLIS.max(SILENT_HEARTBEATS * self.heartbeat_millis()) {
            return None;
        }
        let secs = silent / 1000;
        if let (BrokerState::Down { .. }, since) = &self.broker {
            let down = now.since(*since) / 1000;
            return Some(format!(
                "{name} has not been heard for {secs} s: this site has been cut off from the broker for {down} s"
            ));
        }
        let since = match heard_at {
            Some(_) => format!("has been silent for {secs} s"),
            None => format!("has not been heard since this site started {secs} s ago"),
        };
        Some(format!(
            "{name} {since}: see whether it runs and reaches the broker; if it is gone for good, remove it"
        ))
    }

    fn alarms(&self, sites: &[SiteStatus], now: Millis) -> Vec<String> {
        let mut alarms: Vec<String> = Vec::new();
        alarms.extend(self.own.fenced.clone());
        alarms.extend(self.documents.fork.clone());
        alarms.extend(self.trouble.as_ref().map(|why| {
            format!("the store cannot be used for the network: {why}; free disk space or repair the disk, then restart")
        }));
        if self.documents.roster.is_some() && !self.is_member() {
            alarms.push(
                "this site is not in the roster, or cannot open the network's manifest: ask the network's admin to \
                 admit it"
                    .into(),
            );
        }
        alarms.extend(self.wrong_network_alarm(now));
        alarms.extend(self.waiting_alarm(now));
        alarms.extend(self.own.latest.alarms.iter().cloned());
        alarms.extend(self.claim_alarms(now));
        alarms.extend(sites.iter().filter_map(|site| site.problem.clone()));
        alarms
    }

    /// Signs that the network key in the configuration is wrong, or a roster is missing.
    fn wrong_network_alarm(&self, now: Millis) -> Option<String> {
        let network = self.documents.network;
        if let Some(found) = &self.foreign {
            return Some(format!(
                "what arrives is signed by network {found}, and this site is configured for {network}: correct the \
                 network key in the configuration"
            ));
        }
        if let Some((at, site)) = self.unknown.as_ref().filter(|(at, _)| now.since(*at) < UNKNOWN_MILLIS) {
            let secs = now.since(*at) / 1000;
            return Some(format!(
                "site {site}, which is not in the roster, sent something {secs} s ago: if it was removed, stop it; if \
                 it was admitted, run `seenit network up`"
            ));
        }
        let is_up = matches!(self.broker.0, BrokerState::Up);
        let is_late = now.since(self.own.started.max(self.broker.1)) >= SILENT_MILLIS;
        (self.documents.roster.is_none() && is_up && is_late).then(|| {
            format!(
                "no roster of network {network} has arrived: check the network key in the configuration, or run \
                 `seenit network up`"
            )
        })
    }

    /// Own items wait, and the broker stores none of them.
    fn waiting_alarm(&self, now: Millis) -> Option<String> {
        let late = |kind: &BrokerStream| {
            let since = self.own.publishers[*kind as usize].waiting_since;
            since.is_some_and(|since| now.since(since) >= WAITING_MILLIS)
        };
        let kind = BrokerStream::ALL.into_iter().find(late)?;
        let publisher = &self.own.publishers[kind as usize];
        let waiting = |kind| {
            let streams = self.own_in(kind);
            streams
                .map(|(_, one)| one.last.0 - one.published.unwrap_or_default().min(one.last).0)
                .sum::<u64>()
        };
        let records = waiting(BrokerStream::Records);
        let deltas = waiting(BrokerStream::Sightings);
        let secs = publisher.waiting_since.map_or(0, |since| now.since(since) / 1000);
        let why = publisher.why.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
        Some(format!(
            "{records} records and {deltas} deltas of sightings have waited for {secs} s and the broker stored none \
             of them{why}: run `seenit network up`, which makes the broker's streams again"
        ))
    }

    /// Who claims to hold what nobody shows.
    fn claim_alarms(&self, now: Millis) -> Vec<String> {
        let behind = self.neighbours.values().flat_map(|one| &one.behind);
        let unshown =
            behind.filter_map(|id| Some((id, self.streams.get(id)?))).filter(|(_, one)| one.is_unshown(now));
        unshown
            .filter_map(|(id, one)| {
                let (claimant, sequence) = one.claims.iter().max_by_key(|(_, sequence)| *sequence)?;
                let claimant = self.documents.name_of(claimant);
                let name = self.documents.name_of(&id.site);
                let stream = described(id.stream);
                Some(format!(
                    "{claimant} claims to hold {stream} of {name} up to {sequence}, and nobody shows it: look at \
                     {claimant}"
                ))
            })
            .collect()
    }
}

fn held_of_ours(neighbour: &Neighbour) -> Vec<HoldsOfOurs> {
    let records = neighbour.holds.values().filter(|held| held.id.stream == Stream::Records);
    records
        .map(|held| HoldsOfOurs {
            incarnation: held.id.incarnation.0,
            sequence: held.sequence.0,
            uncounted: held.uncounted,
            uncounted_last: held.uncounted_last.0,
        })
        .collect()
}

/// How far a clock is ahead of another; what a clock may say has no bounds.
fn ahead(theirs: u64, ours: u64) -> i64 {
    let difference = i128::from(theirs) - i128::from(ours);
    i64::try_from(difference).unwrap_or(if difference > 0 { i64::MAX } else { i64::MIN })
}

fn stream_status(id: &StreamId, following: &Following) -> StreamStatus {
    let (stream, generation) = match id.stream {
        Stream::Records => ("records", None),
        Stream::Sightings { generation } => ("seen", Some(generation.0)),
    };
    StreamStatus {
        incarnation: id.incarnation.0,
        stream,
        generation,
        known: following.known().0,
        applied: following.applied().0,
        verified: following.applied().0,
        root: following.position.at.value.to_string(),
        mismatch: following.mismatch.clone(),
    }
}
