//! How the network is doing, as this site sees it: what `seenit sites` shows, and what receipts say.

use std::collections::BTreeMap;

use seenit_sites::beat::StreamId;
use seenit_sites::key::SiteKey;
use seenit_sites::message::Stream;
use serde::Serialize;

use crate::journal::Journal;
use crate::link::{LIVES_MAX, Link};

/// Seconds of silence from which somebody should look.
const SILENT_SECS: u64 = 600;

/// The network from here.
#[derive(Clone, Debug, Serialize)]
pub struct NetworkStatus {
    /// The network.
    pub network: String,
    /// Whether this site is a member and knows the terms.
    pub member: bool,
    /// The version of the roster, 0 where there is none yet.
    pub roster: u64,
    /// The present life of this folder.
    pub incarnation: u64,
    /// Own records, and how many of them the engine was told of.
    pub records: u64,
    /// The same.
    pub published: u64,
    /// Bytes of records that were published since the start.
    pub records_bytes: u64,
    /// Bytes of seen counts.
    pub seen_bytes: u64,
    /// The other members.
    pub sites: Vec<SiteStatus>,
    /// What somebody should look at.
    pub alarms: Vec<String>,
}

/// One other member.
#[derive(Clone, Debug, Serialize)]
pub struct SiteStatus {
    /// Its name.
    pub name: String,
    /// Its key.
    pub site: String,
    /// Its present life, as far as it was heard.
    pub incarnation: Option<u64>,
    /// Seconds since it was heard.
    pub silent_secs: Option<u64>,
    /// How far its clock is ahead of ours, in seconds.
    pub clock_secs: Option<i64>,
    /// Records of its present life that it has, and that are applied here.
    pub records_known: u64,
    /// The same.
    pub records_applied: u64,
    /// Seconds that something of it has been missing for.
    pub lag_secs: u64,
    /// Its streams, one by one.
    pub streams: Vec<StreamStatus>,
    /// Whether all that is held of it is what it signed: `None` while something is still to be compared.
    pub agrees: Option<bool>,
    /// Repairs since the start.
    pub repairs: u64,
    /// Own records that it has applied.
    pub has_of_ours: u64,
}

impl SiteStatus {
    /// Seen counts of the newest generation in its present life.
    pub fn newest_seen(&self) -> Option<&StreamStatus> {
        let of_present_life = |one: &&StreamStatus| Some(one.incarnation) == self.incarnation;
        let seen = self.streams.iter().filter(of_present_life).filter(|one| one.generation.is_some());
        seen.max_by_key(|one| one.generation)
    }
}

/// One stream of a site.
#[derive(Clone, Debug, Serialize)]
pub struct StreamStatus {
    /// The life it is of.
    pub incarnation: u64,
    /// `records`, or `seen`.
    pub stream: &'static str,
    /// The generation of seen counts.
    pub generation: Option<u64>,
    /// The newest sequence that its site is known to have.
    pub known: u64,
    /// The last one that is applied here.
    pub applied: u64,
    /// The last one at which what is here was found to have the root that was signed.
    pub verified: u64,
    /// The root there.
    pub root: String,
    /// What is wrong.
    pub mismatch: Option<String>,
}

/// Where a record has been applied.
#[derive(Clone, Debug, Serialize)]
pub struct Reach {
    /// Sites that have applied it, this one included.
    pub applied: u64,
    /// Sites that there are.
    pub sites: u64,
    /// The others, one by one.
    pub each: Vec<ReachOne>,
}

/// One other site and a record.
#[derive(Clone, Debug, Serialize)]
pub struct ReachOne {
    /// Its name.
    pub name: String,
    /// Its key.
    pub site: String,
    /// Whether it has applied it.
    pub applied: bool,
    /// Seconds since it was heard.
    pub silent_secs: Option<u64>,
}

impl<J: Journal> Link<J> {
    /// How the network is doing.
    pub fn status(&self, now: u64) -> NetworkStatus {
        let now = self.now.max(now);
        let (members, roster) = match &self.papers.roster {
            Some(roster) => (roster.members(), roster.version()),
            None => (&[][..], 0),
        };
        let others = members.iter().filter(|member| member.site != self.key);
        let sites: Vec<SiteStatus> = others.map(|member| self.site_status(&member.site, now)).collect();
        NetworkStatus {
            network: self.papers.network.to_string(),
            member: self.is_member(),
            roster,
            incarnation: self.journal.incarnation(),
            records: self.journal.lives().last().map_or(0, |(_, end)| *end),
            published: self.own.published(),
            records_bytes: self.own.bytes[0],
            seen_bytes: self.own.bytes[1],
            alarms: self.alarms(now),
            sites,
        }
    }

    fn site_status(&self, site: &SiteKey, now: u64) -> SiteStatus {
        let neighbour = self.neighbours.get(site);
        let heard_at = neighbour.and_then(|one| one.heard_at);
        let streams: Vec<(&StreamId, _)> = self.following.iter().filter(|(id, _)| id.site == *site).collect();
        let incarnation = neighbour.map(|one| one.incarnation).filter(|life| *life > 0);
        let records = streams
            .iter()
            .find(|(id, _)| id.stream == Stream::Records && Some(id.incarnation) == incarnation);
        let (records_known, records_applied) =
            records.map_or((0, 0), |(_, one)| (one.known(), one.position.applied));
        let missing = streams.iter().filter_map(|(_, one)| one.missing_since.filter(|_| one.is_behind()));
        let lag = missing.map(|since| now.saturating_sub(since)).max();
        let is_wrong = streams.iter().any(|(_, one)| one.mismatch.is_some());
        let is_open = streams.iter().any(|(id, one)| {
            let applied = one.position.applied;
            let is_claimed = self.most_held(id) > applied && self.unshown_claim(id, now).is_none();
            one.is_behind() || one.position.verified < applied || is_claimed
        });
        let ours =
            StreamId { site: self.key, incarnation: self.journal.incarnation(), stream: Stream::Records };
        SiteStatus {
            name: self.papers.name_of(site),
            site: site.to_string(),
            incarnation,
            silent_secs: heard_at.map(|at| now.saturating_sub(at) / 1000),
            clock_secs: neighbour.zip(heard_at).map(|(one, at)| ahead(one.time_secs, at / 1000)),
            records_known,
            records_applied,
            lag_secs: lag.unwrap_or(0) / 1000,
            agrees: if is_wrong { Some(false) } else { (!is_open && heard_at.is_some()).then_some(true) },
            repairs: streams.iter().map(|(_, one)| one.repairs).sum(),
            has_of_ours: neighbour.and_then(|one| one.holdings.get(&ours)).copied().unwrap_or(0),
            streams: streams.into_iter().map(|(id, one)| stream_status(id, one)).collect(),
        }
    }

    fn alarms(&self, now: u64) -> Vec<String> {
        let mut alarms = Vec::new();
        alarms.extend(self.papers.fork.clone());
        alarms.extend(self.folds.alarm(now));
        alarms.extend(
            self.trouble.as_ref().map(|why| format!("the journal cannot be used for the network: {why}")),
        );
        if self.papers.roster.is_some() && !self.is_member() {
            alarms.push("this site is not in the roster, or cannot open the network's manifest".into());
        }
        for (site, neighbour) in &self.neighbours {
            let name = self.papers.name_of(site);
            let silent = neighbour.heard_at.map_or(0, |at| now.saturating_sub(at) / 1000);
            if silent >= SILENT_SECS {
                alarms.push(format!("{name} has been silent for {silent} s"));
            }
            if neighbour.is_twofold(now) {
                alarms.push(format!(
                    "two lives of {name} speak at the same time: a copy of its folder is running"
                ));
            }
            if let Some(life) = neighbour.unheard_life {
                alarms.push(format!(
                    "{name} has had {LIVES_MAX} lives, and is not heard in life {life}: remove it and admit it again"
                ));
            }
            if let Some(generation) = neighbour.skewed.filter(|one| self.is_ahead(*one)) {
                alarms.push(format!(
                    "{name} spoke of generation {generation}, which is too far ahead: its clock is wrong"
                ));
            }
        }
        for (id, following) in &self.following {
            if let Some((claimant, sequence)) = self.unshown_claim(id, now) {
                let (name, stream) = (self.papers.name_of(&id.site), crate::apply::described(id.stream));
                let claimant = self.papers.name_of(&claimant);
                alarms.push(format!(
                    "{claimant} claims to hold {stream} of {name} up to {sequence}, and nobody shows it"
                ));
            }
            if let Some(why) = &following.mismatch {
                let (name, stream) = (self.papers.name_of(&id.site), crate::apply::described(id.stream));
                alarms.push(format!("{stream} of {name}: {why}"));
            }
        }
        alarms
    }

    /// Which sites have applied a record of ours.
    pub fn reach(&self, incarnation: u64, sequence: u64, now: u64) -> Reach {
        let now = self.now.max(now);
        let id = StreamId { site: self.key, incarnation, stream: Stream::Records };
        let members = self.papers.roster.iter().flat_map(|roster| roster.members());
        let others: BTreeMap<&SiteKey, &str> = members
            .filter(|member| member.site != self.key)
            .map(|member| (&member.site, member.name.as_str()))
            .collect();
        let one = |(site, name): (&&SiteKey, &&str)| {
            let neighbour = self.neighbours.get(*site);
            ReachOne {
                name: (*name).to_owned(),
                site: site.to_string(),
                applied: neighbour
                    .and_then(|one| one.holdings.get(&id))
                    .is_some_and(|held| *held >= sequence),
                silent_secs: neighbour.and_then(|one| one.heard_at).map(|at| now.saturating_sub(at) / 1000),
            }
        };
        let each: Vec<ReachOne> = others.iter().map(one).collect();
        let applied = 1 + each.iter().filter(|one| one.applied).count() as u64;
        Reach { applied, sites: 1 + each.len() as u64, each }
    }
}

impl std::fmt::Display for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "applied at {} of {}", self.applied, self.sites)?;
        let mut waiting = self.each.iter().filter(|one| !one.applied).peekable();
        if waiting.peek().is_some() {
            write!(f, ", waiting for ")?;
        }
        for (place, one) in waiting.enumerate() {
            let comma = if place > 0 { ", " } else { "" };
            match one.silent_secs {
                Some(secs) => write!(f, "{comma}{} (silent {secs} s)", one.name)?,
                None => write!(f, "{comma}{} (not heard yet)", one.name)?,
            }
        }
        Ok(())
    }
}

/// How far a clock is ahead of another; what a clock may say has no bounds.
fn ahead(theirs: u64, ours: u64) -> i64 {
    let difference = i128::from(theirs) - i128::from(ours);
    i64::try_from(difference).unwrap_or(if difference > 0 { i64::MAX } else { i64::MIN })
}

fn stream_status(id: &StreamId, following: &crate::following::Following) -> StreamStatus {
    let (stream, generation) = match id.stream {
        Stream::Records => ("records", None),
        Stream::Seen { generation } => ("seen", Some(generation)),
    };
    StreamStatus {
        incarnation: id.incarnation,
        stream,
        generation,
        known: following.known(),
        applied: following.position.applied,
        verified: following.position.verified,
        root: following.position.root.to_string(),
        mismatch: following.mismatch.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{NOW, beat, holding, link, signed};

    fn one(name: &str, applied: bool, silent_secs: Option<u64>) -> ReachOne {
        ReachOne { name: name.into(), site: String::new(), applied, silent_secs }
    }

    #[test]
    fn a_reach_says_who_is_waited_for() {
        let said = |each: Vec<ReachOne>| {
            let applied = 1 + each.iter().filter(|one| one.applied).count() as u64;
            Reach { applied, sites: 1 + each.len() as u64, each }.to_string()
        };
        assert_eq!(said(vec![]), "applied at 1 of 1");
        assert_eq!(said(vec![one("a", true, Some(1))]), "applied at 2 of 2");
        let each = vec![one("a", true, None), one("b", false, Some(7)), one("c", false, None)];
        assert_eq!(said(each), "applied at 2 of 4, waiting for b (silent 7 s), c (not heard yet)");
    }

    #[test]
    fn a_record_has_reached_who_holds_it() {
        let mut link = link();
        let life = link.journal.incarnation();
        let ours = StreamId { site: link.key, incarnation: life, stream: Stream::Records };
        link.journal.say(b"a record".to_vec());
        let mut beat = beat(2, NOW / 1000);
        beat.holdings = vec![holding(ours, 1)];
        link.hear(NOW, &signed(2, &beat), None);
        let said = link.reach(life, 1, NOW + 3000).to_string();
        assert_eq!(said, "applied at 2 of 3, waiting for site3 (not heard yet)");
        assert_eq!(link.reach(life, 2, NOW).applied, 1);
        assert_eq!(link.reach(life + 1, 1, NOW).applied, 1, "another life's");
    }

    #[test]
    fn a_clock_beyond_all_numbers_is_shown_and_breaks_nothing() {
        for time_secs in [1, 1 << 63, u64::MAX] {
            let mut link = link();
            link.hear(NOW, &signed(2, &beat(2, time_secs)), None);
            let status = link.status(NOW);
            let clock = status.sites.iter().find_map(|site| site.clock_secs).expect("it was heard");
            assert_eq!(clock > 0, time_secs > NOW / 1000, "{time_secs}: {clock}");
        }
    }
}
