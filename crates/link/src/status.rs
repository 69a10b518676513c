//! How the network is doing, as this site sees it: what `seenit sites` shows, and what receipts say. The driver
//! publishes it after each drain; nobody need touch the link for it.

use seenit_sites::number::{Incarnation, Sequence};
use serde::Serialize;

/// The network from here.
#[derive(Clone, Debug, Default, Serialize)]
pub struct NetworkStatus {
    /// The network.
    pub network: String,
    /// Whether this site is a member and knows the terms.
    pub member: bool,
    /// The version of the roster, 0 where there is none yet.
    pub roster: u64,
    /// The present incarnation of this folder.
    pub incarnation: u64,
    /// Own records of the present incarnation.
    pub records: u64,
    /// How many of them the broker has stored.
    pub published: u64,
    /// Bytes of records that were published since the start.
    pub records_bytes: u64,
    /// Bytes of sightings that were published since the start.
    pub seen_bytes: u64,
    /// Whether the broker is there.
    pub broker: BrokerStatus,
    /// Seconds that own records have been waiting to be published.
    pub waiting_secs: u64,
    /// Why this site has stopped publishing: another program publishes under its key.
    pub fenced: Option<String>,
    /// The other members.
    pub sites: Vec<SiteStatus>,
    /// What somebody should look at, each with what to do.
    pub alarms: Vec<String>,
}

/// The broker from here.
#[derive(Clone, Debug, Default, Serialize)]
pub struct BrokerStatus {
    /// Whether it is connected.
    pub up: bool,
    /// Why not.
    pub why: Option<String>,
    /// Seconds since it is as it is.
    pub since_secs: u64,
}

/// One other member.
#[derive(Clone, Debug, Serialize)]
pub struct SiteStatus {
    /// Its name.
    pub name: String,
    /// Its key.
    pub site: String,
    /// Its present incarnation, as far as it was heard.
    pub incarnation: Option<u64>,
    /// Seconds since it was heard.
    pub silent_secs: Option<u64>,
    /// How far its clock is ahead of ours, in seconds.
    pub clock_secs: Option<i64>,
    /// Records of its present incarnation that it has.
    pub records_known: u64,
    /// Those that are applied here.
    pub records_applied: u64,
    /// Seconds that something of it has been missing here, or that the broker is away.
    pub lag_secs: u64,
    /// Its streams, one by one.
    pub streams: Vec<StreamStatus>,
    /// Whether all that anybody holds of it is applied here, up to the newest head it signed; `None` while that was
    /// never compared.
    pub agrees: Option<bool>,
    /// When that was last found, in seconds since the Unix epoch.
    pub agreed_secs: Option<u64>,
    /// Since when it has been so without a break, in seconds since the Unix epoch.
    pub agreed_since_secs: Option<u64>,
    /// Ranges that were asked for since the start.
    pub repairs: u64,
    /// Own records of the present incarnation that it holds.
    pub has_of_ours: u64,
    /// Its records that are kept here and not counted: it has had its share, or the tally is full.
    pub uncounted: u64,
    /// What is wrong with it, in a sentence with what to do.
    pub problem: Option<String>,
    /// What it holds of our records, one for each incarnation of ours.
    pub holds: Vec<HoldsOfOurs>,
}

/// What another site holds of one incarnation of our records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HoldsOfOurs {
    /// Which incarnation.
    pub incarnation: u64,
    /// The last record that it has applied.
    pub sequence: u64,
    /// How many of them it keeps without counting them.
    pub uncounted: u64,
    /// The last of those.
    pub uncounted_last: u64,
}

/// One stream of a site.
#[derive(Clone, Debug, Serialize)]
pub struct StreamStatus {
    /// The incarnation it is of.
    pub incarnation: u64,
    /// `records`, or `seen`.
    pub stream: &'static str,
    /// The generation of sightings.
    pub generation: Option<u64>,
    /// The newest sequence that its site is known to have signed.
    pub known: u64,
    /// The last one that is applied here.
    pub applied: u64,
    /// The same: nothing is applied that does not lead to a signed value.
    pub verified: u64,
    /// The value of its chain there.
    pub root: String,
    /// What is wrong.
    pub mismatch: Option<String>,
}

impl SiteStatus {
    /// Sightings of the newest generation in its present incarnation.
    pub fn newest_seen(&self) -> Option<&StreamStatus> {
        let is_present = |one: &&StreamStatus| Some(one.incarnation) == self.incarnation;
        let seen = self.streams.iter().filter(is_present).filter(|one| one.generation.is_some());
        seen.max_by_key(|one| one.generation)
    }
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
    /// It holds the record, and keeps some of ours without counting them: perhaps this one.
    pub uncounted: bool,
    /// Seconds since it was heard.
    pub silent_secs: Option<u64>,
}

impl NetworkStatus {
    /// Which sites have applied a record of ours.
    pub fn reach(&self, incarnation: Incarnation, sequence: Sequence) -> Reach {
        let one = |site: &SiteStatus| {
            let held = site.holds.iter().find(|held| held.incarnation == incarnation.0);
            let is_held = held.is_some_and(|held| held.sequence >= sequence.0);
            let uncounted = held.is_some_and(|held| is_held && held.may_not_count(sequence));
            let name = site.name.clone();
            let site_key = site.site.clone();
            let applied = is_held && !uncounted;
            ReachOne { name, site: site_key, applied, uncounted, silent_secs: site.silent_secs }
        };
        let each: Vec<ReachOne> = self.sites.iter().map(one).collect();
        let applied = 1 + each.iter().filter(|one| one.applied).count() as u64;
        Reach { applied, sites: 1 + each.len() as u64, each }
    }
}

impl HoldsOfOurs {
    /// Whether a record may be among those that are not counted. The site says how many there are and which is the
    /// last: with one it is known which, with more every record up to the last may be one.
    fn may_not_count(&self, sequence: Sequence) -> bool {
        match self.uncounted {
            0 => false,
            1 => sequence.0 == self.uncounted_last,
            _ => sequence.0 <= self.uncounted_last,
        }
    }
}

impl std::fmt::Display for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "applied at {} of {}", self.applied, self.sites)?;
        let uncounted: Vec<&str> =
            self.each.iter().filter(|one| one.uncounted).map(|one| one.name.as_str()).collect();
        if !uncounted.is_empty() {
            write!(f, ", perhaps kept without being counted at {}", uncounted.join(", "))?;
        }
        let waiting = self.each.iter().filter(|one| !one.applied && !one.uncounted);
        for (place, one) in waiting.enumerate() {
            let before = if place == 0 { ", waiting for " } else { ", " };
            match one.silent_secs {
                Some(secs) => write!(f, "{before}{} (silent {secs} s)", one.name)?,
                None => write!(f, "{before}{} (not heard yet)", one.name)?,
            }
        }
        Ok(())
    }
}
