//! What the paper says about its case study, answered on synthetic traces.

use seenit_filter::retouch::Algorithm;

use super::printed::{on_all_traces, reduced};
use super::tables::{missed_of_list, peak};
use super::{BETA, CYCLES, Measured, Results};
use crate::account::Finding;

pub(super) fn all(results: &Results) -> Vec<Finding> {
    let mut all = vec![static_list(results)];
    for &k in &results.k {
        all.extend([
            bloom_is_poor(results, k),
            much_less_short(results, k),
            near_the_list(results, k),
            inner_peak(results, k),
            trade(results, k),
            few_collisions(results, k),
            decay(results, k),
            improved(results, k),
            heavy_tail(results, k),
            topology_missed(results, k),
        ]);
    }
    all
}

fn ratio(results: &Results, k: u32, bits: u64, beta: f64) -> &Measured {
    results.filter(k, bits, Some((Algorithm::Ratio, beta)))
}

fn static_list(results: &Results) -> Finding {
    let rates = &results.list[0];
    Finding::new(
        "The list makes no error where the network does not change",
        rates.short == 0.0 && rates.collision == 0.0,
        format!(
            "in the learning round itself it stops {:.1} % of traces short and lets {:.1} % collide: the stop set \
             is shared, and the penultimate node of one destination lies on the way to others",
            100.0 * rates.short,
            100.0 * rates.collision
        ),
    )
}

fn bloom_is_poor(results: &Results, k: u32) -> Finding {
    let success: Vec<f64> =
        results.bits.iter().map(|&bits| results.filter(k, bits, None).success()).collect();
    let best = success.iter().copied().fold(0.0, f64::max);
    let list = results.list[1].success;
    Finding::new(
        format!(
            "k = {k}: the Bloom filter does poorly at every size, with less than half of the list's success"
        ),
        best < list / 2.0,
        format!("success {:.3} to {best:.3}, the list's {list:.3}", success[0]),
    )
}

fn much_less_short(results: &Results, k: u32) -> Finding {
    let shares: Vec<f64> = results.bits.iter().map(|&bits| reduced(results, k, bits).mean).collect();
    let (low, high) =
        shares.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &s| (l.min(s), h.max(s)));
    Finding::new(
        format!(
            "k = {k}: retouching a quarter of the false positives away stops 76 to 84 % fewer traces short"
        ),
        low >= 0.70 && high <= 0.90,
        format!(
            "{:.0} % fewer at m = {}, {:.0} % at m = {}; between {:.0} and {:.0} % (judged to six points)",
            100.0 * shares[0],
            results.bits[0],
            100.0 * shares[shares.len() - 1],
            results.bits[results.bits.len() - 1],
            100.0 * low,
            100.0 * high
        ),
    )
}

fn near_the_list(results: &Results, k: u32) -> Finding {
    let list = results.list[1].success;
    let large: Vec<u64> = results.bits.iter().copied().filter(|&bits| bits >= results.pivot()).collect();
    let gaps: Vec<f64> = large.iter().map(|&bits| list - ratio(results, k, bits, BETA).success()).collect();
    let shown: Vec<String> =
        large.iter().zip(&gaps).map(|(bits, gap)| format!("{gap:.3} at m = {bits}")).collect();
    Finding::new(
        format!(
            "k = {k}: with beta 25 % success comes within 0.1 of the list's from m = {} on",
            results.pivot()
        ),
        gaps.iter().all(|&gap| gap < 0.1),
        format!("short of it by {}", shown.join(", ")),
    )
}

fn inner_peak(results: &Results, k: u32) -> Finding {
    let (beta, success) = peak(results, k);
    let of = |beta| ratio(results, k, results.pivot(), beta).success();
    Finding::new(
        format!("k = {k}: at m = {} success peaks for a beta between 10 and 30 %", results.pivot()),
        (0.1..=0.3).contains(&beta),
        format!(
            "it peaks at {success:.3} with beta {:.0} %; it is {:.3} at 1 %, {:.3} at 30 % and {:.3} at 100 %",
            beta * 100.0,
            of(0.01),
            of(0.3),
            of(1.0)
        ),
    )
}

fn trade(results: &Results, k: u32) -> Finding {
    let of = |beta| ratio(results, k, results.pivot(), beta);
    let pairs = || results.sweep.windows(2).map(|two| (of(two[0]), of(two[1])));
    let falls = pairs().all(|(low, high)| high.short() <= low.short() + 1e-9);
    let grows = pairs().all(|(low, high)| high.collision() >= low.collision() - 1e-9);
    let end = of(1.0);
    Finding::new(
        format!("k = {k}: with beta stopping short falls, to nothing at 100 %, and collisions grow"),
        falls && grows && end.short() == 0.0,
        format!(
            "short {} from {:.3} to {:.3}, collisions {} from {:.3} to {:.3}; what is left at 100 % are nodes of \
             the set on the way to others, and nodes nobody had seen",
            if falls { "falls throughout" } else { "falls" },
            of(0.01).short(),
            end.short(),
            if grows { "grow throughout" } else { "grow" },
            of(0.01).collision(),
            end.collision()
        ),
    )
}

fn few_collisions(results: &Results, k: u32) -> Finding {
    let list = results.list[1].collision;
    let fewer: Vec<String> = results
        .bits
        .iter()
        .filter(|&&bits| ratio(results, k, bits, 0.1).collision() < list)
        .map(u64::to_string)
        .collect();
    Finding::new(
        format!("k = {k}: with beta 10 % fewer traces collide than with the list, at most sizes"),
        2 * fewer.len() > results.bits.len(),
        match fewer.is_empty() {
            true => format!("at none; the list has {list:.3}"),
            false => format!("at m = {}; the list has {list:.3}", fewer.join(", ")),
        },
    )
}

fn decay(results: &Results, k: u32) -> Finding {
    let filter = |cycle| results.later(k, results.pivot(), Some((Algorithm::Ratio, BETA)), cycle).success();
    let kept: Vec<(f64, f64)> = (1..=CYCLES)
        .map(|cycle| (results.list[cycle].success / results.list[1].success, filter(cycle) / filter(1)))
        .collect();
    let apart = kept.iter().map(|(list, filter)| (list - filter).abs()).fold(0.0, f64::max);
    let (list, of_filter) = kept[CYCLES - 1];
    Finding::new(
        format!("k = {k}: over ten cycles the retouched filter grows old as the list does"),
        apart < 0.05,
        format!(
            "of its first success the list keeps {:.1} % in the tenth cycle, the filter {:.1} %, some of it at new \
             last hops that hit by chance; they are up to {:.1} points apart (judged to five)",
            100.0 * list,
            100.0 * of_filter,
            100.0 * apart
        ),
    )
}

fn improved(results: &Results, k: u32) -> Finding {
    let of = |algorithm, bits| results.filter(k, bits, Some((algorithm, BETA)));
    let gains: Vec<f64> = results
        .bits
        .iter()
        .map(|&bits| of(Algorithm::ImprovedRatio, bits).success() - of(Algorithm::Ratio, bits).success())
        .collect();
    let better = gains.iter().filter(|&&gain| gain > 0.0).count();
    let (low, high) =
        gains.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &g| (l.min(g), h.max(g)));
    let evidence = match (k, low == 0.0 && high == 0.0) {
        (1, true) => {
            "they are the same at every size: with one bit a key there is nothing to choose".to_owned()
        }
        _ => format!(
            "better at {better} of {} sizes, by {low:+.5} to {high:+.5} in success",
            results.bits.len()
        ),
    };
    Finding::new(
        format!("k = {k}: Improved Ratio serves better than Ratio (beta 25 %)"),
        better == results.bits.len(),
        evidence,
    )
}

fn heavy_tail(results: &Results, k: u32) -> Finding {
    let number = results.k.iter().position(|&one| one == k).expect("one of those measured");
    let all: Vec<u32> = results.troublesomeness[number].iter().flatten().copied().collect();
    let mean = all.len() as f64 / results.rounds as f64;
    let once = all.iter().filter(|&&times| times == 1).count() as f64 / all.len().max(1) as f64;
    let worst = on_all_traces(results, k);
    Finding::new(
        format!(
            "k = {k}: troublesomeness has a heavy tail; a few false positives are on every trace of a monitor"
        ),
        once > 0.5 && worst.max >= 1.0,
        format!(
            "of {mean:.0} false positives at m = {} {:.0} % are on one trace, and {:.1} ({:.0} to {:.0}) on all {} \
             of a monitor; the paper has 9",
            results.pivot(),
            100.0 * once,
            worst.mean,
            worst.min,
            worst.max,
            results.size.destinations
        ),
    )
}

fn topology_missed(results: &Results, k: u32) -> Finding {
    let small = results.bits.iter().filter(|&&bits| bits <= results.pivot());
    let missed: Vec<(f64, f64)> = small
        .map(|&bits| {
            let (nodes, links) = missed_of_list(results.filter(k, bits, None));
            (nodes.mean, links.mean)
        })
        .collect();
    let at = results.pivot();
    let (nodes, links) = missed_of_list(ratio(results, k, at, BETA));
    let last = missed[missed.len() - 1];
    Finding::new(
        format!("k = {k}: the Bloom filter misses more than 80 % of nodes and links below m = 70,000"),
        missed.iter().all(|&(nodes, links)| nodes > 0.8 && links > 0.8),
        format!(
            "at m = {at} it misses {:.0} % of the nodes and {:.0} % of the links that the list sees; retouched at \
             25 % {:.0} % and {:.0} %",
            100.0 * last.0,
            100.0 * last.1,
            100.0 * nodes.mean,
            100.0 * links.mean
        ),
    )
}
