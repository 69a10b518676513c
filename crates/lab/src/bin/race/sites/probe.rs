//! Probes: signatures whose time is taken, from when one site is told until the others know.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use seenit_ledger::{Case, Verdict};
use seenit_server::Running;

/// How often it is looked.
const LOOK: Duration = Duration::from_millis(2);
/// How long after the end it is still waited for probes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A signature that was told.
struct Probe {
    name: &'static str,
    told_at: usize,
    when: Instant,
    case: Case,
    /// Milliseconds until all knew.
    took: Option<f64>,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Probes {
    all: Mutex<Vec<Probe>>,
    is_over: AtomicBool,
}

impl Probes {
    /// A signature that a site is just being told.
    pub(crate) fn add(&self, name: &'static str, told_at: usize, case: &Case) {
        let probe = Probe { name, told_at, when: Instant::now(), case: case.clone(), took: None };
        self.all.lock().unwrap_or_else(PoisonError::into_inner).push(probe);
    }

    /// No more come.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Relaxed);
    }

    /// Looks until all sites know all of them.
    pub(crate) fn watch(&self, sites: &[Running]) {
        let (mut done, mut since_end) = (0, None);
        loop {
            let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
            for probe in all.iter_mut().skip(done).filter(|probe| probe.took.is_none()) {
                if is_known(probe, sites) {
                    probe.took = Some(probe.when.elapsed().as_secs_f64() * 1000.0);
                }
            }
            done += all.iter().skip(done).take_while(|probe| probe.took.is_some()).count();
            let is_done = done == all.len();
            drop(all);
            if self.is_over.load(Relaxed) {
                let since = since_end.get_or_insert_with(Instant::now);
                if is_done || since.elapsed() > PATIENCE {
                    return;
                }
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The times of one kind in milliseconds, sorted; what never arrived took for ever.
    pub(crate) fn times(&self, name: &str) -> Vec<f64> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let of_kind = all.iter().filter(|probe| probe.name == name);
        let mut times: Vec<f64> = of_kind.map(|probe| probe.took.unwrap_or(f64::INFINITY)).collect();
        times.sort_by(f64::total_cmp);
        times
    }
}

fn is_known(probe: &Probe, sites: &[Running]) -> bool {
    let others = sites.iter().enumerate().filter(|(number, _)| *number != probe.told_at);
    let mut signatures = probe.case.iter();
    let Some(signature) = signatures.next() else { return false };
    let knows = |site: &Running| match probe.name {
        "seen" => site.ledger().sightings(signature).recipients > 0,
        _ => site.ledger().check(&probe.case).verdict == Verdict::Spam,
    };
    others.into_iter().all(|(_, site)| knows(site))
}
