//! The eight experiments: how often each element is inserted, in which order, and into which filters.

use seenit_filter::random::SplitMix;

use crate::draw::Poisson;

/// Distinct elements of every experiment.
pub(super) const ELEMENTS: usize = 10_000;

/// How many cells a filter has, all experiments but the last.
const SIZES: &[u64] = &[80_000, 160_000, 320_000];

/// The last experiment adds two.
const MORE_SIZES: &[u64] = &[80_000, 160_000, 240_000, 320_000, 640_000];

/// Cells of an element.
pub(super) const PROBES: [u32; 3] = [4, 6, 8];

/// How often an element is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Law {
    /// All as often.
    Always(u32),
    /// From none to so often, all equally likely.
    UpTo(u32),
    /// Poisson with this mean.
    Poisson(u32),
}

impl Law {
    /// How often each element is inserted.
    pub(super) fn draw(self, rng: &mut SplitMix) -> Vec<u32> {
        match self {
            Law::Always(times) => vec![times; ELEMENTS],
            Law::UpTo(most) => (0..ELEMENTS).map(|_| rng.below(u64::from(most) + 1) as u32).collect(),
            Law::Poisson(mean) => {
                let poisson = Poisson::new(f64::from(mean));
                (0..ELEMENTS).map(|_| poisson.draw(rng) as u32).collect()
            }
        }
    }

    /// How many elements are inserted at all: the mean, and the standard deviation between draws.
    pub(super) fn inserted(self) -> (f64, f64) {
        let never = match self {
            Law::Always(_) => 0.0,
            Law::UpTo(most) => 1.0 / (f64::from(most) + 1.0),
            Law::Poisson(mean) => (-f64::from(mean)).exp(),
        };
        (ELEMENTS as f64 * (1.0 - never), (ELEMENTS as f64 * never * (1.0 - never)).sqrt())
    }

    /// A number of its own, for streams.
    pub(super) fn code(self) -> u64 {
        match self {
            Law::Always(times) => u64::from(times),
            Law::UpTo(most) => 1_000 + u64::from(most),
            Law::Poisson(mean) => 2_000 + u64::from(mean),
        }
    }

    /// Whether counts differ from draw to draw.
    pub(super) fn is_random(self) -> bool {
        !matches!(self, Law::Always(_))
    }
}

/// The order of the insertions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Each element once, and all that as often as elements are inserted.
    Passes,
    /// All insertions of an element in a row.
    InARow,
    /// All insertions shuffled.
    Shuffled,
}

/// An experiment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// 1 to 8.
    pub(super) number: u8,
    /// The table that prints it.
    pub(super) table: &'static str,
    /// The figure that shows it.
    pub(super) figure: u8,
    /// How often elements are inserted.
    pub(super) law: Law,
    /// In which order.
    pub(super) order: Order,
    /// Cells of the filters.
    pub(super) sizes: &'static [u64],
    /// The experiment whose intuitive rates are said to be its own as well.
    pub(super) intuitive_of: u8,
    /// What is done, in short.
    pub(super) title: &'static str,
}

/// All of them.
#[rustfmt::skip]
pub(super) const PLANS: [Plan; 8] = [
    Plan { number: 1, table: "III", figure: 3, law: Law::Always(20), order: Order::Passes, sizes: SIZES,
           intuitive_of: 1, title: "all elements once, twenty times over" },
    Plan { number: 2, table: "IV", figure: 4, law: Law::Always(20), order: Order::InARow, sizes: SIZES,
           intuitive_of: 1, title: "each element twenty times in a row" },
    Plan { number: 3, table: "V", figure: 5, law: Law::Always(20), order: Order::Shuffled, sizes: SIZES,
           intuitive_of: 1, title: "each element twenty times, shuffled" },
    Plan { number: 4, table: "VI", figure: 6, law: Law::UpTo(20), order: Order::Shuffled, sizes: SIZES,
           intuitive_of: 4, title: "0 to 20 times, shuffled" },
    Plan { number: 5, table: "VII", figure: 7, law: Law::UpTo(20), order: Order::InARow, sizes: SIZES,
           intuitive_of: 4, title: "0 to 20 times, in a row" },
    Plan { number: 6, table: "VIII", figure: 8, law: Law::Poisson(10), order: Order::Shuffled, sizes: SIZES,
           intuitive_of: 6, title: "Poisson with mean 10, shuffled" },
    Plan { number: 7, table: "IX", figure: 9, law: Law::Poisson(20), order: Order::Shuffled, sizes: SIZES,
           intuitive_of: 7, title: "Poisson with mean 20, shuffled" },
    Plan { number: 8, table: "X", figure: 10, law: Law::UpTo(40), order: Order::Shuffled, sizes: MORE_SIZES,
           intuitive_of: 8, title: "0 to 40 times, shuffled" },
];

/// `80K`, as the paper says it: K is a thousand.
pub(super) fn size_name(m: u64) -> String {
    format!("{}K", m / 1000)
}
