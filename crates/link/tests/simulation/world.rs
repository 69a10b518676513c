//! Sites, an engine between them, and a fate that comes from a seed.

use std::collections::{BTreeMap, BTreeSet};

use seenit_link::{Action, FoldPace, Journal, Kind, Link, Place, Published, ReplyTo};
use seenit_sites::key::{AdminSecret, SiteKey, SiteSecret};
use seenit_sites::manifest::{Geometry, HashKey, Manifest, Terms};
use seenit_sites::roster::{Caps, Member, Roster};

use crate::double::{Disk, Double, Life};
use crate::engine::{Engine, What};
use crate::random::Random;

/// Seconds of a generation: the shortest, so that a run sees several.
pub(crate) const GENERATION_SECS: u64 = 60;

/// When the story begins, in milliseconds since the Unix epoch: near the end of a generation.
const BEGINNING: u64 = 1_800_000_040_000;

/// Milliseconds between ticks.
const STEP: u64 = 200;

/// One site at a time, so that much happens while a fold is made.
const PACE: FoldPace = FoldPace { start_bytes: 1, tick_bytes: 1 };

/// The keys that are seen.
pub(crate) const KEYS: u64 = 40;

/// What one site's clients were told.
#[derive(Default)]
pub(crate) struct Told {
    /// Records that were acknowledged, and whether the folder was put back to a time before them.
    pub(crate) records: Vec<(Vec<u8>, bool)>,
    /// Sightings that are journalled, by generation and key.
    pub(crate) seen: BTreeMap<(u64, u64), u64>,
    /// Sightings that are only counted.
    pub(crate) pending: BTreeMap<(u64, u64), u64>,
}

/// A copy of a folder, and what clients had been told when it was made.
struct Backup {
    disk: Disk,
    records: usize,
    seen: BTreeMap<(u64, u64), u64>,
}

/// One site.
pub(crate) struct SimSite {
    pub(crate) secret: SiteSecret,
    pub(crate) link: Option<Link<Double>>,
    disk: Option<Disk>,
    backup: Option<Backup>,
    pub(crate) told: Told,
    /// How far its clock is off, in milliseconds.
    skew: i64,
    /// The engine's last sequence under its name, as it knows it.
    fence: [Option<u64>; 2],
    pub(crate) is_admitted: bool,
    pub(crate) seen_cap: u64,
    /// A mark beside the journal says how many commits there were.
    mark: u64,
}

/// Everything.
pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) now: u64,
    pub(crate) engine: Engine,
    pub(crate) sites: Vec<SimSite>,
    admin: AdminSecret,
    pub(crate) roster: Roster,
    papers: Vec<Vec<u8>>,
    geometry: Geometry,
    hash_key: HashKey,
    next_record: u64,
    /// Sites that restart at some time.
    down_until: Vec<Option<u64>>,
    pub(crate) notes: Vec<String>,
    pub(crate) is_calm: bool,
    pub(crate) removed: BTreeSet<SiteKey>,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let count = 3 + random.below(2) as usize;
        let admin = AdminSecret::from_bytes([7; 32]);
        let geometry = Geometry::sized(1500, 0.02, 3, 1).expect("a geometry");
        let mut sites = Vec::new();
        for number in 0..count {
            let skew = random.below(4000) as i64 - 2000;
            // One of them is not believed far.
            let seen_cap = if number == 1 { 2 } else { 1_000_000 };
            sites.push(SimSite {
                secret: SiteSecret::from_bytes([number as u8 + 1; 32]),
                link: None,
                disk: Some(Disk::default()),
                backup: None,
                told: Told::default(),
                skew,
                fence: [None, None],
                // The last one comes later.
                is_admitted: number + 1 < count,
                seen_cap,
                mark: 0,
            });
        }
        let roster = Roster::sign(&admin, 1, Vec::new()).expect("a roster");
        let engine = Engine {
            loss: [0, 30, 8][random.below(3) as usize],
            repeats: random.once_in(2),
            delay: [20, 300, 2500][random.below(3) as usize],
            cut: vec![false; count],
            ..Engine::default()
        };
        let mut world = World {
            random,
            now: BEGINNING,
            engine,
            sites,
            admin,
            roster,
            papers: Vec::new(),
            geometry,
            hash_key: HashKey::from_bytes([9; 16]),
            next_record: 0,
            down_until: vec![None; count],
            notes: Vec::new(),
            is_calm: false,
            removed: BTreeSet::new(),
        };
        world.sign_papers();
        (0..count).for_each(|site| world.start(site));
        world
    }

    /// The admin signs who belongs to the network, and seals the key to them.
    fn sign_papers(&mut self) {
        let member = |(number, site): (usize, &SimSite)| Member {
            site: site.secret.public(),
            sealing: site.secret.sealing().public(),
            name: format!("site{number}").parse().expect("a name"),
            caps: Caps { spam: 10, ham: 10, seen: site.seen_cap },
        };
        let admitted = self.sites.iter().enumerate().filter(|(_, site)| site.is_admitted);
        let members: Vec<Member> = admitted.map(member).collect();
        let version = self.roster.version() + 1;
        self.roster = Roster::sign(&self.admin, version, members).expect("a roster");
        let terms = Terms { first_generation: 0, generation_secs: GENERATION_SECS, geometry: self.geometry };
        let once = [version as u8; 32];
        let manifest = Manifest::sign(&self.admin, version, terms, &self.roster, &self.hash_key, once);
        let manifest = manifest.expect("a manifest");
        self.papers = vec![self.roster.bytes().to_vec(), manifest.bytes().to_vec()];
    }

    fn site_now(&self, site: usize) -> u64 {
        self.now.saturating_add_signed(self.sites[site].skew)
    }

    fn start(&mut self, number: usize) {
        let now = self.site_now(number);
        let site = &mut self.sites[number];
        let Some(mut disk) = site.disk.take() else { return };
        if disk.commits < site.mark && disk.network.is_some() {
            // The mark beside the journal tells that it lost its end: a new life begins, without asking anybody.
            let id = (now / 1000).max(disk.lives.last().map_or(0, |life| life.id + 1));
            disk.lives.push(Life { id, ..Life::default() });
        }
        let mut double = Double::open(disk, now / 1000 / GENERATION_SECS, now / 1000);
        double.set_now(now / 1000 / GENERATION_SECS);
        site.mark = 0;
        let secret = site.secret.clone();
        let link = Link::open_at(PACE, double, secret, self.admin.public(), now).expect("it opens");
        site.link = Some(link);
        site.fence = [None, None];
        self.down_until[number] = None;
        for paper in self.papers.clone() {
            self.engine.send(&mut self.random, self.now, number, What::Bytes(paper, None));
        }
    }

    /// The process ends, now. What was not journalled is gone.
    fn stop(&mut self, number: usize) {
        let site = &mut self.sites[number];
        if let Some(link) = site.link.take() {
            site.disk = Some(link.into_journal().disk);
            site.told.pending.clear();
            let pause = 500 + self.random.below(8000);
            self.down_until[number] = Some(self.now + pause);
        }
    }

    /// Puts an older copy of the folder back: with the mark beside it, or without.
    fn restore(&mut self, number: usize, is_noticed: bool) {
        self.stop(number);
        let site = &mut self.sites[number];
        let Some(backup) = &site.backup else { return };
        site.mark = if is_noticed { u64::MAX } else { 0 };
        site.disk = Some(backup.disk.clone());
        for (_, is_undone) in site.told.records.iter_mut().skip(backup.records) {
            *is_undone = true;
        }
        site.told.seen = backup.seen.clone();
    }

    fn back_up(&mut self, number: usize) {
        let site = &mut self.sites[number];
        if let Some(link) = &site.link {
            let disk = link.journal().disk.clone();
            site.backup =
                Some(Backup { disk, records: site.told.records.len(), seen: site.told.seen.clone() });
        }
    }

    /// One step of time.
    pub(crate) fn step(&mut self) {
        self.now += STEP;
        for flight in self.engine.arrived(self.now) {
            self.arrive(flight.to, flight.what);
        }
        for number in 0..self.sites.len() {
            if self.down_until[number].is_some_and(|until| self.now >= until) {
                self.start(number);
            }
            self.run_site(number);
        }
        if !self.is_calm {
            self.fate();
        }
    }

    fn run_site(&mut self, number: usize) {
        let now = self.site_now(number);
        let generation = now / 1000 / GENERATION_SECS;
        let Some(link) = &mut self.sites[number].link else { return };
        link.journal_mut().clock = now / 1000;
        link.journal_mut().set_now(generation);
        self.clients(number);
        let Some(link) = &mut self.sites[number].link else { return };
        let actions = link.tick(now);
        self.act(number, actions);
        self.read_engine(number);
        self.bury(number);
    }

    /// A site whose journal died is dead.
    fn bury(&mut self, number: usize) {
        if self.sites[number].link.as_ref().is_some_and(|link| link.journal().is_dead) {
            self.stop(number);
        }
    }

    /// Clients report and see.
    fn clients(&mut self, number: usize) {
        let random = &mut self.random;
        let site = &mut self.sites[number];
        let Some(link) = &mut site.link else { return };
        if !link.is_member() || self.is_calm {
            if link.is_member() {
                flush(link, &mut site.told);
            }
            return;
        }
        if random.once_in(4) {
            self.next_record += 1;
            // One in five takes something back.
            let verb = if random.once_in(5) { b'R' } else { b'S' };
            let record = [&[verb], self.next_record.to_le_bytes().as_slice()].concat();
            if link.journal_mut().say(record.clone()) {
                site.told.records.push((record, false));
            }
        }
        if random.once_in(3) {
            let generation = link.journal().now();
            for _ in 0..random.below(6) {
                let (key, recipients) = (random.below(KEYS), 1 + random.below(4));
                link.journal_mut().see(key, recipients);
                *site.told.pending.entry((generation, key)).or_default() += recipients;
            }
        }
        if random.once_in(3) {
            flush(link, &mut site.told);
        }
    }

    /// Reads what the engine has stored, in order.
    fn read_engine(&mut self, number: usize) {
        if self.engine.cut[number] {
            self.sites[number].fence = [None, None];
            return;
        }
        let now = self.site_now(number);
        for kind in [Kind::Records, Kind::Seen] {
            let key = self.sites[number].secret.public();
            if self.sites[number].fence[kind as usize].is_none() {
                let last =
                    self.engine.log(kind).last_of(&key).map(|(sequence, bytes)| (sequence, bytes.clone()));
                self.sites[number].fence[kind as usize] =
                    Some(last.as_ref().map_or(0, |(sequence, _)| *sequence));
                let Some(link) = &mut self.sites[number].link else { return };
                let actions = link.resume(now, kind, last.as_ref().map(|(_, bytes)| bytes.as_slice()));
                self.act(number, actions);
            }
            for _ in 0..8 {
                let Some(link) = &mut self.sites[number].link else { return };
                let place: Place = link.place(kind);
                let Some((place, bytes)) =
                    self.engine.log(kind).after(place).map(|(place, bytes)| (place, bytes.clone()))
                else {
                    break;
                };
                let actions = link.hear(now, &bytes, None);
                link.set_place(kind, place);
                self.act(number, actions);
            }
        }
    }

    fn arrive(&mut self, number: usize, what: What) {
        if self.engine.cut[number] {
            return;
        }
        let now = self.site_now(number);
        let is_garbled = !self.is_calm && self.random.once_in(200);
        let Some(link) = &mut self.sites[number].link else { return };
        let actions = match what {
            What::Bytes(mut bytes, reply) => {
                if is_garbled && !bytes.is_empty() {
                    let place = self.random.below(bytes.len() as u64) as usize;
                    bytes[place] ^= 1 << self.random.below(8);
                }
                link.hear(now, &bytes, reply.map(|reply| ReplyTo(reply as u64)))
            }
            What::Published(ticket, outcome) => link.published(now, ticket, outcome),
            What::Object(site, name, bytes) => link.object(now, site, &name, bytes),
        };
        self.act(number, actions);
        self.bury(number);
    }

    fn index_of(&self, key: &SiteKey) -> Option<usize> {
        self.sites.iter().position(|site| site.secret.public() == *key)
    }

    /// Does what a site asks for.
    fn act(&mut self, number: usize, actions: Vec<Action>) {
        let (now, key) = (self.now, self.sites[number].secret.public());
        for action in actions {
            if let Action::Note(note) = &action {
                let text = &note.text;
                self.notes.push(format!("{:>6} site{number}: {text}", (now - BEGINNING) / 100));
                continue;
            }
            if self.engine.cut[number] {
                if let Action::Publish { ticket, .. } = action {
                    // Its own engine's client tells it that nobody answers.
                    self.engine.flights.push(crate::engine::Flight {
                        at: now + 1000,
                        to: number,
                        what: What::Published(ticket, Published::Failed),
                    });
                }
                continue;
            }
            match action {
                Action::Publish { ticket, kind, bytes } => self.publish(number, ticket, kind, bytes),
                Action::Beat(bytes) => {
                    for other in (0..self.sites.len()).filter(|other| *other != number) {
                        self.engine.send(&mut self.random, now, other, What::Bytes(bytes.clone(), None));
                    }
                }
                Action::Ask { to, bytes } => {
                    if let Some(to) = self.index_of(&to) {
                        self.engine.send(&mut self.random, now, to, What::Bytes(bytes, Some(number)));
                    }
                }
                Action::Answer { to, bytes } => {
                    self.engine.send(&mut self.random, now, to.0 as usize, What::Bytes(bytes, None));
                }
                Action::Put { name, bytes } => {
                    self.engine.objects.insert((key, name), bytes);
                }
                Action::Remove { name } => {
                    self.engine.objects.remove(&(key, name));
                }
                Action::Get { site, name } => {
                    let bytes = self.engine.objects.get(&(site, name.clone())).cloned();
                    self.engine.send(&mut self.random, now, number, What::Object(site, name, bytes));
                }
                Action::Note(_) => {}
            }
        }
    }

    fn publish(&mut self, number: usize, ticket: u64, kind: Kind, bytes: Vec<u8>) {
        let (now, key) = (self.now, self.sites[number].secret.public());
        let fence = self.sites[number].fence[kind as usize];
        let log = self.engine.log(kind);
        let last = log.last_of(&key).map(|(sequence, bytes)| (sequence, bytes.clone()));
        // The same bytes again are the same message.
        let is_again = last.as_ref().is_some_and(|(_, stored)| *stored == bytes);
        let last_sequence = last.as_ref().map_or(0, |(sequence, _)| *sequence);
        let outcome = if is_again {
            self.sites[number].fence[kind as usize] = Some(last_sequence);
            Published::Stored
        } else if fence == Some(last_sequence) {
            let sequence = log.push(key, bytes);
            self.sites[number].fence[kind as usize] = Some(sequence);
            Published::Stored
        } else {
            self.sites[number].fence[kind as usize] = Some(last_sequence);
            Published::Fenced { last: last.map(|(_, bytes)| bytes) }
        };
        let is_unheard = self.engine.loss > 0 && self.random.below(self.engine.loss) == 0;
        let outcome = if is_unheard { Published::Failed } else { outcome };
        let at = now + 1 + self.random.below(self.engine.delay + 1);
        self.engine.flights.push(crate::engine::Flight {
            at,
            to: number,
            what: What::Published(ticket, outcome),
        });
    }

    /// Something happens.
    fn fate(&mut self) {
        let count = self.sites.len() as u64;
        let number = self.random.below(count) as usize;
        match self.random.below(400) {
            0..8 => {
                // It dies at one of its next commits.
                let (after, is_written) = (1 + self.random.below(6) as u32, self.random.once_in(2));
                if let Some(link) = &mut self.sites[number].link {
                    let journal = link.journal_mut();
                    (journal.dies_in, journal.last_is_written) = (Some(after), is_written);
                }
            }
            8..11 => self.stop(number),
            11..15 => self.engine.cut[number] = true,
            15..30 => self.engine.cut[number] = false,
            30..33 => self.back_up(number),
            33 => self.restore(number, false),
            34 => self.restore(number, true),
            35..37 => {
                let lost = 1 + self.random.below(5) as usize;
                let kind = [Kind::Records, Kind::Seen][self.random.below(2) as usize];
                self.engine.log(kind).lose_end(lost);
            }
            37 => {
                let born = self.now;
                for kind in [Kind::Records, Kind::Seen] {
                    self.engine.log(kind).recreate(born);
                }
            }
            38..41 => {
                if let Some(newcomer) = self.sites.iter_mut().find(|site| !site.is_admitted) {
                    newcomer.is_admitted = true;
                    self.sign_papers();
                    self.tell_papers();
                }
            }
            _ => {}
        }
    }

    fn tell_papers(&mut self) {
        for number in 0..self.sites.len() {
            for paper in self.papers.clone() {
                self.engine.send(&mut self.random, self.now, number, What::Bytes(paper, None));
            }
        }
    }

    /// From now on nothing bad happens, and nothing new.
    pub(crate) fn calm(&mut self) {
        self.is_calm = true;
        (self.engine.loss, self.engine.repeats, self.engine.delay) = (0, false, 20);
        self.engine.cut.iter_mut().for_each(|cut| *cut = false);
        for site in &mut self.sites {
            site.is_admitted = true;
            if let Some(link) = &mut site.link {
                link.journal_mut().dies_in = None;
            }
        }
        self.sign_papers();
        self.tell_papers();
        for number in 0..self.sites.len() {
            if self.sites[number].link.is_none() {
                self.start(number);
            }
        }
    }

    /// The admin takes a site out.
    pub(crate) fn remove(&mut self, number: usize) {
        self.removed.insert(self.sites[number].secret.public());
        self.sites[number].is_admitted = false;
        self.sign_papers();
        self.tell_papers();
    }
}

/// Journals what was counted, and what clients may rely on then.
fn flush(link: &mut Link<Double>, told: &mut Told) {
    if link.journal_mut().journal_gains() {
        for (place, recipients) in std::mem::take(&mut told.pending) {
            *told.seen.entry(place).or_default() += recipients;
        }
    }
}
