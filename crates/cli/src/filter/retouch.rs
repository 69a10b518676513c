//! `seenit filter retouch`: keys that hit and should not are taken out of a filter, at a stated price in members.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use seenit_filter::hash::{Hash128, KeyHasher, SipKey};
use seenit_filter::retouch::{Algorithm, Known, Plan, Retouched, Weighing};
use seenit_filter::{HugePages, RetouchError};
use serde::Serialize;

use super::report::percent;
use crate::keys::KeySource;
use crate::mapped::Mapped;
use crate::problem::Problem;
use crate::progress::Progress;
use crate::{network_key, output};

#[derive(Args)]
#[command(after_help = "Example: seenit filter retouch spam.filter --remove good.txt --members spam.txt \
    -o edge.filter\n\n\
    The filter that is written misses every key of --remove, and with them some of its members: it says so in \
    `seenit filter info`. With --members the price is kept low and counted. A key that is in --remove and in \
    --members is removed.\n\n\
    Algorithms: random, minimum-fn (clears the bit with the fewest members), maximum-fp (the one with the most keys \
    to remove), ratio (fewest members for each key to remove), and improved-minimum-fn, improved-maximum-fp and \
    improved-ratio, which count anew after each bit.")]
pub(crate) struct Arguments {
    /// The filter file
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Keys that must not hit, one per line; - for standard input
    #[arg(long, value_name = "FILE")]
    remove: PathBuf,
    /// The keys the filter was built from, so that few of them are lost, and those counted
    #[arg(long, value_name = "FILE")]
    members: Option<PathBuf>,
    /// Other keys known to hit though they are no members; they weigh as keys to remove do, and those that
    /// disappear are counted as side effects
    #[arg(long, value_name = "FILE")]
    false_positives: Option<PathBuf>,
    /// How bits are chosen; by default improved-ratio with --members, improved-maximum-fp without
    #[arg(long, value_name = "NAME", value_parser = algorithm)]
    algorithm: Option<Algorithm>,
    /// Seed of the algorithm `random`
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// Keys are hexadecimal digits
    #[arg(long)]
    hex: bool,
    /// File with the secret the filter was built with; without it the public key
    #[arg(long, value_name = "FILE")]
    network_key: Option<PathBuf>,
    /// The filter file to write; none of the inputs
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

fn algorithm(name: &str) -> Result<Algorithm, String> {
    name.parse().map_err(|error: RetouchError| error.to_string())
}

/// The answer. Names are a contract: scripts read them. Null is what cannot be told without --members or
/// --false-positives.
#[derive(Serialize)]
struct RetouchReport {
    file: String,
    algorithm: &'static str,
    /// Distinct ones: `already_absent` and `removed` together.
    keys_to_remove: u64,
    already_absent: u64,
    removed: u64,
    bits_cleared: u64,
    /// Those that hit before and are not to be removed.
    members: Option<u64>,
    /// Those that did not hit in the first place.
    members_already_absent: Option<u64>,
    /// Keys to remove that were members.
    members_removed: Option<u64>,
    /// Of `members`, those that are lost.
    false_negatives: Option<u64>,
    /// Known ones that hit before; every key to remove is taken for one.
    false_positives: Option<u64>,
    /// Known ones that disappeared unasked.
    side_effects: Option<u64>,
    /// The share of false positives that disappeared, divided by the share of members lost.
    chi: Option<f64>,
    present_rate_before: f64,
    present_rate: f64,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let algorithm = chosen(arguments)?;
    let key = network_key::read(arguments.network_key.as_deref())?;
    let mapped = Mapped::open(&arguments.file)?;
    let view = mapped.checked()?;
    view.expect_key(key.fingerprint()).map_err(Problem::format(mapped.path()))?;
    let mut filter = view.to_filter(HugePages::Default).map_err(Problem::format(mapped.path()))?;

    let sets = Sets::read(arguments, &key)?;
    let known = Known { members: sets.members.as_deref(), others: sets.others.as_deref() };
    let weighing = if known.others.is_some() { Weighing::AllKnown } else { Weighing::Removed };
    let plan = Plan { remove: &sets.remove, algorithm, weighing, seed: arguments.seed, known };
    let present_rate_before = filter.present_rate();
    let mut progress = Progress::new("weighing and clearing", None);
    let done = filter.retouch(&plan, |more| progress.advance(more))?;
    drop(progress);

    let rates = [present_rate_before, filter.present_rate()];
    let answer = RetouchReport::of(&arguments.output, algorithm, &sets, &done, rates);
    output::write_filter(&arguments.output, &filter, &arguments.inputs())?;
    answer.warn(view.header().cleared_bits > 0);
    if arguments.json {
        output::json(&answer)?
    } else {
        output::text(&answer.lines())?
    }
    Ok(ExitCode::SUCCESS)
}

/// The algorithm asked for, or the best one for what is known.
fn chosen(arguments: &Arguments) -> Result<Algorithm, Problem> {
    let key_files = arguments.key_files();
    if key_files.iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Problem::StdinTwice);
    }
    match (arguments.algorithm, &arguments.members) {
        (Some(algorithm), None) if algorithm.weighs_members() => Err(Problem::NoMembers(algorithm.as_str())),
        (Some(algorithm), _) => Ok(algorithm),
        (None, Some(_)) => Ok(Algorithm::ImprovedRatio),
        (None, None) => Ok(Algorithm::ImprovedMaximumFp),
    }
}

impl Arguments {
    fn key_files(&self) -> Vec<&Path> {
        let files = [Some(self.remove.as_path()), self.members.as_deref(), self.false_positives.as_deref()];
        files.into_iter().flatten().collect()
    }

    /// What the output may not replace. The filter is among them: bits that were cleared cannot be set again.
    fn inputs(&self) -> Vec<&Path> {
        let others = [Some(self.file.as_path()), self.network_key.as_deref()];
        others.into_iter().flatten().chain(self.key_files()).collect()
    }
}

/// The keys as hashes, each once. Who is to be removed is neither a member nor another false positive; a member is no
/// false positive.
struct Sets {
    remove: Vec<Hash128>,
    members: Option<Vec<Hash128>>,
    others: Option<Vec<Hash128>>,
    members_removed: Option<u64>,
}

impl Sets {
    fn read(arguments: &Arguments, key: &SipKey) -> Result<Self, Problem> {
        let read = |path: &Path| hashes(&KeySource::new(path, arguments.hex), key);
        let mut remove = read(&arguments.remove)?;
        let mut asked = HashSet::with_capacity(remove.len());
        remove.retain(|&hash| asked.insert(hash));

        let mut members = arguments.members.as_deref().map(read).transpose()?;
        let mut members_removed = None;
        if let Some(members) = &mut members {
            distinct(members);
            let all = members.len();
            members.retain(|hash| !asked.contains(hash));
            members_removed = Some((all - members.len()) as u64);
        }
        let mut others = arguments.false_positives.as_deref().map(read).transpose()?;
        if let Some(others) = &mut others {
            distinct(others);
            let members = members.as_deref().unwrap_or_default();
            let is_member = |hash: &Hash128| members.binary_search_by_key(&order(hash), order).is_ok();
            others.retain(|hash| !asked.contains(hash) && !is_member(hash));
        }
        Ok(Sets { remove, members, others, members_removed })
    }
}

fn hashes(source: &KeySource, key: &SipKey) -> Result<Vec<Hash128>, Problem> {
    let mut hashes = Vec::new();
    let mut progress = Progress::new("reading keys", None);
    source.for_each_batch(|keys| {
        let start = hashes.len();
        hashes.resize(start + keys.len(), Hash128::default());
        key.hash_many(keys, &mut hashes[start..]);
        progress.advance(keys.len() as u64);
    })?;
    Ok(hashes)
}

fn distinct(hashes: &mut Vec<Hash128>) {
    hashes.sort_unstable_by_key(order);
    hashes.dedup();
}

fn order(hash: &Hash128) -> (u64, u64) {
    (hash.hi, hash.lo)
}

impl RetouchReport {
    fn of(path: &Path, algorithm: Algorithm, sets: &Sets, done: &Retouched, rates: [f64; 2]) -> Self {
        let given = sets.members.as_ref().map(|members| members.len() as u64);
        RetouchReport {
            file: path.display().to_string(),
            algorithm: algorithm.as_str(),
            keys_to_remove: sets.remove.len() as u64,
            already_absent: done.already_absent,
            removed: done.removed,
            bits_cleared: done.bits_cleared,
            members: done.members,
            members_already_absent: given.zip(done.members).map(|(given, hit)| given - hit),
            members_removed: sets.members_removed,
            false_negatives: done.false_negatives,
            false_positives: done.false_positives,
            side_effects: done.side_effects,
            chi: done.chi(),
            present_rate_before: rates[0],
            present_rate: rates[1],
        }
    }

    /// What is probably a mistake. Members are absent from a filter that was `retouched` before as a matter of course.
    fn warn(&self, retouched: bool) {
        if let Some(removed @ 1..) = self.members_removed {
            eprintln!("seenit: warning: {removed} of the keys to remove are members");
        }
        if let (Some(absent @ 1..), false) = (self.members_already_absent, retouched) {
            eprintln!("seenit: warning: {absent} of the members were never in the filter");
        }
    }

    fn lines(&self) -> String {
        let members = match (self.members, self.false_negatives) {
            (Some(members), Some(lost)) => format!("{lost} of {members} lost"),
            _ => "some may be lost; give --members to know".into(),
        };
        let mut rows = vec![
            ("file", self.file.clone()),
            ("removed", format!("{} keys; {} were absent already", self.removed, self.already_absent)),
            ("cleared", format!("{} bits, chosen by {}", self.bits_cleared, self.algorithm)),
            ("members", members),
        ];
        if let (Some(positives), Some(effects)) = (self.false_positives, self.side_effects) {
            let others = positives - self.removed;
            rows.push(("others", format!("{effects} of {others} other false positives disappeared too")));
        }
        if let Some(chi) = self.chi {
            rows.push(("chi", format!("{chi:.3}")));
        }
        let [before, now] = [self.present_rate_before, self.present_rate].map(percent);
        rows.push(("present", format!("a rate of {now}; it was {before}")));
        rows.iter().map(|(name, value)| format!("{name:<9} {value}\n")).collect()
    }
}
