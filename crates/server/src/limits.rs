//! How much anybody may ask and say: token buckets, some for each account and each network.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use governor::clock::Clock;
use governor::{DefaultDirectRateLimiter, InsufficientCapacity, Quota, RateLimiter};
use lru::LruCache;
use tokio::sync::Semaphore;

use seenit_ledger::signature::Case;

use crate::config::Limits;
use crate::http::pace::Pace;
use crate::http::{CASES_MAX, SIGNATURES_MAX};
use crate::network::Network;

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
    checks: Option<DefaultDirectRateLimiter>,
    writes: Option<DefaultDirectRateLimiter>,
    failures: Option<DefaultDirectRateLimiter>,
    checks_key: &'static str,
    writes_key: &'static str,
    /// Pieces of work at a time, known once there is one.
    turns: OnceLock<Arc<Semaphore>>,
    status: Pace,
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
        let limiter = |per_sec: u32, batch_max: usize| {
            let rate = NonZeroU32::new(per_sec)?;
            let burst = per_sec.saturating_mul(limits.burst_secs).max(batch_max as u32);
            Some(RateLimiter::direct(Quota::per_second(rate).allow_burst(NonZeroU32::new(burst)?)))
        };
        Budget {
            checks: limiter(checks, crate::http::SIGNATURES_MAX),
            writes: limiter(writes, COST_MAX),
            failures: limiter(limits.failures_per_sec, 1),
            checks_key: "network_checks_per_sec",
            writes_key: "network_writes_per_sec",
            turns: OnceLock::new(),
            status: Pace::of_one(),
        }
    }

    /// The turns of its work, so many at a time.
    pub(crate) fn turns(&self, at_a_time: usize) -> Arc<Semaphore> {
        Arc::clone(self.turns.get_or_init(|| Arc::new(Semaphore::new(at_a_time))))
    }

    /// How fast its questions about the site follow each other.
    pub(crate) fn status_pace(&self) -> &Pace {
        &self.status
    }

    /// Spends so many, or says how long to wait. Nothing is spent then.
    pub(crate) fn spend(&self, what: Spending, number: usize) -> Result<(), UsedUp> {
        let (limiter, limit) = match what {
            Spending::Checks => (&self.checks, self.checks_key),
            Spending::Writes => (&self.writes, self.writes_key),
            Spending::Failures => (&self.failures, "failures_per_sec"),
        };
        let (Some(limiter), Some(number)) =
            (limiter, NonZeroU32::new(u32::try_from(number).unwrap_or(u32::MAX)))
        else {
            return Ok(());
        };
        match limiter.check_n(number) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(not_until)) => {
                Err(UsedUp { limit, wait: not_until.wait_time_from(limiter.clock().now()) })
            }
            // A message larger than any burst takes all of one. Batches are bounded below that.
            Err(InsufficientCapacity(burst)) if burst < number.get() => self.spend(what, burst as usize),
            Err(_) => Err(UsedUp { limit, wait: Duration::from_secs(1) }),
        }
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
    fn a_rate_of_zero_is_no_limit() {
        let free = Limits { account_writes_per_sec: 0, ..Limits::default() };
        let budget = Budget::of_account(&free);
        (0..100).for_each(|_| budget.spend(Spending::Writes, 1_000_000).expect("no limit"));
    }
}
