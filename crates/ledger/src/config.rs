//! What a site chooses: sizes, times, thresholds. Every value has a default that is safe for mail.

use seenit_filter::sightings::Structure;
use seenit_signature::{Class, Kind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::trust::TRUSTED_MIN;

/// How a ledger is made and how it judges. `docs/reference/configuration.md` explains each key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LedgerConfig {
    /// Signatures that the tally of records holds.
    pub capacity: u64,
    /// The false-positive rate of filters: of a seen count, of a bulk mark.
    pub rate: f64,
    /// What seen counts are kept in: `table` or `filter`.
    #[serde(serialize_with = "put_structure", deserialize_with = "structure")]
    pub seen: Structure,
    /// Signatures that are seen in one generation.
    pub seen_capacity: u64,
    /// Signatures of other sites that are remembered of one generation; 0 for as many as `seen_capacity`.
    pub peers_capacity: u64,
    /// Signatures that become bulk in one generation.
    pub bulk_capacity: u64,
    /// Texts (`near1` and `rspamd-near`) whose shingles the tallies hold.
    pub near_capacity: u64,
    /// Recipients from which a signature is bulk.
    pub bulk_threshold: u64,
    /// Seconds of a generation.
    pub generation_secs: u64,
    /// Generations that seen counts are kept.
    pub seen_generations: u64,
    /// Generations that records are kept.
    pub record_generations: u64,
    /// Points that make a verdict of kinds that name one message.
    pub quorum: u32,
    /// Points that make a verdict of what many messages share: links, hosts, and parts of messages.
    pub quorum_shared: u32,
    /// How many times the ham weight the spam weight must exceed, and the other way round.
    pub ratio: u32,
    /// Shingles of 32 that make a replica.
    pub near_threshold: u32,
    /// The same while little ham is known.
    pub near_threshold_careful: u32,
    /// Good texts from which enough ham is known.
    pub near_ham_min: u64,
    /// Reports of one reporter that raw totals count, for each signature and generation.
    pub raw_max: u32,
    /// Signatures that one account may have added to all that is kept, in percent of `capacity`: nobody fills it alone.
    /// Those whom the operator vouches for have no such limit.
    pub reporter_percent: u32,
    /// Points that a new account begins with: one less than makes it trusted, so that its opinions can be confirmed or
    /// refuted by those whom the operator trusts.
    pub account_weight: u8,
    /// Bytes that stay free where the journal lies.
    pub free_bytes_min: u64,
    /// Milliseconds between deltas of seen counts: what a crash may cost, with the time that a delta takes.
    pub delta_millis: u64,
    /// Seconds between snapshots; none is taken where nothing changed.
    pub snapshot_secs: u64,
}

impl Default for LedgerConfig {
    fn default() -> Self {
        LedgerConfig {
            capacity: 1_000_000,
            rate: 0.001,
            seen: Structure::Table,
            seen_capacity: 1_000_000,
            peers_capacity: 0,
            bulk_capacity: 50_000,
            near_capacity: 50_000,
            bulk_threshold: 20,
            generation_secs: 86_400,
            seen_generations: 3,
            record_generations: 30,
            quorum: 10,
            quorum_shared: 100,
            ratio: 4,
            near_threshold: seenit_filter::shingles::DEFAULT_THRESHOLD,
            near_threshold_careful: 26,
            near_ham_min: 1000,
            raw_max: 1000,
            reporter_percent: 10,
            account_weight: TRUSTED_MIN - 1,
            free_bytes_min: 256 << 20,
            delta_millis: 1000,
            snapshot_secs: 300,
        }
    }
}

/// A value that makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value}: {why}")]
pub struct ConfigError {
    /// The key.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl LedgerConfig {
    /// Points that make one signature of this kind spam. Parts and links name no message: many must agree.
    pub fn quorum_of(&self, kind: Kind) -> u32 {
        match kind.class() {
            Class::Whole | Class::AllParts | Class::Label => self.quorum,
            Class::Text | Class::Part | Class::Shared => self.quorum_shared,
        }
    }

    /// Signatures of other sites that are remembered of one generation.
    pub(crate) fn peers_capacity(&self) -> u64 {
        if self.peers_capacity == 0 { self.seen_capacity } else { self.peers_capacity }
    }

    /// Whether points on one side decide against those on the other.
    pub fn outweighs(&self, quorum: u32, one: u32, other: u32) -> bool {
        one >= quorum && one > other.saturating_mul(self.ratio)
    }

    /// Refuses values that cannot be kept.
    pub fn check(&self) -> Result<(), ConfigError> {
        let within = |key, value: u64, least: u64, most: u64, why| {
            let is_within = (least..=most).contains(&value);
            if is_within { Ok(()) } else { Err(ConfigError { key, value: value.to_string(), why }) }
        };
        const COUNT: &str = "must be from 1000 to 1000000000";
        within("capacity", self.capacity, 1000, 1_000_000_000, COUNT)?;
        within("seen_capacity", self.seen_capacity, 1000, 1_000_000_000, COUNT)?;
        if self.peers_capacity != 0 {
            const PEERS: &str = "must be 0, for `seen_capacity`, or from 1000 to 1000000000";
            within("peers_capacity", self.peers_capacity, 1000, 1_000_000_000, PEERS)?;
        }
        within("bulk_capacity", self.bulk_capacity, 1000, 1_000_000_000, COUNT)?;
        within("near_capacity", self.near_capacity, 1000, 1_000_000_000, COUNT)?;
        if !(1e-6..=0.1).contains(&self.rate) {
            let value = self.rate.to_string();
            return Err(ConfigError { key: "rate", value, why: "must be from 0.000001 to 0.1" });
        }
        within("bulk_threshold", self.bulk_threshold, 2, 1_000_000, "must be from 2 to 1000000")?;
        within("generation_secs", self.generation_secs, 1, 604_800, "must be from 1 to 604800, a week")?;
        within("seen_generations", self.seen_generations, 1, 31, "must be from 1 to 31")?;
        within("record_generations", self.record_generations, 1, 400, "must be from 1 to 400")?;
        within("quorum", self.quorum.into(), 1, 100, "must be from 1 to 100 points")?;
        within("quorum_shared", self.quorum_shared.into(), 1, 250, "must be from 1 to 250 points")?;
        within("ratio", self.ratio.into(), 1, 50, "must be from 1 to 50")?;
        const SHINGLES: &str = "must be from 9 to 32 shingles";
        within("near_threshold", self.near_threshold.into(), 9, 32, SHINGLES)?;
        within("near_threshold_careful", self.near_threshold_careful.into(), 9, 32, SHINGLES)?;
        within("raw_max", self.raw_max.into(), 100, 65_535, "must be from 100 to 65535")?;
        within("reporter_percent", self.reporter_percent.into(), 1, 100, "must be from 1 to 100")?;
        within("account_weight", self.account_weight.into(), 0, 10, "must be from 0 to 10 points")?;
        within("delta_millis", self.delta_millis, 10, 60_000, "must be from 10 to 60000")?;
        within("snapshot_secs", self.snapshot_secs, 1, 86_400, "must be from 1 to 86400")
    }
}

fn put_structure<S: Serializer>(structure: &Structure, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(structure.as_str())
}

fn structure<'de, D: Deserializer<'de>>(from: D) -> Result<Structure, D::Error> {
    String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
}

/// A configuration as a snapshot has it, which may have been written by a version with more keys.
pub(crate) fn of_snapshot<'de, D: Deserializer<'de>>(from: D) -> Result<LedgerConfig, D::Error> {
    // What `local` weighs: since then a reporter's weight like any other.
    const GONE: &str = "local_weight";
    let mut value = serde_json::Value::deserialize(from)?;
    value.as_object_mut().map(|keys| keys.remove(GONE));
    serde_json::from_value(value).map_err(serde::de::Error::custom)
}
