//! The results: medians over the rounds, as JSON or as a table.

use indicatif::style::TemplateError;
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Serialize, Serializer};

use crate::contender::{FilterLap, Lap};

/// The row that everything is compared with.
pub(crate) const RIVAL: &str = "fastbloom";
/// The row nothing can be faster than.
pub(crate) const FLOOR: &str = "floor-one-line";

/// One contender's result. The names of the fields are those of the JSON.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) keys: u64,
    pub(crate) k: Option<u32>,
    #[serde(serialize_with = "to_4_decimals")]
    pub(crate) bits_per_key: Option<f64>,
    pub(crate) fpr: Option<f64>,
    #[serde(serialize_with = "to_2_decimals")]
    pub(crate) insert_ns: Option<f64>,
    #[serde(serialize_with = "to_2_decimals")]
    pub(crate) hit_ns: Option<f64>,
    #[serde(serialize_with = "to_2_decimals")]
    pub(crate) miss_ns: Option<f64>,
}

impl Row {
    /// The medians of `laps`.
    pub(crate) fn new(name: &str, keys: u64, laps: &[Lap]) -> Self {
        let filters: Vec<&FilterLap> = laps.iter().filter_map(|lap| lap.filter.as_ref()).collect();
        let of = |value: fn(&FilterLap) -> f64| median(filters.iter().map(|lap| value(lap)).collect());
        // Keys and hashes are the same each round, so shape and false positives are too.
        let shape = filters.first().map(|lap| lap.shape);
        Row {
            name: name.to_string(),
            keys,
            k: shape.and_then(|shape| shape.k),
            bits_per_key: shape.map(|shape| shape.bits as f64 / keys as f64),
            fpr: filters.first().map(|lap| lap.false_positives),
            insert_ns: of(|lap| lap.insert_ns),
            hit_ns: of(|lap| lap.hit_ns),
            miss_ns: median(laps.iter().map(|lap| lap.miss_ns).collect()),
        }
    }
}

/// The row with this name, if it was in the race.
pub(crate) fn find<'a>(rows: &'a [Row], name: &str) -> Option<&'a Row> {
    rows.iter().find(|row| row.name == name)
}

/// How far the loading of a server is.
pub(crate) fn loading(what: &'static str, number: u64) -> Result<ProgressBar, TemplateError> {
    let template = "{msg} {bar:40} {human_pos} of {human_len}, {per_sec}, {eta} left";
    let style = ProgressStyle::with_template(template)?;
    Ok(ProgressBar::new(number).with_style(style).with_message(what))
}

/// The middle one, or the mean of the middle two.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    if values.len() % 2 == 1 {
        return Some(upper);
    }
    Some((values[middle - 1] + upper) / 2.0)
}

pub(crate) fn to_2_decimals<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(|value| (value * 100.0).round() / 100.0).serialize(serializer)
}

fn to_4_decimals<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    value.map(|value| (value * 10_000.0).round() / 10_000.0).serialize(serializer)
}

/// The table: what was measured, then how many times as fast as the rival, then misses in floors.
pub(crate) fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let mut table = format!(
        "{:width$}  {:>2}  {:>8}  {:>7}  {:>9} {:>7} {:>7}  {:>9} {:>6} {:>6}  {:>7}\n",
        "",
        "k",
        "bits/key",
        "fpr %",
        "insert ns",
        "hit ns",
        "miss ns",
        "x insert",
        "x hit",
        "x miss",
        "floors",
    );
    let rival = find(rows, RIVAL);
    let floor = find(rows, FLOOR).and_then(|row| row.miss_ns);
    for row in rows {
        let faster = |column: fn(&Row) -> Option<f64>| ratio(rival.and_then(column), column(row));
        table += &format!(
            "{:width$}  {:>2}  {:>8}  {:>7}  {:>9} {:>7} {:>7}  {:>9} {:>6} {:>6}  {:>7}\n",
            row.name,
            row.k.map_or("-".to_string(), |k| k.to_string()),
            shown(row.bits_per_key, 3),
            shown(row.fpr.map(|rate| rate * 100.0), 4),
            shown(row.insert_ns, 2),
            shown(row.hit_ns, 2),
            shown(row.miss_ns, 2),
            shown(faster(|row| row.insert_ns), 2),
            shown(faster(|row| row.hit_ns), 2),
            shown(faster(|row| row.miss_ns), 2),
            shown(ratio(row.miss_ns, floor), 2),
        );
    }
    table + &format!("(x: times as fast as {RIVAL}; floors: miss ns over that of {FLOOR})\n")
}

pub(crate) fn ratio(upper: Option<f64>, lower: Option<f64>) -> Option<f64> {
    Some(upper? / lower?)
}

fn shown(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".to_string(), |value| format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contender::Shape;

    fn lap(insert_ns: f64) -> Lap {
        let shape = Shape { k: Some(8), bits: 10_240 };
        let filter = FilterLap { shape, insert_ns, hit_ns: 2.0, false_positives: 0.01 };
        Lap { miss_ns: 3.333, filter: Some(filter) }
    }

    #[test]
    fn medians() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn json_has_exactly_the_agreed_fields_and_null_where_there_is_nothing() {
        let row = Row::new("some", 1000, &[lap(9.0), lap(1.0), lap(5.0)]);
        let json = serde_json::to_string(&row).expect("plain fields");
        let expected = r#"{"name":"some","keys":1000,"k":8,"bits_per_key":10.24,"fpr":0.01,"#.to_string()
            + r#""insert_ns":5.0,"hit_ns":2.0,"miss_ns":3.33}"#;
        assert_eq!(json, expected);
        let mut floor = lap(0.0);
        floor.filter = None;
        let json = serde_json::to_value(Row::new("floor", 1000, &[floor])).expect("plain fields");
        for field in ["k", "bits_per_key", "fpr", "insert_ns", "hit_ns"] {
            assert!(json[field].is_null(), "{field}");
        }
        assert_eq!(json["miss_ns"], 3.33);
    }

    #[test]
    fn the_table_compares_with_the_rival() {
        let rows = [Row::new(RIVAL, 1000, &[lap(10.0)]), Row::new("ours", 1000, &[lap(2.0)])];
        let table = table(&rows);
        let ours = table.lines().nth(2).expect("a header and two rows");
        let fields: Vec<&str> = ours.split_whitespace().collect();
        let expected = "ours 8 10.240 1.0000 2.00 2.00 3.33 5.00 1.00 1.00 -";
        assert_eq!(fields, expected.split(' ').collect::<Vec<_>>());
    }
}
