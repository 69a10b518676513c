//! Sites, a broker between them, and a fate that comes from a seed.

use std::collections::BTreeSet;

use seenit_link::store::{Read, Store, StoreError};
use seenit_link::{Action, BrokerState, BrokerStream, Link, LocalCaps, Millis, Published, ReplyTo, Ticket};
use seenit_sites::key::{AdminSecret, SiteKey, SiteSecret};
use seenit_sites::manifest::{HashKey, Manifest, ManifestTerms};
use seenit_sites::message::Stream;
use seenit_sites::number::{Generation, Incarnation};
use seenit_sites::roster::{Caps, Member, Roster};

use crate::broker::{Broker, Flight, What};
use crate::double::{Disk, Double, Fate, Said};
use crate::random::Random;
use crate::site::{Backup, Faults, Process, Running, SimSite, Told};

/// Seconds of a generation: the shortest, so that a run sees several.
pub(crate) const GENERATION_SECS: u64 = 60;

/// When the story begins, in milliseconds since the Unix epoch: near the end of a generation.
const BEGINNING: u64 = 1_800_000_040_000;

/// Milliseconds between ticks.
const STEP: u64 = 200;

/// The keys that are seen.
pub(crate) const KEYS: u64 = 40;

/// Everything.
pub(crate) struct World {
    pub(crate) random: Random,
    pub(crate) now: u64,
    pub(crate) broker: Broker,
    pub(crate) sites: Vec<SimSite>,
    /// Those of sites come first, in order; then copies.
    pub(crate) processes: Vec<Process>,
    admin: AdminSecret,
    pub(crate) roster: Roster,
    documents: Vec<Vec<u8>>,
    next_record: u64,
    pub(crate) notes: Vec<String>,
    pub(crate) is_calm: bool,
    pub(crate) removed: BTreeSet<SiteKey>,
    /// What may happen in this run. Some faults together nobody can make good: what has expired at the site that said
    /// it and is undone there, or what a copy said and the broker forgot while those who hold it were away.
    faults: Faults,
}

impl World {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let count = 3 + random.below(2) as usize;
        let admin = AdminSecret::from_bytes([7; 32]);
        let site = |number: usize, skew: i64| SimSite {
            secret: SiteSecret::from_bytes([number as u8 + 1; 32]),
            backup: None,
            told: Told::default(),
            // The last one comes later.
            is_admitted: number + 1 < count,
            // One of them is not believed far.
            seen_cap: if number == 1 { 2 } else { 1_000_000 },
            skew,
        };
        let sites: Vec<SimSite> =
            (0..count).map(|number| site(number, random.below(4000) as i64 - 2000)).collect();
        let roster = Roster::sign(&admin, 1, Vec::new()).expect("a roster");
        let broker = Broker {
            loss: [0, 30, 8][random.below(3) as usize],
            repeats: random.once_in(2),
            delay: [20, 300, 2500][random.below(3) as usize],
            cut: vec![false; count],
            ..Broker::default()
        };
        let mut world = World {
            random,
            now: BEGINNING,
            broker,
            sites,
            processes: (0..count).map(|site| Process::new(site, Disk::default())).collect(),
            admin,
            roster,
            documents: Vec::new(),
            next_record: 0,
            notes: Vec::new(),
            is_calm: false,
            removed: BTreeSet::new(),
            faults: Faults::ALL[seed as usize % 3],
        };
        world.sign_documents();
        (0..count).for_each(|number| world.start(number));
        world
    }

    /// The admin signs who belongs to the network, and seals the key to them.
    fn sign_documents(&mut self) {
        let member = |(number, site): (usize, &SimSite)| Member {
            site: site.secret.public(),
            sealing: site.secret.sealing().public(),
            name: format!("site{number}").parse().expect("a name"),
            caps: Caps { spam: 10, ham: 10, seen: site.seen_cap },
        };
        let admitted = self.sites.iter().enumerate().filter(|(_, site)| site.is_admitted);
        let members: Vec<Member> = admitted.map(member).collect();
        let version = self.roster.version + 1;
        self.roster = Roster::sign(&self.admin, version, members).expect("a roster");
        let terms = ManifestTerms { first_generation: Generation(0), generation_secs: GENERATION_SECS };
        let (once, key) = ([version as u8; 32], HashKey::from_bytes([9; 16]));
        let manifest = Manifest::sign(&self.admin, version, terms, &self.roster, &key, once);
        let manifest = manifest.expect("a manifest");
        self.documents = vec![self.roster.bytes.to_vec(), manifest.bytes.to_vec()];
    }

    fn send_documents(&mut self) {
        for number in 0..self.processes.len() {
            for document in self.documents.clone() {
                self.broker.send(&mut self.random, self.now, number, What::Bytes(document, None));
            }
        }
    }

    fn time_of(&self, number: usize) -> u64 {
        self.now.saturating_add_signed(self.sites[self.processes[number].site].skew)
    }

    /// The store and the link of a process that runs.
    pub(crate) fn running(&self, number: usize) -> Option<&Running> {
        self.processes[number].running.as_ref()
    }

    fn start(&mut self, number: usize) {
        let now = self.time_of(number);
        let process = &mut self.processes[number];
        let secret = self.sites[process.site].secret.clone();
        let Some(mut disk) = process.disk.take() else { return };
        if disk.commits < process.mark && disk.terms.is_some() {
            // The mark beside the journal says that it lost its end: a new incarnation begins, without asking anybody.
            let id = Incarnation((now / 1000).max(disk.said.last().map_or(0, |said| said.id.0 + 1)));
            disk.said.push(Said { id, ..Said::default() });
        }
        process.mark = 0;
        let store = Double::open(secret.public(), disk, now / 1000, GENERATION_SECS);
        let loaded = store.load().expect("it loads");
        let mut link = Link::open(loaded, secret, self.admin.public(), LocalCaps::new(), Millis(now));
        link.broker(Millis(now), BrokerState::Up);
        process.running = Some(Running { link, store, reads: Vec::new(), needs_reload: false });
        (process.fence, process.down_until) = ([None, None], None);
        process.inbox.clear();
        for document in self.documents.clone() {
            self.broker.send(&mut self.random, self.now, number, What::Bytes(document, None));
        }
    }

    /// The process ends, now. What was not journalled is gone.
    fn stop(&mut self, number: usize) {
        let process = &mut self.processes[number];
        if let Some(running) = process.running.take() {
            process.disk = Some(running.store.disk.into_inner());
            process.down_until = Some(self.now + 500 + self.random.below(8000));
            if number < self.sites.len() {
                self.sites[number].told.pending.clear();
            }
        }
    }

    /// Puts an older copy of the folder back: with the mark beside it, or without.
    fn restore(&mut self, number: usize, is_noticed: bool) {
        self.stop(number);
        let site = &mut self.sites[number];
        let Some(backup) = &site.backup else { return };
        self.processes[number].mark = if is_noticed { u64::MAX } else { 0 };
        self.processes[number].disk = Some(backup.disk.clone());
        site.told.was_disturbed = true;
        for (_, is_undone) in site.told.records.iter_mut().skip(backup.records) {
            *is_undone = true;
        }
        site.told.seen = backup.seen.clone();
        self.tell(number, "an older copy of its folder is put back");
    }

    fn back_up(&mut self, number: usize) {
        // What a site that is fenced has in its folder contradicts what its copy says: no backup is made of it.
        let is_copied = self.processes.iter().skip(self.sites.len()).any(|one| one.site == number);
        if let Some(running) = self.processes[number].running.as_ref().filter(|_| !is_copied) {
            let (disk, told) = (running.store.disk.borrow().clone(), &self.sites[number].told);
            let (records, seen) = (told.records.len(), told.seen.clone());
            self.sites[number].backup = Some(Backup { disk, records, seen });
        }
    }

    /// A copy of the folder runs as well.
    fn copy(&mut self, number: usize) {
        let has_copy =
            self.processes.iter().skip(self.sites.len()).any(|one| one.site == number && one.is_there());
        let Some(running) = self.processes[number].running.as_ref().filter(|_| !has_copy) else { return };
        let disk = running.store.disk.borrow().clone();
        self.sites[number].told.was_disturbed = true;
        self.processes.push(Process::new(number, disk));
        self.broker.cut.push(false);
        self.start(self.processes.len() - 1);
        self.tell(number, "a copy of its folder runs");
    }

    /// Somebody stops a copy, and restarts the site.
    fn end_copy(&mut self, copy: usize) {
        let number = self.processes[copy].site;
        self.processes[copy].running = None;
        self.processes[copy].disk = None;
        self.stop(number);
        self.tell(number, "the copy of its folder is stopped");
    }

    fn tell(&mut self, number: usize, what: &str) {
        self.notes.push(format!("{:>6} site{number}: {what}", (self.now - BEGINNING) / 100));
    }

    /// One step of time.
    pub(crate) fn step(&mut self) {
        self.now += STEP;
        for flight in self.broker.arrived(self.now) {
            if self.processes[flight.to].running.is_some() && !self.broker.cut[flight.to] {
                self.processes[flight.to].inbox.push(flight.what);
            }
        }
        for number in 0..self.processes.len() {
            if self.processes[number].down_until.is_some_and(|until| self.now >= until) {
                self.start(number);
            }
            self.run(number);
        }
        if !self.is_calm {
            self.fate();
        }
    }

    /// One drain of a process, as the driver of a server has it.
    fn run(&mut self, number: usize) {
        let now = self.time_of(number);
        let Some(running) = &mut self.processes[number].running else { return };
        running.store.clock_secs = now / 1000;
        self.clients(number);
        let inbox = std::mem::take(&mut self.processes[number].inbox);
        inbox.into_iter().for_each(|what| self.arrive(number, what));
        self.read_broker(number);
        let (is_late, seed) = (self.random.once_in(3), self.random.next());
        let Some(running) = &mut self.processes[number].running else { return };
        running.finish_reads(Millis(now), self.now);
        if running.needs_reload && !running.store.is_dead() {
            if is_late && !self.is_calm {
                return;
            }
            running.link.reload(Millis(now), running.store.load().expect("it loads"));
            running.needs_reload = false;
        }
        running.link.tick(Millis(now), &running.store.own());
        let batch = running.link.take_batch();
        if !batch.is_empty() {
            match running.store.commit(batch) {
                Ok(outcome) => running.link.committed(Millis(now), outcome),
                Err(error) => {
                    running.link.failed(Millis(now), &error);
                    running.needs_reload = true;
                }
            }
        }
        let (actions, is_dead) = (running.link.take_actions(), running.store.is_dead());
        if is_dead {
            return self.stop(number);
        }
        self.act(number, actions, Random(seed));
    }

    /// Clients report and see.
    fn clients(&mut self, number: usize) {
        let is_calm = self.is_calm;
        let (random, process) = (&mut self.random, &mut self.processes[number]);
        let is_copy = number >= self.sites.len();
        let told = &mut self.sites[process.site].told;
        let Some(running) = &mut process.running else { return };
        if !running.link.is_member() || running.store.disk.borrow().terms.is_none() {
            return;
        }
        let mut of_copy = Told::default();
        let told = if is_copy { &mut of_copy } else { told };
        if !is_calm && random.once_in(4) {
            self.next_record += 1;
            let record = [b"S".as_slice(), &self.next_record.to_le_bytes()].concat();
            if running.store.say(record.clone()) {
                told.records.push((record, false));
            }
        }
        if !is_calm && random.once_in(3) {
            let generation = running.store.generation();
            for _ in 0..random.below(6) {
                let (key, recipients) = (random.below(KEYS), 1 + random.below(4));
                running.store.see(key, recipients);
                *told.pending.entry((generation, key)).or_default() += recipients;
            }
        }
        if is_calm || random.once_in(3) {
            let is_durable = running.store.flush();
            for (place, recipients) in std::mem::take(&mut told.pending) {
                // What failed may be durable all the same; nobody was told so.
                if is_durable {
                    *told.seen.entry(place).or_default() += recipients;
                }
            }
        }
        if self.faults.expire && !is_calm && random.once_in(40) {
            running.store.expire(Stream::Records, 6);
            running.store.expire(Stream::Sightings { generation: running.store.generation() }, 3);
            let disk = running.store.disk.borrow();
            let said = disk.said.last().expect("there is one");
            self.sites[process.site]
                .told
                .gone
                .extend(said.gone.iter().map(|(stream, gone)| ((said.id, *stream), *gone)));
        }
    }

    /// Reads what the broker has stored, in order.
    fn read_broker(&mut self, number: usize) {
        let now = Millis(self.time_of(number));
        let process = &mut self.processes[number];
        if self.broker.cut[number] {
            process.fence = [None, None];
            return;
        }
        let Some(running) = &mut process.running else { return };
        let key = self.sites[process.site].secret.public();
        let checker = running.link.checker();
        for kind in BrokerStream::ALL {
            let log = self.broker.log(kind);
            if process.fence[kind as usize].is_none() {
                let last = log.last_of(&key);
                process.fence[kind as usize] = Some(last.map_or(0, |(sequence, _)| sequence));
                running.link.resume(now, kind, last.map(|(_, bytes)| bytes.as_slice()));
            }
            for _ in 0..8 {
                let Some((place, bytes)) = log.after(running.link.place(kind)) else { break };
                running.link.hear_checked(now, checker.check(bytes), None);
                running.link.set_place(kind, place);
            }
        }
    }

    fn arrive(&mut self, number: usize, what: What) {
        let now = Millis(self.time_of(number));
        let is_garbled = !self.is_calm && self.random.once_in(200);
        let Some(Running { link, .. }) = &mut self.processes[number].running else { return };
        match what {
            What::Bytes(mut bytes, reply) => {
                if is_garbled && !bytes.is_empty() {
                    let place = self.random.below(bytes.len() as u64) as usize;
                    bytes[place] ^= 1 << self.random.below(8);
                }
                link.hear(now, &bytes, reply.map(|reply| ReplyTo(reply as u64)));
            }
            What::Published(ticket, outcome) => link.published(now, ticket, outcome),
            What::Object(site, name, bytes) => link.object(now, site, &name, bytes),
        }
    }

    /// Does what a process asks for.
    fn act(&mut self, number: usize, actions: Vec<Action>, mut fate: Random) {
        let (now, key) = (self.now, self.sites[self.processes[number].site].secret.public());
        for action in actions {
            match action {
                Action::Note(note) => self.tell(self.processes[number].site, &note.text),
                Action::Read { ticket, read } => self.read(number, ticket, &read, &mut fate),
                Action::Publish { ticket, .. } if self.broker.cut[number] => {
                    // Its own client says that nobody answers.
                    let what = What::Published(ticket, Published::Failed { why: "nobody answers".into() });
                    self.broker.flights.push(Flight { at: now + 1000, to: number, what });
                }
                _ if self.broker.cut[number] => {}
                Action::Publish { ticket, kind, bytes } => self.publish(number, ticket, kind, bytes),
                Action::Heartbeat(bytes) => {
                    for other in (0..self.processes.len()).filter(|other| *other != number) {
                        self.broker.send(&mut self.random, now, other, What::Bytes(bytes.clone(), None));
                    }
                }
                Action::Ask { to, bytes } => {
                    let sites = self.processes.iter().map(|one| self.sites[one.site].secret.public());
                    let there: Vec<usize> =
                        sites.enumerate().filter(|(_, site)| *site == to).map(|(place, _)| place).collect();
                    for to in there.into_iter().filter(|to| *to != number) {
                        self.broker.send(&mut self.random, now, to, What::Bytes(bytes.clone(), Some(number)));
                    }
                }
                Action::Answer { to, bytes } => {
                    self.broker.send(&mut self.random, now, to.0 as usize, What::Bytes(bytes, None));
                }
                Action::Put { name, bytes } => {
                    self.broker.objects.insert((key, name), bytes);
                }
                Action::Remove { name } => {
                    self.broker.objects.remove(&(key, name));
                }
                Action::Get { site, name } => {
                    let bytes = self.broker.objects.get(&(site, name.clone())).cloned();
                    self.broker.send(&mut self.random, now, number, What::Object(site, name, bytes));
                }
            }
        }
    }

    /// Reads are done late, in any order, or never; and some fail.
    fn read(&mut self, number: usize, ticket: Ticket, read: &Read, fate: &mut Random) {
        let (now, is_calm) = (self.now, self.is_calm);
        let Some(running) = &mut self.processes[number].running else { return };
        let done = match fate.below(30) {
            0 if !is_calm => Err(StoreError::new("reading", "a bad sector")),
            1 if !is_calm => return,
            _ => running.store.read(read),
        };
        let delay = if is_calm || fate.once_in(2) { 0 } else { fate.below(3000) };
        running.reads.push((now + delay, ticket, done));
    }

    fn publish(&mut self, number: usize, ticket: Ticket, kind: BrokerStream, bytes: Vec<u8>) {
        let (now, key) = (self.now, self.sites[self.processes[number].site].secret.public());
        let fence = &mut self.processes[number].fence[kind as usize];
        let log = self.broker.log(kind);
        let last = log.last_of(&key).map(|(sequence, bytes)| (sequence, bytes.clone()));
        // The same bytes again are the same message.
        let is_again = last.as_ref().is_some_and(|(_, stored)| *stored == bytes);
        let last_sequence = last.as_ref().map_or(0, |(sequence, _)| *sequence);
        let outcome = if is_again {
            *fence = Some(last_sequence);
            Published::Stored
        } else if *fence == Some(last_sequence) {
            *fence = Some(log.push(key, bytes));
            Published::Stored
        } else {
            *fence = Some(last_sequence);
            Published::Fenced { last: last.map(|(_, bytes)| bytes) }
        };
        let is_unheard = self.broker.loss > 0 && self.random.below(self.broker.loss) == 0;
        let outcome = if is_unheard { Published::Failed { why: "lost".into() } } else { outcome };
        let at = now + 1 + self.random.below(self.broker.delay + 1);
        self.broker.flights.push(Flight { at, to: number, what: What::Published(ticket, outcome) });
    }

    /// Something happens.
    fn fate(&mut self) {
        let number = self.random.below(self.sites.len() as u64) as usize;
        for copy in self.sites.len()..self.processes.len() {
            if self.processes[copy].is_there() && self.random.once_in(50) {
                self.end_copy(copy);
            }
        }
        match self.random.below(400) {
            fate @ 0..16 => {
                // One of its next commits fails, and perhaps the process dies of it.
                let (fails_in, durable) = (Some(1 + self.random.below(6) as u32), self.random.below(3) as u8);
                if let Some(running) = &self.processes[number].running {
                    *running.store.fate.borrow_mut() = Fate { fails_in, is_deadly: fate < 8, durable };
                }
            }
            16..19 => self.stop(number),
            19..23 => self.broker.cut[number] = true,
            23..38 => self.broker.cut[number] = false,
            38..41 => self.back_up(number),
            41 if self.faults.put_back => self.restore(number, false),
            42 if self.faults.put_back => self.restore(number, true),
            43..45 if self.faults.broker_forgets => {
                let lost = 1 + self.random.below(5) as usize;
                let kind = BrokerStream::ALL[self.random.below(2) as usize];
                self.broker.log(kind).lose_end(lost);
                self.notes
                    .push(format!("{:>6} the broker loses {lost} of {kind:?}", (self.now - BEGINNING) / 100));
            }
            45 if self.faults.broker_forgets => {
                let born = self.now;
                BrokerStream::ALL.into_iter().for_each(|kind| self.broker.log(kind).recreate(born));
                self.notes.push(format!("{:>6} the broker forgets all", (self.now - BEGINNING) / 100));
            }
            46..49 => {
                if let Some(newcomer) = self.sites.iter_mut().find(|site| !site.is_admitted) {
                    newcomer.is_admitted = true;
                    self.sign_documents();
                    self.send_documents();
                }
            }
            49 if self.faults.copy => self.copy(number),
            50 => self.sites[number].skew -= self.random.below(3000) as i64,
            _ => {}
        }
    }

    /// From now on nothing bad happens, and nothing new.
    pub(crate) fn calm(&mut self) {
        self.is_calm = true;
        (self.broker.loss, self.broker.repeats, self.broker.delay) = (0, false, 20);
        self.broker.cut.iter_mut().for_each(|cut| *cut = false);
        for copy in self.sites.len()..self.processes.len() {
            if self.processes[copy].is_there() {
                self.end_copy(copy);
            }
        }
        self.sites.iter_mut().for_each(|site| site.is_admitted = true);
        for running in self.processes.iter_mut().filter_map(|one| one.running.as_mut()) {
            running.store.fate.borrow_mut().fails_in = None;
        }
        self.sign_documents();
        self.send_documents();
    }

    /// The admin takes a site out.
    pub(crate) fn remove(&mut self, number: usize) {
        self.removed.insert(self.sites[number].secret.public());
        self.sites[number].is_admitted = false;
        self.sign_documents();
        self.send_documents();
    }

    /// The admin admits it again.
    pub(crate) fn admit(&mut self, number: usize) {
        self.removed.remove(&self.sites[number].secret.public());
        self.sites[number].is_admitted = true;
        self.sign_documents();
        self.send_documents();
    }
}
