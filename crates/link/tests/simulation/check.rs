//! What must be true when all is calm.

use std::collections::{BTreeMap, BTreeSet};

use seenit_link::Journal;
use seenit_sites::key::SiteKey;

use crate::double::LIVE;
use crate::world::{KEYS, SimSite, World};

type Log = BTreeMap<u64, Vec<u8>>;

/// All that a site holds: of each site and life the records by sequence, its own included.
fn logs(site: &SimSite) -> BTreeMap<(SiteKey, u64), Log> {
    let Some(link) = &site.link else { return BTreeMap::new() };
    let disk = &link.journal().disk;
    let own = site.secret.public();
    let mut logs: BTreeMap<(SiteKey, u64), Log> = BTreeMap::new();
    for life in &disk.lives {
        let log = logs.entry((own, life.id)).or_default();
        log.extend((1..).zip(life.records.iter().cloned()));
    }
    let whose: BTreeMap<u16, SiteKey> =
        disk.peers.iter().map(|peer| (peer.slot, SiteKey::from_bytes(&peer.site).expect("a key"))).collect();
    for ((slot, life, sequence), record) in &disk.heard {
        let old = logs.entry((whose[slot], *life)).or_default().insert(*sequence, record.clone());
        assert!(old.is_none_or(|old| old == *record), "two records of one name");
    }
    logs.retain(|_, log| !log.is_empty());
    logs
}

fn members(world: &World) -> impl Iterator<Item = (usize, &SimSite)> {
    world.sites.iter().enumerate().filter(|(_, site)| site.is_admitted)
}

/// Why sites do not agree yet.
pub(crate) fn disagreement(world: &World) -> Option<String> {
    let mut first: Option<BTreeMap<(SiteKey, u64), Log>> = None;
    for (number, site) in members(world) {
        let Some(link) = &site.link else { return Some(format!("site{number} is down")) };
        if !link.is_member() {
            return Some(format!("site{number} is no member yet"));
        }
        let logs = logs(site);
        match &first {
            None => first = Some(logs),
            Some(first) if *first != logs => return Some(differ(number, first, &logs)),
            Some(_) => {}
        }
        let status = link.status(0);
        for other in &status.sites {
            if other.agrees != Some(true) {
                let streams: Vec<String> = other.streams.iter().map(|stream| format!("{stream:?}")).collect();
                return Some(format!(
                    "site{number} does not agree with {}:\n{}",
                    other.name,
                    streams.join("\n")
                ));
            }
        }
    }
    cells_differ(world)
}

fn differ(
    number: usize,
    one: &BTreeMap<(SiteKey, u64), Log>,
    other: &BTreeMap<(SiteKey, u64), Log>,
) -> String {
    let size = |logs: &BTreeMap<(SiteKey, u64), Log>, key: &(SiteKey, u64)| logs.get(key).map_or(0, Log::len);
    let keys: BTreeSet<_> = one.keys().chain(other.keys()).collect();
    let differing = keys.into_iter().filter(|key| one.get(*key) != other.get(*key));
    let lines: Vec<String> = differing
        .map(|key| {
            format!(
                "{:.8} life {}: site0 has {}, site{number} {}",
                key.0.to_string(),
                key.1,
                size(one, key),
                size(other, key)
            )
        })
        .collect();
    format!("logs differ:\n{}", lines.join("\n"))
}

/// Whether each site's copy of another's present cells is the other's.
fn cells_differ(world: &World) -> Option<String> {
    for (number, site) in members(world) {
        let link = site.link.as_ref()?;
        for (other_number, other) in members(world).filter(|(other, _)| *other != number) {
            let theirs = other.link.as_ref()?.journal();
            for (generation, sequence) in theirs.generations() {
                let is_live = generation + LIVE > link.journal().now;
                let status = link.status(0);
                let key = other.secret.public().to_string();
                let held = status.sites.iter().find(|one| one.site == key)?.streams.iter().find(|stream| {
                    stream.generation == Some(generation) && stream.incarnation == theirs.incarnation()
                });
                let applied = held.map_or(0, |held| held.applied);
                if is_live && applied != sequence {
                    return Some(format!(
                        "site{number} has {applied} of {sequence} gains of site{other_number} in {generation}"
                    ));
                }
            }
        }
    }
    None
}

/// Everything else.
pub(crate) fn all(world: &World) {
    records(world);
    counts(world);
    folds(world);
}

/// No acknowledged record is lost, and none is there twice.
fn records(world: &World) {
    let site = world.sites.iter().find(|site| site.is_admitted).expect("a member");
    let mut held: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    for record in logs(site).into_values().flat_map(Log::into_values) {
        *held.entry(record).or_default() += 1;
    }
    for (number, site) in world.sites.iter().enumerate() {
        for (record, is_undone) in &site.told.records {
            let times = held.get(record).copied().unwrap_or(0);
            assert!(times > 0 || *is_undone, "record {record:?} of site{number} is lost");
        }
    }
}

/// No count is below what was journalled, up to the caps.
fn counts(world: &World) {
    for (number, site) in members(world) {
        let journal = site.link.as_ref().expect("it runs").journal();
        for key in 0..KEYS {
            let mut least = 0;
            for (other_number, other) in world.sites.iter().enumerate() {
                let live = other
                    .told
                    .seen
                    .iter()
                    .filter(|((generation, one), _)| *one == key && generation + LIVE > journal.now);
                let cap = if other_number == number { u64::MAX } else { other.seen_cap };
                // A cap holds for each generation.
                least += live.map(|(_, recipients)| (*recipients).min(cap)).sum::<u64>();
            }
            let count = journal.count(key);
            assert!(count >= least, "site{number} counts {count} of key {key}, and {least} saw it");
        }
    }
}

/// The fold of a site is the sum of what its peers' present lives have, each up to its cap, and of earlier lives.
pub(crate) fn folds(world: &World) {
    for (number, site) in members(world) {
        let journal = site.link.as_ref().expect("it runs").journal();
        for generation in journal.oldest()..=journal.now {
            let fold: BTreeMap<u64, u64> = journal.fold_cells(generation).into_iter().collect();
            let mut least: BTreeMap<u64, u64> = BTreeMap::new();
            for (other_number, other) in members(world) {
                if other_number == number {
                    continue;
                }
                for (cell, value) in other.link.as_ref().expect("it runs").journal().own_values(generation) {
                    *least.entry(cell).or_default() += value.min(other.seen_cap);
                }
            }
            for (cell, value) in &least {
                assert!(
                    fold.get(cell) >= Some(value),
                    "site{number}, generation {generation}: cell {cell} is too low"
                );
            }
            let lives = |site: &SimSite| {
                site.link.as_ref().map_or(0, |link| {
                    let status = link.status(0);
                    let lives = |one: &seenit_link::SiteStatus| {
                        one.streams.iter().map(|stream| stream.incarnation).collect::<BTreeSet<_>>().len()
                    };
                    status.sites.iter().map(lives).max().unwrap_or(0).max(link.journal().disk.lives.len())
                })
            };
            let has_old_lives = members(world).any(|(_, site)| lives(site) > 1);
            if !has_old_lives {
                assert_eq!(
                    fold, least,
                    "site{number}, generation {generation}: the fold is not the sum of its parts"
                );
            }
        }
    }
}

/// Nothing of a removed site is left at the others.
pub(crate) fn is_gone(world: &World, removed: usize) {
    let key = world.sites[removed].secret.public();
    for (number, site) in members(world) {
        assert!(
            logs(site).keys().all(|(site, _)| *site != key),
            "site{number} still has records of site{removed}"
        );
        let status = site.link.as_ref().expect("it runs").status(0);
        assert!(status.sites.iter().all(|one| one.site != key.to_string()));
    }
}
