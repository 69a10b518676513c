//! How many checks came to which verdict, by the protocol they came in.

use std::array;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use seenit_ledger::verdict::Verdict;

use super::Labels;

/// A way in which checks come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrontEnd {
    Http,
    Pyzor,
    Razor,
    Dcc,
    Fuzzy,
}

impl FrontEnd {
    /// Its name, in metrics and in the log.
    pub(crate) fn as_str(self) -> &'static str {
        FRONT_ENDS[self as usize]
    }
}

/// Their names, in the order of [`FrontEnd`].
const FRONT_ENDS: [&str; 5] = ["http", "pyzor", "razor", "dcc", "fuzzy"];

/// The names of verdicts as labels, in the order of [`Verdict::code`].
const VERDICTS: [&str; 5] = ["unknown", "spam", "bulk", "ham", "no-opinion"];

/// A counter for each front end and verdict, made beforehand: a check only adds to one of them.
pub(crate) struct Verdicts([[Counter; VERDICTS.len()]; FRONT_ENDS.len()]);

impl Verdicts {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let family = Family::<Labels, Counter>::default();
        registry.register("verdicts", "Checks by protocol and verdict", family.clone());
        let counter = |front_end: usize, verdict: usize| {
            let protocol = ("protocol", FRONT_ENDS[front_end].to_owned());
            family.get_or_create(&vec![protocol, ("verdict", VERDICTS[verdict].to_owned())]).clone()
        };
        Verdicts(array::from_fn(|front_end| array::from_fn(|verdict| counter(front_end, verdict))))
    }

    /// Counts the verdict of a check.
    pub(crate) fn count(&self, front_end: FrontEnd, verdict: Verdict) {
        self.0[front_end as usize][usize::from(verdict.code())].inc();
    }

    /// Counts many of them, each counter once.
    pub(crate) fn count_all(&self, front_end: FrontEnd, verdicts: impl Iterator<Item = Verdict>) {
        let mut numbers = [0; VERDICTS.len()];
        verdicts.for_each(|verdict| numbers[usize::from(verdict.code())] += 1);
        for (counter, number) in
            self.0[front_end as usize].iter().zip(numbers).filter(|(_, number)| *number > 0)
        {
            counter.inc_by(number);
        }
    }
}
