//! Our own rows: three layouts, one key at a time or batched, unkeyed or under the production hash.

use std::error::Error;

use seenit_filter::hash::{KeyFingerprint, KeyHasher, SipKey, Unkeyed};
use seenit_filter::{Filter, Flat, HugePages, Layout, Line, Paged, Simd};

use crate::contender::{Contender, Lap, Shape, time};
use crate::keys::{Keys, Set};

/// Keys handed over in one call by the batched rows: what a caller who reads a file or a socket has at hand.
const SLICE_KEYS: usize = 4096;

/// What our rows are made with.
#[derive(Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) keys: u64,
    pub(crate) rate: f64,
    pub(crate) simd: Simd,
    pub(crate) huge: HugePages,
}

/// How the filter is called.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    /// `insert` and `contains`, one key a call.
    Single,
    /// `insert_many` and `contains_many`.
    Batched,
}

struct Ours<L> {
    name: String,
    layout: L,
    style: Style,
    /// The production hash; `None` for the unkeyed one.
    key: Option<SipKey>,
    fingerprint: KeyFingerprint,
    setup: Setup,
}

/// All our rows. Flat has the paged layout's m and k, so that the two differ in nothing but where bits lie.
pub(crate) fn rows(setup: Setup) -> Result<Vec<Box<dyn Contender>>, Box<dyn Error>> {
    let line = Line::sized(setup.keys, setup.rate)?;
    let paged = Paged::sized(setup.keys, setup.rate)?;
    let flat = Flat::new(paged.bits(), paged.k())?;
    let mut rows: Vec<Box<dyn Contender>> = Vec::new();
    for keyed in [false, true] {
        add(&mut rows, "line", line, keyed, setup);
        add(&mut rows, "paged", paged, keyed, setup);
        add(&mut rows, "flat", flat, keyed, setup);
    }
    Ok(rows)
}

fn add<L: Layout + 'static>(
    rows: &mut Vec<Box<dyn Contender>>,
    layout_name: &str,
    layout: L,
    keyed: bool,
    setup: Setup,
) {
    for (style, suffix) in [(Style::Single, ""), (Style::Batched, "-batched")] {
        let key = keyed.then(|| SipKey::public().with_simd(setup.simd));
        let last = if keyed { "-keyed" } else { "" };
        rows.push(Box::new(Ours {
            name: format!("seenit-{layout_name}{suffix}{last}"),
            layout,
            style,
            fingerprint: key.as_ref().map_or(KeyFingerprint([0; 16]), |key| key.fingerprint()),
            key,
            setup,
        }));
    }
}

impl<L: Layout> Contender for Ours<L> {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_keyed(&self) -> bool {
        self.key.is_some()
    }

    fn round(&self, keys: &Keys) -> Result<Lap, Box<dyn Error>> {
        match &self.key {
            None => self.lap(&Unkeyed, &keys.integers),
            Some(key) => self.lap(key, keys.digests()),
        }
    }
}

impl<L: Layout> Ours<L> {
    fn lap<K, H: KeyHasher<K>>(&self, hasher: &H, set: &Set<K>) -> Result<Lap, Box<dyn Error>> {
        match self.style {
            Style::Single => time(
                set,
                |keys| self.filled(|filter| insert_singly(filter, hasher, keys)),
                |filter, keys| count_singly(filter, hasher, keys),
                shape,
            ),
            Style::Batched => time(
                set,
                |keys| self.filled(|filter| insert_batched(filter, hasher, keys)),
                |filter, keys| count_batched(filter, hasher, keys),
                shape,
            ),
        }
    }

    fn filled(&self, fill: impl FnOnce(&mut Filter<L>)) -> Result<Filter<L>, Box<dyn Error>> {
        let empty = Filter::new(self.layout, None, self.fingerprint, self.setup.huge)?;
        let mut filter = empty.with_simd(self.setup.simd);
        fill(&mut filter);
        Ok(filter)
    }
}

/// Memory counts in whole pages, as it was asked for.
fn shape<L: Layout>(filter: &Filter<L>) -> Shape {
    Shape { k: Some(filter.layout().probes() as u32), bits: filter.words().len() as u64 * 64 }
}

fn insert_singly<K, H: KeyHasher<K>, L: Layout>(filter: &mut Filter<L>, hasher: &H, keys: &[K]) {
    for key in keys {
        filter.insert(hasher.hash(key));
    }
}

fn count_singly<K, H: KeyHasher<K>, L: Layout>(filter: &Filter<L>, hasher: &H, keys: &[K]) -> u64 {
    let mut found = 0;
    for key in keys {
        found += u64::from(filter.contains(hasher.hash(key)));
    }
    found
}

fn insert_batched<K, H: KeyHasher<K>, L: Layout>(filter: &mut Filter<L>, hasher: &H, keys: &[K]) {
    for slice in keys.chunks(SLICE_KEYS) {
        filter.insert_many(hasher, slice);
    }
}

fn count_batched<K, H: KeyHasher<K>, L: Layout>(filter: &Filter<L>, hasher: &H, keys: &[K]) -> u64 {
    let mut answers = [false; SLICE_KEYS];
    let mut found = 0;
    for slice in keys.chunks(SLICE_KEYS) {
        let answers = &mut answers[..slice.len()];
        filter.contains_many(hasher, slice, answers);
        found += answers.iter().filter(|&&answer| answer).count() as u64;
    }
    found
}
