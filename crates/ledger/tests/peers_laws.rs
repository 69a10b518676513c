//! Whatever own reporters and peers said in whatever order, and whoever came and went: memory says what a naive
//! reading of it says, from a snapshot, from a replay after a kill, and from a rebuild; and once all peers are gone it
//! says what a ledger says that never heard them.

mod common;

use std::collections::BTreeMap;

use common::*;
use proptest::prelude::*;
use seenit_ledger::{Answer, Case, Ledger, LedgerConfig, ReporterId, Verb, Write};
use seenit_link::store::{LinkBatch, PeerSite};

/// Generations that records are kept in this test.
const KEPT: u64 = 3;

/// Signatures, and texts, that are spoken of.
const SIGNATURES: u64 = 3;
const TEXTS: u64 = 2;

/// Weights of own reporters, and of those of each peer.
const WEIGHTS: [u8; 3] = [10, 6, 4];

/// The units of a shingle from which it is known, and how clearly they must exceed the others.
const UNITS_MIN: u32 = 2;
const RATIO: u32 = 4;

/// Who may be a peer, with which caps: not at all, little, much.
fn table(standing: [usize; 2]) -> Vec<PeerSite> {
    let caps = [None, Some((12, 4, 10)), Some((500, 500, 1_000_000))];
    let peers = [1, 2].into_iter().zip(standing);
    peers.filter_map(|(slot, of)| caps[of].map(|(spam, ham, seen)| peer(slot, spam, ham, seen))).collect()
}

/// What somebody says: `slot` 0 is an own reporter; peers may speak of days ago.
#[derive(Clone, Debug)]
struct Said {
    slot: u16,
    reporter: usize,
    verb: Verb,
    thing: u64,
    days_ago: u64,
}

#[derive(Clone, Debug)]
enum Step {
    Say(Vec<Said>),
    Day,
    Snapshot,
    Peers([usize; 2]),
    /// A kill and a start.
    Kill,
}

fn said() -> impl Strategy<Value = Said> {
    let verb = prop_oneof![
        5 => Just(Verb::Report), 3 => Just(Verb::Revoke), 2 => Just(Verb::Withdraw), 1 => Just(Verb::Many),
        1 => Just(Verb::Forget), 1 => Just(Verb::Protect)
    ];
    (0..3u16, 0..WEIGHTS.len(), verb, 0..SIGNATURES + TEXTS, 0..4u64)
        .prop_map(|(slot, reporter, verb, thing, days_ago)| Said { slot, reporter, verb, thing, days_ago })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        12 => prop::collection::vec(said(), 1..5).prop_map(Step::Say),
        2 => Just(Step::Day),
        1 => Just(Step::Snapshot),
        2 => [0..3usize, 0..3usize].prop_map(Step::Peers),
        1 => Just(Step::Kill),
    ];
    prop::collection::vec(step, 1..40)
}

fn thing(number: u64) -> Case {
    if number < SIGNATURES { exact(number) } else { near(number, 0) }
}

/// Whose word a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Account(usize),
    Many,
    Forget,
    Protect,
}

/// One word that was said: of which day, by whom, of what.
struct Word {
    day: u64,
    slot: u16,
    whose: Whose,
    thing: u64,
    verb: Verb,
    weight: u8,
}

#[derive(Default)]
struct Naive {
    day: u64,
    words: Vec<Word>,
    peers: Vec<PeerSite>,
}

/// Weights, raw totals, and marks: many, forgotten, protected.
#[derive(Debug, Default, PartialEq, Eq)]
struct Says {
    weights: (u32, u32),
    raw: (u32, u32),
    marks: [bool; 3],
}

impl Naive {
    fn hear(&mut self, said: &Said) {
        let Said { slot, reporter, verb, thing, days_ago } = *said;
        let own = slot == 0;
        let back = if own { 0 } else { days_ago };
        if back >= KEPT || (!own && self.peers.iter().all(|peer| peer.slot.0 != slot)) {
            return;
        }
        let is_text = thing >= SIGNATURES;
        // A site's own protection is a mark that does not age. A peer's is a revocation.
        let verb = if verb == Verb::Protect && !own { Verb::Revoke } else { verb };
        if is_text && matches!(verb, Verb::Many | Verb::Forget) {
            return;
        }
        let whose = match verb {
            Verb::Protect => Whose::Protect,
            Verb::Many => Whose::Many,
            Verb::Forget => Whose::Forget,
            _ if is_text && !own => Whose::Account(usize::MAX),
            _ => Whose::Account(reporter),
        };
        // Clocks of tests begin at a later day than zero.
        let day = match verb {
            Verb::Protect => u64::MAX,
            Verb::Forget => self.day + 10,
            _ => self.day + 10 - back,
        };
        // Shingles are as good as the weightiest who protects them says.
        let protects = |word: &&Word| word.whose == Whose::Protect && word.thing == thing;
        let protected = self.words.iter().filter(protects).map(|word| word.weight).max();
        let is_protection = whose == Whose::Protect;
        let weight = WEIGHTS[reporter].max(protected.filter(|_| is_protection).unwrap_or(0));
        if verb == Verb::Forget {
            self.words.push(Word { day, slot, whose: Whose::Many, thing, verb: Verb::Withdraw, weight });
        }
        self.words.push(Word { day, slot, whose, thing, verb, weight });
    }

    /// Points and raw totals of a signature, units of a text.
    fn counted(&self, thing: u64) -> Says {
        let (mut says, mut last) = (Says::default(), BTreeMap::new());
        for (order, word) in self.words.iter().enumerate().filter(|(_, word)| word.thing == thing) {
            let is_counted = word.slot == 0 || self.peers.iter().any(|peer| peer.slot.0 == word.slot);
            if !is_counted || word.day.saturating_add(KEPT) <= self.day + 10 {
                continue;
            }
            let newest = last.entry((word.slot, word.whose)).or_insert((word.day, order));
            *newest = (*newest).max((word.day, order));
            says.raw.0 += u32::from(word.verb == Verb::Report);
            says.raw.1 += u32::from(word.verb == Verb::Revoke);
        }
        let is_text = thing >= SIGNATURES;
        let mut points: BTreeMap<u16, (u32, u32)> = BTreeMap::new();
        for (&(slot, whose), &(_, order)) in &last {
            let word = &self.words[order];
            let peer = self.peers.iter().find(|peer| peer.slot.0 == slot);
            let points = points.entry(slot).or_default();
            let units = if is_text { u32::from(word.weight >= 5) } else { word.weight.into() };
            match (whose, word.verb) {
                (Whose::Many, Verb::Many) => {
                    says.marks[0] |= peer.is_none_or(|peer| peer.caps.seen >= 1_000_000);
                }
                (Whose::Forget, _) => says.marks[1] = true,
                (Whose::Protect, _) if is_text => points.1 += units,
                (Whose::Protect, _) => says.marks[2] = true,
                (_, Verb::Report) => points.0 += units,
                (_, Verb::Revoke) => points.1 += units,
                _ => {}
            }
        }
        for (slot, (spam, ham)) in points {
            let caps =
                self.peers.iter().find(|peer| peer.slot.0 == slot).map_or((u32::MAX, u32::MAX), |peer| {
                    let units = |cap| if cap < 5 { 0 } else { 1 };
                    if is_text { (units(peer.caps.spam), 0) } else { (peer.caps.spam, peer.caps.ham) }
                });
            says.weights.0 += spam.min(caps.0);
            says.weights.1 += ham.min(caps.1);
        }
        says
    }

    /// What the ledger says of a thing: of a text how many of its shingles are known.
    fn says(&self, thing: u64) -> Says {
        let says = self.counted(thing);
        if thing < SIGNATURES {
            return says;
        }
        let (spam, ham) = says.weights;
        let is_known = spam >= UNITS_MIN && spam > ham * RATIO;
        Says { weights: (if is_known { 32 } else { 0 }, 0), ..Says::default() }
    }

    /// Texts known as spam and as good, each as often as somebody gives it a unit.
    fn texts(&self) -> (u64, u64) {
        let units = (SIGNATURES..SIGNATURES + TEXTS).map(|text| self.counted(text).weights);
        units.fold((0, 0), |sum, (spam, ham)| (sum.0 + u64::from(spam), sum.1 + u64::from(ham)))
    }
}

fn says(ledger: &Ledger, number: u64) -> Says {
    let (case, mut answers) = (thing(number), [Answer::default()]);
    let signature = case.iter().next().expect("one");
    ledger.check_many(&[signature], &mut answers);
    let Answer { weight, against, raw, raw_against, many, protected, .. } = answers[0];
    let forgotten = ledger.sightings(signature).forgotten;
    Says {
        weights: (weight.into(), against.into()),
        raw: (raw.into(), raw_against.into()),
        marks: [many, forgotten, protected],
    }
}

fn compare(ledger: &Ledger, naive: &Naive, when: &str) -> Result<(), TestCaseError> {
    for number in 0..SIGNATURES + TEXTS {
        prop_assert_eq!(says(ledger, number), naive.says(number), "thing {} {}", number, when);
    }
    let stats = ledger.stats();
    prop_assert_eq!((stats.near_spam, stats.near_ham), naive.texts(), "texts {}", when);
    Ok(())
}

fn small() -> LedgerConfig {
    LedgerConfig { record_generations: KEPT, capacity: 1000, seen_capacity: 1000, ..config() }
}

/// A ledger, and how far each peer's records were heard.
struct Site {
    folder: tempfile::TempDir,
    ledger: Ledger,
    reporters: Vec<ReporterId>,
    heard: [u64; 3],
}

impl Site {
    fn say(&mut self, now: u64, all: &[Said], peers: &[PeerSite]) {
        for said in all {
            let case = thing(said.thing);
            if said.slot == 0 {
                let reporter = self.reporters[said.reporter];
                let write = Write { verb: said.verb, reporter, cases: vec![case] };
                self.ledger.write_and_wait(write).expect("durable");
            }
        }
        // What peers said comes in one batch.
        let mut batch = LinkBatch::default();
        for said in all.iter().filter(|said| peers.iter().any(|peer| peer.slot.0 == said.slot)) {
            let (weight, day) = (WEIGHTS[said.reporter], now - said.days_ago);
            let record = common::said(said.verb, said.reporter as u32 + 1, weight, day, thing(said.thing));
            let next = &mut self.heard[usize::from(said.slot)];
            *next += 1;
            batch.heard.extend(heard(said.slot, *next, vec![record]).heard);
        }
        self.ledger.commit_link(batch).expect("durable");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_is_what_was_said_and_heard(steps in steps()) {
        let (folder, hands) = (private_folder(), Hands::at(FIRST_DAY * DAY));
        let ledger = open_with(folder.path(), &hands, small());
        let reporters = WEIGHTS.iter().enumerate()
            .map(|(number, &weight)| ledger.put_reporter(&format!("r{number}"), Some(weight)).expect("durable").id)
            .collect();
        let mut site = Site { folder, ledger, reporters, heard: [0; 3] };
        let mut naive = Naive { peers: table([1, 2]), ..Naive::default() };
        site.ledger.set_peers(&naive.peers).expect("durable");
        for step in &steps {
            match step {
                Step::Say(all) => {
                    site.say(FIRST_DAY + naive.day, all, &naive.peers);
                    let (own, heard): (Vec<&Said>, Vec<&Said>) = all.iter().partition(|said| said.slot == 0);
                    own.into_iter().chain(heard).for_each(|said| naive.hear(said));
                }
                Step::Day => {
                    hands.pass(DAY);
                    settle(&site.ledger);
                    naive.day += 1;
                }
                Step::Snapshot => site.ledger.snapshot().expect("a snapshot"),
                Step::Peers(standing) => {
                    naive.peers = table(*standing);
                    let is_there = |slot: u16| naive.peers.iter().any(|peer| peer.slot.0 == slot);
                    naive.words.retain(|word| word.slot == 0 || is_there(word.slot));
                    site.ledger.set_peers(&naive.peers).expect("durable");
                }
                Step::Kill => {
                    let killed = private_folder();
                    copy_all(site.folder.path(), killed.path());
                    let ledger = open_with(killed.path(), &hands, small());
                    (site.ledger, site.folder) = (ledger, killed);
                }
            }
        }
        compare(&site.ledger, &naive, "while running")?;
        let killed = private_folder();
        copy_all(site.folder.path(), killed.path());
        compare(&open_with(killed.path(), &hands, small()), &naive, "after a kill")?;
        let folder = site.folder;
        drop(site.ledger);
        compare(&open_with(folder.path(), &hands, small()), &naive, "after a restart")?;
        seenit_ledger::rebuild(folder.path(), small(), hands.clone(), || ()).expect("rebuilt");
        let ledger = open_with(folder.path(), &hands, small());
        compare(&ledger, &naive, "after a rebuild")?;
        ledger.set_peers(&[]).expect("durable");
        naive.peers.clear();
        compare(&ledger, &naive, "without peers")?;
        drop(ledger);
        compare(&open_with(folder.path(), &hands, small()), &naive, "without peers, after a restart")?;
    }
}
