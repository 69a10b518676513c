//! The rows for machines.

use seenit_filter::retouch::Algorithm;
use serde::Serialize;

use super::{Measured, Rates, Results};

/// A stop set in one cycle of traces: means over the hash seeds, with their range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// `list`, `bloom`, `rbf-ratio` or `rbf-improved-ratio`.
    pub implementation: &'static str,
    /// Hash functions; nothing for the list.
    pub k: Option<u32>,
    /// Bits of the filter; nothing for the list.
    pub m: Option<u64>,
    /// The share of false positives removed; nothing where none is.
    pub beta: Option<f64>,
    /// 0 is the learning round walked again, 1 the first probing round.
    pub cycle: usize,
    /// The share of traces that stop at the penultimate node.
    pub success: f64,
    /// The share that stop before it.
    pub short: f64,
    /// The share that reach the destination.
    pub collision: f64,
    /// The least success of a hash seed.
    pub success_min: f64,
    /// The largest.
    pub success_max: f64,
    /// The least share of traces that stop short.
    pub short_min: f64,
    /// The largest.
    pub short_max: f64,
    /// The least share of collisions.
    pub collision_min: f64,
    /// The largest.
    pub collision_max: f64,
    /// The share of nodes that full traces see and this round does not; first probing round only.
    pub nodes_missed: Option<f64>,
    /// The same of links.
    pub links_missed: Option<f64>,
    /// The share of nodes that the list's round sees and this one does not, as the paper counts.
    pub nodes_missed_of_list: Option<f64>,
    /// The same of links.
    pub links_missed_of_list: Option<f64>,
    /// Hash seeds; the list needs none.
    pub rounds: usize,
    /// Nodes seen in the learning round that tested positive before retouching and are not in the set.
    pub false_positives: f64,
    /// The share of the stop set that no longer tests positive.
    pub stops_lost: f64,
    /// Bits cleared.
    pub bits_cleared: f64,
}

pub(super) fn all(results: &Results) -> Vec<Row> {
    let list = results.list.iter().enumerate().map(|(cycle, rates)| list(results, cycle, rates));
    list.chain(results.filters.iter().map(|measured| filter(results, measured))).collect()
}

fn list(results: &Results, cycle: usize, rates: &Rates) -> Row {
    let missed = (cycle == 1).then_some(results.list_missed);
    Row {
        implementation: "list",
        k: None,
        m: None,
        beta: None,
        cycle,
        success: rates.success,
        short: rates.short,
        collision: rates.collision,
        success_min: rates.success,
        success_max: rates.success,
        short_min: rates.short,
        short_max: rates.short,
        collision_min: rates.collision,
        collision_max: rates.collision,
        nodes_missed: missed.map(|(nodes, _)| nodes),
        links_missed: missed.map(|(_, links)| links),
        nodes_missed_of_list: missed.map(|_| 0.0),
        links_missed_of_list: missed.map(|_| 0.0),
        rounds: 1,
        false_positives: 0.0,
        stops_lost: 0.0,
        bits_cleared: 0.0,
    }
}

fn filter(results: &Results, measured: &Measured) -> Row {
    let case = measured.case;
    let success = measured.of(|sample| sample.rates.success);
    let short = measured.of(|sample| sample.rates.short);
    let collision = measured.of(|sample| sample.rates.collision);
    let first = |mean: f64| (case.cycle == 1).then_some(mean);
    // Only rows of the first cycle have it; there every sample does.
    let share = |of: fn(&super::Sample) -> Option<(f64, f64)>, which: fn((f64, f64)) -> f64| {
        first(measured.of(|sample| of(sample).map_or(0.0, which)).mean)
    };
    Row {
        implementation: match case.retouched {
            None => "bloom",
            Some((Algorithm::ImprovedRatio, _)) => "rbf-improved-ratio",
            Some(_) => "rbf-ratio",
        },
        k: Some(case.k),
        m: Some(case.bits),
        beta: case.retouched.map(|(_, beta)| beta),
        cycle: case.cycle,
        success: success.mean,
        short: short.mean,
        collision: collision.mean,
        success_min: success.min,
        success_max: success.max,
        short_min: short.min,
        short_max: short.max,
        collision_min: collision.min,
        collision_max: collision.max,
        nodes_missed: share(|sample| sample.missed, |(nodes, _)| nodes),
        links_missed: share(|sample| sample.missed, |(_, links)| links),
        nodes_missed_of_list: share(|sample| sample.missed_of_list, |(nodes, _)| nodes),
        links_missed_of_list: share(|sample| sample.missed_of_list, |(_, links)| links),
        rounds: results.rounds,
        false_positives: measured.of(|sample| sample.false_positives).mean,
        stops_lost: measured.of(|sample| sample.stops_lost).mean,
        bits_cleared: measured.of(|sample| sample.bits_cleared).mean,
    }
}
