//! How much anybody may ask and say: token buckets, some for each account and each network.

mod bucket;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;
use tokio::sync::Semaphore;

use seenit_ledger::signature::Case;

use crate::config::Limits;
use crate::network::Network;

pub(crate) use self::bucket::TokenBucket;

/// Signatures of one check: a second's work of a large site, and a few hundred microseconds of ours.
pub(crate) const SIGNATURES_MAX: usize = 10_000;

/// Cases of one write: more would keep others' writes waiting for its sync.
pub(crate) const CASES_MAX: usize = 1_000;

/// Pieces of status work that begin in a second, on average: whoever asks without a pause would otherwise take the
/// processors from the checks. A network's monitoring asks a few times a second.
const STATUS_PER_SEC: u32 = 200;

/// Pieces of status work that may begin at once after a silence: a page that shows everything, some dozen operators.
const STATUS_BURST: u32 = 100;

/// How fast questions about the site follow each other, those of everybody together.
pub(crate) fn status_of_all() -> TokenBucket {
    TokenBucket::new(STATUS_PER_SEC, STATUS_BURST)
}

/// The same of one account, one network, or this machine: half of it, so that nobody makes all others wait.
fn status_of_one() -> TokenBucket {
    TokenBucket::new(STATUS_PER_SEC / 2, STATUS_BURST / 2)
}

/// What is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spending {
    /// Signatures that are checked, and the bytes of messages that are signed.
    Checks,
    /// Cases that are seen, reported, revoked, withdrawn; a case of unusually many signatures is several, and so is a
    /// sighting of unusually many recipients.
    Writes,
    /// Requests that prove nothing: a wrong token or signature, none where one is needed, a datagram that only asks
    /// whether we are there, a key that we have to agree on a secret with. Anybody can send them from any address of a
    /// network, so they take nothing from its accounts, nor from those there who check without one.
    Failures,
}

/// Signatures of a case that count as one: a message has about ten. Else one case of hundreds would cost as little.
const CASE_SIGNATURES: usize = 16;

/// What a write of these cases spends.
pub(crate) fn cost_of(cases: &[Case]) -> usize {
    cases.iter().map(|case| case.len().div_ceil(CASE_SIGNATURES).max(1)).sum()
}

/// Bytes of a message whose signing costs as much as a check: a megabyte is 4,096 of them, so that a network that may
/// check 20,000 signatures in a second may have five megabytes signed, which is less than one processor's work.
const CHECK_BYTES: usize = 256;

/// What signing a message of so many bytes spends.
pub(crate) fn cost_of_bytes(bytes: usize) -> usize {
    bytes.div_ceil(CHECK_BYTES).max(1)
}

/// What counting so many signatures by themselves spends.
pub(crate) fn cost_of_signatures(signatures: usize) -> usize {
    signatures.div_ceil(CASE_SIGNATURES)
}

/// Recipients of a sighting that count as one case: few messages have more. Else one sighting of a million recipients
/// would cost as little as one of a single one.
const CASE_RECIPIENTS: u64 = 100;

/// What a sighting spends: by its signatures, and more where it claims many recipients; never more than a burst lets
/// through.
pub(crate) fn cost_of_sighting(cost: usize, recipients: u64) -> usize {
    let factor = usize::try_from(recipients.div_ceil(CASE_RECIPIENTS)).unwrap_or(usize::MAX);
    cost.saturating_mul(factor.max(1)).min(COST_MAX.max(cost))
}

/// The most that one write can spend: a burst lets it through.
const COST_MAX: usize = CASES_MAX + SIGNATURES_MAX.div_ceil(CASE_SIGNATURES);

/// A limit that is used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsedUp {
    /// Its key in the configuration.
    pub(crate) limit: &'static str,
    /// When it pays to ask again.
    pub(crate) wait: Duration,
}

/// The limits of one account or one network.
#[derive(Debug)]
pub(crate) struct Budget {
    checks: Option<TokenBucket>,
    writes: Option<TokenBucket>,
    failures: Option<TokenBucket>,
    checks_key: &'static str,
    writes_key: &'static str,
    /// Pieces of work at a time, known once there is one.
    turns: OnceLock<Arc<Semaphore>>,
    status: TokenBucket,
}

impl Budget {
    /// That of this machine's own users without an account, all together: they check as much as they like, and write
    /// as much as a network does.
    pub(crate) fn of_this_machine(limits: &Limits) -> Self {
        Budget { checks: None, ..Budget::of_network(limits) }
    }

    pub(crate) fn of_account(limits: &Limits) -> Self {
        Budget {
            checks_key: "account_checks_per_sec",
            writes_key: "account_writes_per_sec",
            ..Budget::new(limits, limits.account_checks_per_sec, limits.account_writes_per_sec)
        }
    }

    fn of_network(limits: &Limits) -> Self {
        Budget::new(limits, limits.network_checks_per_sec, limits.network_writes_per_sec)
    }

    fn new(limits: &Limits, checks: u32, writes: u32) -> Self {
        // A rate of zero is no limit.
        let bucket = |per_sec: u32, batch_max: usize| {
            let burst = per_sec.saturating_mul(limits.burst_secs).max(batch_max as u32);
            (per_sec > 0).then(|| TokenBucket::new(per_sec, burst))
        };
        Budget {
            checks: bucket(checks, SIGNATURES_MAX),
            writes: bucket(writes, COST_MAX),
            failures: bucket(limits.failures_per_sec, 1),
            checks_key: "network_checks_per_sec",
            writes_key: "network_writes_per_sec",
            turns: OnceLock::new(),
            status: status_of_one(),
        }
    }

    /// The turns of its work, so many at a time.
    pub(crate) fn turns(&self, at_a_time: usize) -> Arc<Semaphore> {
        Arc::clone(self.turns.get_or_init(|| Arc::new(Semaphore::new(at_a_time))))
    }

    /// How fast its questions about the site follow each other.
    pub(crate) fn status_pace(&self) -> &TokenBucket {
        &self.status
    }

    /// Spends so many, or says how long to wait. Nothing is spent then.
    pub(crate) fn spend(&self, what: Spending, number: usize) -> Result<(), UsedUp> {
        let (bucket, limit) = match what {
            Spending::Checks => (&self.checks, self.checks_key),
            Spending::Writes => (&self.writes, self.writes_key),
            Spending::Failures => (&self.failures, "failures_per_sec"),
        };
        let Some(bucket) = bucket.as_ref().filter(|_| number > 0) else {
            return Ok(());
        };
        // A message larger than any burst takes all of one. Batches are bounded below that.
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let taken = bucket.take(number, Instant::now(), Duration::ZERO);
        taken.map(drop).map_err(|wait| UsedUp { limit, wait })
    }
}

/// The budgets of networks, so many of them: the one unheard of for longest is forgotten first.
#[derive(Debug)]
pub(crate) struct Networks {
    limits: Limits,
    table: Mutex<LruCache<Network, Arc<Budget>>>,
}

impl Networks {
    pub(crate) fn new(limits: &Limits) -> Self {
        let most = NonZeroUsize::new(limits.networks_max as usize).unwrap_or(NonZeroUsize::MIN);
        Networks { limits: limits.clone(), table: Mutex::new(LruCache::new(most)) }
    }

    /// The budget of a network. A connection asks once and keeps it.
    pub(crate) fn budget(&self, network: Network) -> Arc<Budget> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.get_or_insert(network, || Arc::new(Budget::of_network(&self.limits))).clone()
    }

    /// How many are remembered.
    pub(crate) fn len(&self) -> usize {
        self.table.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits { network_writes_per_sec: 1, burst_secs: 1, networks_max: 16, ..Limits::default() }
    }

    fn network(number: u8) -> Network {
        Network::of([192, 0, number, 1].into())
    }

    #[test]
    fn a_whole_batch_passes_and_then_there_is_a_wait_that_is_said() {
        let budget = Budget::of_network(&limits());
        budget.spend(Spending::Writes, COST_MAX).expect("the largest batch");
        let used_up = budget.spend(Spending::Writes, 10).expect_err("nothing is left");
        assert_eq!(used_up.limit, "network_writes_per_sec");
        assert!(used_up.wait > Duration::from_secs(1) && used_up.wait <= Duration::from_secs(10));
        budget.spend(Spending::Checks, 10).expect("another budget");
        budget.spend(Spending::Writes, 0).expect("nothing");
    }

    #[test]
    fn failures_use_up_nothing_but_what_failures_have() {
        let budget = Budget::of_network(&Limits { failures_per_sec: 1, ..limits() });
        budget.spend(Spending::Failures, 1).expect("the first one");
        let used_up = budget.spend(Spending::Failures, 1).expect_err("nothing is left");
        assert_eq!(used_up.limit, "failures_per_sec");
        budget.spend(Spending::Writes, COST_MAX).expect("the largest batch");
        budget.spend(Spending::Checks, SIGNATURES_MAX).expect("the largest batch");
    }

    #[test]
    fn a_sighting_is_charged_by_its_signatures_and_its_recipients() {
        assert_eq!(cost_of_sighting(cost_of_signatures(10_000), 1), 625);
        assert_eq!([1, 100, 101, 1_000].map(|recipients| cost_of_sighting(1, recipients)), [1, 1, 2, 10]);
        assert_eq!(cost_of_sighting(3, 1_000_000), COST_MAX, "a burst lets it through");
    }

    #[test]
    fn the_table_is_bounded_and_forgets_the_quietest() {
        let networks = Networks::new(&limits());
        networks.budget(network(0)).spend(Spending::Writes, COST_MAX).expect("the first batch");
        for number in 1..100 {
            networks.budget(network(number));
            assert!(networks.budget(network(0)).spend(Spending::Writes, 10).is_err(), "still remembered");
        }
        assert_eq!(networks.len(), 16);
    }

    #[test]
    fn a_message_costs_by_its_size_and_the_largest_is_let_through_alone() {
        assert_eq!([0, 1, 256, 257, 1 << 20].map(cost_of_bytes), [1, 1, 1, 2, 4096]);
        let budget = Budget::of_network(&limits());
        budget.spend(Spending::Checks, cost_of_bytes(1 << 30)).expect("all of the burst");
        budget.spend(Spending::Checks, cost_of_bytes(1 << 20)).expect_err("nothing is left");
    }

    #[test]
    fn one_who_asks_without_a_pause_leaves_half_of_the_pace_to_the_others() {
        const WAIT: Duration = Duration::from_secs(5);
        let all = status_of_all();
        let one = status_of_one();
        let other = status_of_one();
        let start = Instant::now();
        let ask = |own: &TokenBucket, now| own.take(1, now, WAIT).and_then(|_| all.take(1, now, WAIT));
        // Four times as often as it may, for a minute; then somebody else comes.
        for tick in 0..60 * 4 * STATUS_PER_SEC {
            let _ = ask(&one, start + Duration::from_secs(1) / (4 * STATUS_PER_SEC) * tick);
        }
        let now = start + Duration::from_secs(60);
        let own = one.take(1, now, WAIT).map_or(WAIT, |begins| begins - now);
        let others = ask(&other, now).expect("a turn") - now;
        assert!(own > Duration::from_secs(4) && others < Duration::from_secs(1), "{own:?}, {others:?}");
    }

    #[test]
    fn a_rate_of_zero_is_no_limit() {
        let free = Limits { account_writes_per_sec: 0, ..Limits::default() };
        let budget = Budget::of_account(&free);
        (0..100).for_each(|_| budget.spend(Spending::Writes, 1_000_000).expect("no limit"));
    }
}
