//! Guards the experiment `site`: on mail whose outcome follows from how it was made.

use std::fs;
use std::path::Path;

use seenit_lab::site::{Options, Row, run};
use seenit_lab::{Bench, Outcome};
use tempfile::TempDir;

/// Words that look like nothing, those of number `from` on.
fn words(from: u64, count: u64) -> String {
    let word = |number: u64| {
        let mut n = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number;
        let letter = |_| {
            n = n.rotate_left(13).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            char::from(b"acdefghkmnoprstuvw"[(n >> 40) as usize % 18])
        };
        (0..7).map(letter).collect::<String>()
    };
    (from..from + count).map(word).collect::<Vec<_>>().join(" ")
}

/// Ham of its own words each, and spam in campaigns of ten that greet each reader by another name.
fn corpus(ham: u64, spam: u64) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut index = "path\tlabel\n".to_owned();
    let texts = (0..ham).map(|number| (words(1000 * number, 60), "ham")).chain((0..spam).map(|number| {
        let text = words(1_000_000 * (1 + number / 10), 60);
        (format!("Dear {},\n{text}", words(500 + number, 1)), "spam")
    }));
    for (number, (text, label)) in texts.enumerate() {
        let raw = format!("Subject: {number}\nContent-Type: text/plain\n\n{text}\n");
        fs::write(folder.path().join(number.to_string()), raw).expect("a message");
        index += &format!("{number}\t{label}\n");
    }
    fs::write(folder.path().join("index.tsv"), index).expect("an index");
    folder
}

fn run_on(folder: &Path, options: &Options) -> Outcome<Row> {
    let bench = Bench { corpus: Some(folder.to_owned()), quick: true, ..Bench::new(&()) };
    run(options, &bench).expect("a good run")
}

fn row<'a>(rows: &'a [Row], reporters: &str, rule: &str, together: bool) -> &'a Row {
    let is = |row: &&Row| row.reporters == reporters && row.rule == rule && row.together == together;
    rows.iter().find(is).unwrap_or_else(|| panic!("{reporters} {rule}"))
}

#[test]
fn hostile_reporters_hit_less_ham_where_two_must_agree_or_trust_decides() {
    let folder = corpus(50, 40);
    let options = Options { honest: 0.5, hostile: 0.3, ..Options::default() };
    let Outcome { rows, account } = run_on(folder.path(), &options);
    let of = |rule| row(&rows, "50/20/30", rule, false);
    let anyone = of("anyone");
    assert!(anyone.ham_hit > 0 && anyone.spam > 0 && anyone.messages == anyone.spam + anyone.ham);
    for rule in ["quorum", "trust", "trust + protect", "vouched"] {
        assert!(of(rule).ham_hit < anyone.ham_hit, "{rule}: {:?}", of(rule));
        assert_eq!(of(rule).messages, anyone.messages, "every world has the same mail");
    }
    // Where nobody lies campaigns are caught; with `anyone` by the first report, with the others by the second.
    for (rule, reports) in [("anyone", 1), ("quorum", 2), ("trust", 2)] {
        let row = row(&rows, "80/20/0", rule, false);
        assert!(row.spam_caught > row.spam / 4, "{row:?}");
        assert!(row.listed > 0 && row.reports >= reports * row.listed, "{row:?}");
        assert!(row.seconds_to_clear.is_some() && row.weight_hostile.is_none(), "{row:?}");
    }
    assert_eq!(row(&rows, "80/20/0", "anyone", false).reports_to_list, Some(1.0));
    let vouched = of("vouched");
    assert!(vouched.weight_hostile < vouched.weight_honest, "{vouched:?}");
    let together = row(&rows, "50/20/30", "quorum", true);
    assert!(together.ham_hit > of("quorum").ham_hit, "{together:?}");
    let crowd = |name: &str| rows.iter().find(|row| row.reporters == name).expect("a crowd");
    let (none, sybils) = (crowd("sybils-0"), crowd("sybils-30-earn"));
    assert_eq!((sybils.ham_hit, none.ham_hit), (0, 0), "{sybils:?}");
    assert!(none.spam_caught > 0 && sybils.spam_caught >= none.spam_caught, "{sybils:?} {none:?}");
    assert_eq!(account.figures.len(), 2);
    account.figures.iter().for_each(|figure| assert!(!figure.svg().contains("NaN")));
}

#[test]
fn counts_follow_from_the_seed() {
    let folder = corpus(12, 20);
    let options = Options { reporters: 5, honest: 0.6, hostile: 0.2, ..Options::default() };
    let timeless = |outcome: Outcome<Row>| {
        let row = |row: Row| Row { seconds_to_clear: None, ..row };
        outcome.rows.into_iter().map(row).collect::<Vec<_>>()
    };
    let (one, other) = (timeless(run_on(folder.path(), &options)), timeless(run_on(folder.path(), &options)));
    assert_eq!(one, other);
}
