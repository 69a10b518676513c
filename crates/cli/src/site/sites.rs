//! `seenit sites`: how the other sites of the network are doing.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use serde_json::Value;

use crate::client::{Client, ServerArgs};
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(
    after_help = "Columns: lag, how long something of the site has been missing here; silent, how long it was not \
    heard; records and seen (sightings of the newest generation), applied here of those that it has; has ours, our \
    records applied there; agrees, whether our copy is what that site signed, and since when.\n\
    What is wrong is told in a sentence below the table, with what to do.\n\
    The exit code is 0 when all sites agree, or there are no others; 1 when one does not agree or is silent, the \
    broker is not there, or there is an alarm; 12 while a site has not been compared yet.\n\
    Examples:\n  seenit sites\n  seenit sites --json"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: ServerArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let sites: Value = Client::of(&arguments.server)?.get("/v1/sites")?;
    if arguments.json {
        output::json(&sites)?;
    } else {
        output::text(&told(&sites))?;
    }
    Ok(exit(&sites).into())
}

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or(0)
}

fn exit(sites: &Value) -> Exit {
    if sites["network"].is_null() {
        return Exit::Done;
    }
    let of_all = list(sites, "sites");
    let is_well =
        sites["member"] == true && sites["engine"]["up"] == true && list(sites, "alarms").is_empty();
    let is_wrong = |site: &Value| site["agrees"] == false || !site["problem"].is_null();
    if !is_well || of_all.iter().any(is_wrong) {
        return Exit::SomethingFails;
    }
    if of_all.iter().all(|site| site["agrees"] == true) { Exit::Done } else { Exit::NotYet }
}

const HEADS: [&str; 8] = ["name", "lag", "silent", "records", "seen", "repairs", "has ours", "agrees"];

fn told(sites: &Value) -> String {
    let Some(network) = sites["network"].as_str() else {
        return "this site stands alone\n".to_owned();
    };
    let broker = match sites["engine"]["why"].as_str() {
        None => "up".to_owned(),
        Some(why) => format!("down: {why}"),
    };
    let records = number(sites, "records");
    let published = number(sites, "published");
    let mut text = format!("network {network}, roster {}\n", number(sites, "roster"));
    text += &format!("broker {broker}\n{published} of {records} own records are published\n");
    text += &table(list(sites, "sites").iter().map(|site| row(site, records)).collect());
    let problems = list(sites, "sites").iter().filter_map(|site| site["problem"].as_str());
    problems.for_each(|problem| text += &format!("problem: {problem}\n"));
    let alarms = list(sites, "alarms").iter().filter_map(Value::as_str);
    alarms.for_each(|alarm| text += &format!("alarm: {alarm}\n"));
    text
}

fn row(site: &Value, records: u64) -> [String; HEADS.len()] {
    let of = |value: &Value, applied: &str, known: &str| {
        format!("{}/{}", number(value, applied), number(value, known))
    };
    let silent = site["silent_secs"].as_u64().map_or("not heard".to_owned(), |secs| format!("{secs} s"));
    [
        site["name"].as_str().unwrap_or_default().to_owned(),
        format!("{} s", number(site, "lag_secs")),
        silent,
        of(site, "records_applied", "records_known"),
        newest_seen(site).map_or("-".to_owned(), |stream| of(stream, "applied", "known")),
        number(site, "repairs").to_string(),
        format!("{}/{records}", number(site, "has_of_ours")),
        agreement(site),
    ]
}

/// Sightings of the newest generation in the site's present incarnation.
fn newest_seen(site: &Value) -> Option<&Value> {
    let is_present = |stream: &&Value| stream["incarnation"] == site["incarnation"];
    let seen = list(site, "streams").iter().filter(is_present).filter(|stream| stream["stream"] == "seen");
    seen.max_by_key(|stream| number(stream, "generation"))
}

fn agreement(site: &Value) -> String {
    match site["agrees"].as_bool() {
        Some(true) => match site["agreed_since_secs"].as_u64() {
            Some(secs) => format!("yes, for {}", readable(now_secs().saturating_sub(secs))),
            None => "yes".to_owned(),
        },
        None => "not compared yet".to_owned(),
        Some(false) => {
            let why = list(site, "streams").iter().find_map(|stream| stream["mismatch"].as_str());
            format!("no: {}", why.unwrap_or_default())
        }
    }
}

fn now_secs() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// A time in the largest unit that it has two of.
fn readable(secs: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(86_400, "days"), (3_600, "h"), (60, "min")];
    let unit = UNITS.iter().find(|(length, _)| secs >= 2 * length);
    unit.map_or_else(|| format!("{secs} s"), |(length, name)| format!("{} {name}", secs / length))
}

/// Columns as wide as their widest cell; nothing where there are no rows.
fn table(rows: Vec<[String; HEADS.len()]>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let lines: Vec<_> = std::iter::once(HEADS.map(str::to_owned)).chain(rows).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; HEADS.len()] = std::array::from_fn(width);
    let mut text = String::new();
    for line in &lines {
        let cells: Vec<_> = line.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text += cells.join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn network(sites: Value) -> Value {
        json!({
            "network": "ab", "member": true, "roster": 3, "records": 7, "published": 6, "sites": sites, "alarms": [],
            "engine": {"up": true, "why": null},
        })
    }

    fn site(agrees: Value) -> Value {
        let stream = |incarnation, generation, known, mismatch: Value| {
            json!({
                "incarnation": incarnation, "stream": "seen", "generation": generation, "known": known, "applied": 2,
                "mismatch": mismatch,
            })
        };
        let mismatch = if agrees == false { json!("another root") } else { Value::Null };
        json!({
            "name": "mail.example.org", "incarnation": 9, "silent_secs": 4, "records_known": 11,
            "records_applied": 10, "lag_secs": 1, "agrees": agrees, "repairs": 5, "has_of_ours": 6,
            "streams": [stream(9, 2, 3, Value::Null), stream(9, 3, 4, mismatch), stream(8, 5, 6, Value::Null)],
        })
    }

    #[test]
    fn a_table_shows_each_site_and_the_newest_generation_of_its_present_incarnation() {
        assert_eq!(
            told(&network(json!([site(true.into())]))),
            "network ab, roster 3\nbroker up\n6 of 7 own records are published\n\
             name              lag  silent  records  seen  repairs  has ours  agrees\n\
             mail.example.org  1 s  4 s     10/11    2/4   5        6/7       yes\n"
        );
        assert!(told(&network(json!([site(false.into())]))).ends_with("  no: another root\n"));
        let alarmed = json!({"network": "ab", "alarms": ["smoke"], "engine": {"up": false, "why": "gone"}});
        assert!(told(&alarmed).contains("broker down: gone\n") && told(&alarmed).ends_with("alarm: smoke\n"));
    }

    #[test]
    fn a_site_says_for_how_long_it_agrees_and_what_is_wrong_with_it() {
        let mut one = site(true.into());
        one["agreed_since_secs"] = json!(now_secs() - 7_300);
        assert!(told(&network(json!([one]))).ends_with("  yes, for 2 h\n"));
        one["problem"] = json!("mail.example.org has been silent for 40 s: look whether it runs");
        let sites = network(json!([one]));
        assert!(
            told(&sites)
                .ends_with("problem: mail.example.org has been silent for 40 s: look whether it runs\n")
        );
        assert_eq!(exit(&sites), Exit::SomethingFails);
        assert_eq!(
            [1, 119, 120, 7_199, 200_000].map(readable),
            ["1 s", "119 s", "2 min", "119 min", "2 days"]
        );
    }

    #[test]
    fn the_exit_code_says_whether_all_agree() {
        let codes = [json!([]), json!([site(true.into())]), json!([site(true.into()), site(Value::Null)])];
        assert_eq!(codes.map(|sites| exit(&network(sites))), [Exit::Done, Exit::Done, Exit::NotYet]);
        assert_eq!(exit(&network(json!([site(Value::Null), site(false.into())]))), Exit::SomethingFails);
        for (field, value) in [("alarms", json!(["smoke"])), ("member", json!(false)), ("engine", json!({}))]
        {
            let mut sites = network(json!([site(true.into())]));
            sites[field] = value;
            assert_eq!(exit(&sites), Exit::SomethingFails, "{field}");
        }
        assert_eq!(exit(&json!({"network": null})), Exit::Done);
    }
}
