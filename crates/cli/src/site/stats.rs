//! `seenit stats`: how a server is doing.

use std::process::ExitCode;

use clap::Args;
use seenit_filter::readable;
use serde_json::Value;

use crate::client::{Client, ServerArgs};
use crate::output;
use crate::plural::counted;
use crate::problem::Problem;

#[derive(Args)]
#[command(after_help = "Example: seenit stats --json")]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: ServerArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let stats: Value = Client::of(&arguments.server)?.get("/v1/stats")?;
    if arguments.json {
        output::json(&stats)?;
    } else {
        output::text(&told(&stats))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// For how many generations records count, and when the tally is full.
fn kept(stats: &Value) -> String {
    let kept = counted(stats["kept_generations"].as_u64().unwrap_or(0), "generation");
    if stats["signatures"].as_u64() >= stats["capacity"].as_u64() && stats["capacity"].is_u64() {
        return format!("{kept}; the tally is full");
    }
    match stats["full_in_days"].as_f64() {
        Some(days) if days < 1.0 => format!("{kept}; the tally is full within a day"),
        Some(days) => format!("{kept}; the tally is full in about {}", counted(days.round() as u64, "day")),
        None => kept,
    }
}

/// What probes with absent keys say of a filter.
fn filter(rate: &Value) -> String {
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let doubt = if rate["in_doubt"] == true { "; in doubt: what rests on it is no opinion" } else { "" };
    format!(
        "{}: measured false-positive rate {:.1e} ({:.1e} to {:.1e}), promised {:.1e}{doubt}",
        rate["name"].as_str().unwrap_or_default(),
        number(&rate["present_rate"]),
        number(&rate["interval"][0]),
        number(&rate["interval"][1]),
        number(&rate["promised_rate"]),
    )
}

fn told(stats: &Value) -> String {
    let number = |name: &str| stats[name].as_u64().unwrap_or(0);
    let rate = |name: &str| format!("{:.1e}", stats[name].as_f64().unwrap_or(0.0));
    let bytes = |name: &str| readable::bytes(number(name));
    let of = |held: &str, most: &str| format!("{} of {}", number(held), number(most));
    let snapshot = stats["snapshot_age_secs"].as_u64();
    let near = match stats["near_threshold_proposed"].as_u64() {
        Some(proposed) => format!("{} (its own good mail would allow {proposed})", number("near_threshold")),
        None => number("near_threshold").to_string(),
    };
    let rows = [
        ("version", stats["version"].as_str().unwrap_or_default().to_owned()),
        ("up", format!("{} s", number("uptime_secs"))),
        ("site", stats["site"].as_str().unwrap_or_default().to_owned()),
        ("incarnation", format!("{:x}", number("incarnation"))),
        ("generation", number("generation").to_string()),
        ("records", number("records").to_string()),
        ("reporters", number("reporters").to_string()),
        (
            "signatures",
            format!("{}, false-positive rate {}", of("signatures", "capacity"), rate("tally_rate")),
        ),
        ("records kept", kept(stats)),
        ("seen", format!("about {}, false-positive rate {}", of("seen", "seen_capacity"), rate("seen_rate"))),
        ("bulk", number("bulk").to_string()),
        ("texts", format!("{} spam, {} good", number("near_spam"), number("near_ham"))),
        ("replica from", format!("{near} shingles of 32")),
        ("memory", bytes("memory_bytes")),
        ("journal", format!("{}, {} free", bytes("journal_bytes"), bytes("free_bytes"))),
        ("snapshot", snapshot.map_or("none yet".into(), |secs| format!("{secs} s ago"))),
    ];
    let filters = stats["filters"].as_array().into_iter().flatten().map(filter);
    let rows = rows.into_iter().chain(filters.map(|filter| ("filter", filter))).collect::<Vec<_>>();
    let mut text: String = rows.iter().map(|(name, value)| format!("{name:14}{value}\n")).collect();
    for (what, list) in [("recovery", &stats["recovery"]), ("alarm", &stats["alarms"])] {
        for sentence in list.as_array().into_iter().flatten().filter_map(Value::as_str) {
            text += &format!("{what:14}{sentence}\n");
        }
    }
    text
}
