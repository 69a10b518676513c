//! Probes: signatures whose time is taken, from when one site is told until the others know.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use seenit_ledger::{Case, Verdict};
use seenit_server::Running;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(2);
/// How long after the end it is still waited for probes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A signature that was told.
struct Probe {
    when: Instant,
    case: Case,
}

/// What was told, and where.
type Told = (&'static str, usize);

#[derive(Default)]
struct State {
    /// Those that are not known everywhere, in the order in which they were told.
    waiting: BTreeMap<Told, VecDeque<Probe>>,
    /// Milliseconds until all knew.
    took: BTreeMap<&'static str, Vec<f64>>,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Probes {
    state: Mutex<State>,
    is_over: AtomicBool,
}

impl Probes {
    /// A signature that a site is just being told.
    pub(crate) fn add(&self, name: &'static str, told_at: usize, case: &Case) {
        let probe = Probe { when: Instant::now(), case: case.clone() };
        self.state().waiting.entry((name, told_at)).or_default().push_back(probe);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No more come.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// Looks until all sites know all of them. What one site tells becomes known in the order in which it was told, so
    /// only the first that waits is looked at: looking at all would take the time that the sites need. One that is
    /// known before its turn counts as late.
    pub(crate) fn watch(&self, sites: &[Running]) {
        let mut since_end = None;
        loop {
            let is_done = self.look(sites);
            if self.is_over.load(Relaxed) {
                let since = since_end.get_or_insert_with(Instant::now);
                if is_done || since.elapsed() > PATIENCE {
                    return;
                }
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Takes the time of those that are known; whether none waits.
    fn look(&self, sites: &[Running]) -> bool {
        let state = &mut *self.state();
        for (told, waiting) in &mut state.waiting {
            let took = state.took.entry(told.0).or_default();
            while let Some(probe) = waiting.front().filter(|probe| is_known(*told, &probe.case, sites)) {
                took.push(probe.when.elapsed().as_secs_f64() * 1000.0);
                waiting.pop_front();
            }
        }
        state.waiting.values().all(VecDeque::is_empty)
    }

    /// The times of one kind in milliseconds, sorted; what never arrived took for ever.
    pub(crate) fn times(&self, name: &str) -> Vec<f64> {
        let state = self.state();
        let waiting = state.waiting.iter().filter(|(told, _)| told.0 == name);
        let lost: usize = waiting.map(|(_, waiting)| waiting.len()).sum();
        let mut times = state.took.get(name).cloned().unwrap_or_default();
        times.sort_by(f64::total_cmp);
        times.extend(std::iter::repeat_n(f64::INFINITY, lost));
        times
    }
}

fn is_known((name, told_at): Told, case: &Case, sites: &[Running]) -> bool {
    let Some(signature) = case.iter().next() else { return false };
    let knows = |site: &Running| match name {
        "seen" => site.ledger().sightings(signature).recipients > 0,
        _ => site.ledger().check(case).verdict == Verdict::Spam,
    };
    sites.iter().enumerate().all(|(number, site)| number == told_at || knows(site))
}
