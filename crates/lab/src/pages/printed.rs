//! What the page-fault paper prints (its appendix of raw data, and the fits of its section 4.1).

/// Seconds of three runs for each number of keys in millions (the raw data of experiment 1).
const INSERTION: &str = include_str!("insertion.tsv");

/// False-positive rates of three runs for each number of bits per key (the raw data of experiment 2).
const RATES: &str = include_str!("rates.tsv");

/// False-positive rates of one run on the AOL queries (section 5; its second row "29" is 19).
const STRINGS: &str = include_str!("strings.tsv");

/// The fitted seconds per million keys, standard and paged, each with its error.
pub(super) const SLOPES: [(f64, f64); 2] = [(1.1078, 0.01446), (0.893221, 0.01166)];

/// Insertions a second of the AOL queries, standard and paged.
pub(super) const STRINGS_A_SECOND: [f64; 2] = [938_248.0, 983_627.0];

/// Keys inserted, and strangers asked for, in each run of experiment 2.
pub(super) const RATE_KEYS: u64 = 150_000;

/// AOL queries inserted.
pub(super) const STRINGS_INSERTED: u64 = 730_000;

/// AOL queries asked for that were not inserted.
pub(super) const STRINGS_ASKED: u64 = 6_967;

/// Expected distinct pages of a standard filter of so many pages, as worked out in section 3.1.
pub(super) const PAGES_TOUCHED: [(u64, f64); 2] = [(10, 5.2), (100, 6.8)];

/// One line of a printed table: what it is for, and the runs of the standard and of the paged filter.
pub(super) struct Printed {
    pub(super) at: u64,
    pub(super) runs: [Vec<f64>; 2],
}

impl Printed {
    /// The mean of the runs of the standard (0) or the paged filter (1).
    pub(super) fn mean(&self, layout: usize) -> f64 {
        self.runs[layout].iter().sum::<f64>() / self.runs[layout].len() as f64
    }
}

/// The line for this number.
pub(super) fn find(table: &[Printed], at: u64) -> Option<&Printed> {
    table.iter().find(|line| line.at == at)
}

pub(super) fn insertion() -> Vec<Printed> {
    table(INSERTION)
}

pub(super) fn rates() -> Vec<Printed> {
    table(RATES)
}

pub(super) fn strings() -> Vec<Printed> {
    table(STRINGS)
}

/// A head, then lines of a number and as many runs of the one as of the other layout.
fn table(text: &str) -> Vec<Printed> {
    let line = |line: &str| {
        let mut cells = line.split('\t').map(|cell| cell.parse().expect("a printed value is a number"));
        let at = cells.next().expect("a line begins with what it is for") as u64;
        let values: Vec<f64> = cells.collect();
        let (standard, paged) = values.split_at(values.len() / 2);
        Printed { at, runs: [standard.to_vec(), paged.to_vec()] }
    };
    text.lines().skip(1).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_tables_is_there() {
        let ats = |table: &[Printed]| table.iter().map(|line| line.at).collect::<Vec<_>>();
        assert_eq!(ats(&insertion()), [1, 5, 10, 15, 20, 25, 30, 40, 50, 70, 90, 110]);
        assert_eq!(ats(&rates()), (2..=30).collect::<Vec<_>>());
        assert_eq!(ats(&strings()), (1..=30).collect::<Vec<_>>());
        let whole =
            |table: &[Printed], runs| table.iter().flat_map(|line| &line.runs).all(|of| of.len() == runs);
        assert!(whole(&insertion(), 3) && whole(&rates(), 3) && whole(&strings(), 1));
        assert!((rates()[5].mean(0) - 0.035_556).abs() < 1e-6, "the printed mean at 7 bits");
    }
}
