//! Guards the experiment `replicas`: on mail whose every outcome follows from how it was made, and on real mail.

use std::fs;
use std::path::{Path, PathBuf};

use rayon::ThreadPoolBuilder;
use seenit_lab::replicas::{CurveRow, KindRow, Options, PoisonRow, Row, run};
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

/// A folder with an index, in this order:
///
/// 1. ten ham messages of their own words above one footer;
/// 2. five spam messages that end in that footer, too;
/// 3. ten more such ham messages;
/// 4. a campaign of ten that greets each reader by another name;
/// 5. a campaign of ten, each with some words of its own;
/// 6. two spam messages, and a third made of one half of each.
fn corpus() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let footer = words(1, 60);
    let mut messages: Vec<(String, &str)> = Vec::new();
    let with_footer = |number: u64| format!("{}\n{footer}\n", words(10_000 * number, 40));
    messages.extend((1..11).map(|number| (with_footer(number), "ham")));
    messages.extend((11..16).map(|number| (with_footer(number), "spam")));
    messages.extend((16..26).map(|number| (with_footer(number), "ham")));
    let greets = |number: u64| format!("Dear {},\n{}\n", words(500 + number, 1), words(1_000_000, 100));
    messages.extend((0..10).map(|number| (greets(number), "spam")));
    let own = |number: u64| format!("{}\n{}\n", words(2_000_000, 100), words(2_001_000 + 10 * number, 5));
    messages.extend((0..10).map(|number| (own(number), "spam")));
    messages.extend([3_000_000, 4_000_000].map(|from| (words(from, 100), "spam")));
    messages.push((format!("{} {}", words(3_000_000, 50), words(4_000_000, 50)), "spam"));
    let mut index = "path\tlabel\n".to_owned();
    for (number, (text, label)) in messages.iter().enumerate() {
        let raw = format!("Subject: {number}\nContent-Type: text/plain\n\n{text}\n");
        fs::write(folder.path().join(number.to_string()), raw).expect("a message");
        index += &format!("{number}\t{label}\n");
    }
    fs::write(folder.path().join("index.tsv"), index).expect("an index");
    folder
}

fn run_on(folder: &Path, options: &Options, threads: usize, rounds: u32) -> Outcome<Row> {
    let bench = Bench { corpus: Some(folder.to_owned()), rounds: Some(rounds), ..Bench::new(&()) };
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
    pool.install(|| run(options, &bench)).expect("a good run")
}

fn in_order() -> Options {
    Options { in_order: true, ..Options::default() }
}

fn curve<'a>(rows: &'a [Row], rule: &str, ham_learnt: f64, shingles: u32) -> &'a CurveRow {
    let is = |row: &&CurveRow| row.rule == rule && row.ham_learnt == ham_learnt && row.shingles == shingles;
    let curves = rows.iter().filter_map(|row| if let Row::Curve(curve) = row { Some(curve) } else { None });
    curves.into_iter().find(is).expect("a row")
}

fn kind<'a>(rows: &'a [Row], kind: &str, sightings: u32) -> &'a KindRow {
    let kinds = rows.iter().filter_map(|row| if let Row::Kind(of) = row { Some(of) } else { None });
    kinds.into_iter().find(|row| row.kind == kind && row.sightings == sightings).expect("a row")
}

fn poison<'a>(rows: &'a [Row], poison: &str, by: &str) -> &'a PoisonRow {
    let rows = rows.iter().filter_map(|row| if let Row::Poison(of) = row { Some(of) } else { None });
    rows.into_iter().find(|row| row.poison == poison && row.by == by && row.threshold == 17).expect("a row")
}

#[test]
fn each_rule_does_what_the_mail_was_made_for() {
    let folder = corpus();
    let Outcome { rows, account } = run_on(folder.path(), &in_order(), 2, 1);
    // Campaigns but for their first messages; the recombined one is found by no single message.
    assert_eq!(curve(&rows, "same", 1.0, 17).spam_caught, 18);
    for rule in ["minus", "ratio", "shipped"] {
        let row = curve(&rows, rule, 1.0, 17);
        assert_eq!((row.spam_caught, row.ham_hit, row.messages), (19, 0, 48), "{row:?}");
        assert_eq!(curve(&rows, rule, 1.0, 9).ham_hit, 0, "a footer known from ham is no evidence");
        assert_eq!(
            curve(&rows, rule, 0.0, 9),
            &CurveRow { rule: row.rule, ..curve(&rows, "any", 0.0, 9).clone() }
        );
    }
    assert!(curve(&rows, "any", 1.0, 9).ham_hit >= 8, "the footer of spam is that of ham");
    // A greeting makes no other message, words do.
    assert_eq!((kind(&rows, "exact1", 1).spam_caught, kind(&rows, "exact1", 5).spam_caught), (9, 5));
    assert_eq!(kind(&rows, "near1", 1).spam_caught, 19);
    assert_eq!(kind(&rows, "near1", 5).spam_caught, 10, "the sixth to the tenth of two campaigns");
    // The second to the fifth have no more than four times as many reports as there are forged copies.
    let forged = poison(&rows, "forged-good-copy", "shipped");
    assert_eq!((forged.clean_spam, forged.poisoned_spam, forged.of), (9, 5, 10));
    assert_eq!(poison(&rows, "forged-good-copy", "minus").poisoned_spam, 0);
    for row in &rows {
        if let Row::Attack(row) = row
            && ["none", "html-noise"].contains(&row.attack)
        {
            assert_eq!(row.kept, row.matches, "{row:?}");
        }
    }
    assert!(account.figures.len() >= 3);
    account.figures.iter().for_each(|figure| assert!(!figure.svg().contains("NaN")));
}

#[test]
fn rows_have_the_agreed_keys_and_one_default() {
    let folder = corpus();
    let rows = run_on(folder.path(), &Options::default(), 2, 1).rows;
    let json = serde_json::to_value(&rows).expect("plain fields");
    let json = json.as_array().expect("one array");
    let text = serde_json::to_string(&rows).expect("plain fields");
    assert!(text.starts_with(r#"[{"kind":"exact1","sightings":1,"spam_caught":"#));
    let first =
        text.find(r#"{"rule":"any","ham_learnt":0.0,"shingles":1,"spam_caught":"#).expect("a curve row");
    let keys = ["rule", "ham_learnt", "shingles", "spam_caught", "ham_hit", "messages", "default"];
    let places = keys.map(|key| text[first..].find(&format!("\"{key}\":")).expect(key));
    assert!(places.is_sorted(), "{places:?}");
    let count = |key: &str| json.iter().filter(|row| !row[key].is_null()).count();
    assert_eq!((count("kind"), count("rule")), (10 * 5, 5 * 4 * 32));
    let default: Vec<_> = json.iter().filter(|row| row["default"] == true).collect();
    assert_eq!(default.len(), 1);
    assert!(
        default[0]["rule"] == "shipped" && default[0]["ham_learnt"] == 1.0 && default[0]["shingles"] == 17
    );
    assert_eq!(default[0]["spam_caught"], kind(&rows, "near1", 1).spam_caught, "the two are one rule");
}

#[test]
fn rows_do_not_depend_on_the_number_of_threads() {
    let folder = corpus();
    let rows = |threads| run_on(folder.path(), &Options::default(), threads, 2).rows;
    assert_eq!(rows(1), rows(2));
}

/// Beside the checkout, or where the variable says.
fn shared_corpus() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = std::env::var_os("SEENIT_CORPUS").map_or(beside, PathBuf::from);
    folder.join("index.tsv").is_file().then_some(folder)
}

/// What must hold on real mail, in two orders of arrival.
#[test]
fn real_mail_is_caught_as_it_must_be() {
    let Some(folder) = shared_corpus() else {
        println!("skipped: there is no shared corpus beside the checkout, and SEENIT_CORPUS is not set");
        return;
    };
    let Outcome { rows, account } = run_on(&folder, &Options::default(), 2, 2);
    for finding in &account.findings {
        assert!(finding.holds, "{finding:?}");
    }
    let (shipped, same) = (curve(&rows, "shipped", 1.0, 17), curve(&rows, "same", 1.0, 17));
    assert!(shipped.spam_caught as f64 >= 1.15 * same.spam_caught as f64, "{shipped:?} {same:?}");
    assert!(shipped.ham_hit <= same.ham_hit && curve(&rows, "shipped", 1.0, 9).ham_hit <= 1);
    assert!(curve(&rows, "shipped", 1.0, 9).spam_caught as f64 >= 1.4 * same.spam_caught as f64);
    assert!(shipped.spam_caught >= 1740, "{shipped:?}");
}
