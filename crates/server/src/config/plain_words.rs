//! What a parser says of a configuration, in words that an operator can act on.

use super::document;

/// Letters that a slip of the hand changes, at most.
const SLIP_LETTERS_MAX: usize = 2;

/// What is wrong at a key (`section.name`), and what to write instead.
pub(super) fn of(key: Option<&str>, message: &str) -> String {
    if let Some(name) = message.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next()) {
        return unknown(key, name);
    }
    if let Some((found, expected)) =
        message.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected "))
    {
        return format!("must be {}, not {}", wanted(expected), found.replacen("string ", "text ", 1));
    }
    if message.contains("duplicate key") {
        return "this key is given twice: take one of the lines away".into();
    }
    if message.contains("invalid socket address") {
        return "must be an address with a port, such as 127.0.0.1:8025".into();
    }
    message.to_owned()
}

fn wanted(expected: &str) -> &str {
    match expected {
        "a sequence" => "a list in brackets, such as [\"127.0.0.1:8025\"]",
        "a boolean" => "true or false",
        "a string" => "text in quotes",
        "f32" | "f64" => "a number",
        "u8" | "u16" | "u32" | "u64" | "usize" | "i64" => "a whole number",
        other => other,
    }
}

/// A key or section that there is not, and which one was meant.
fn unknown(key: Option<&str>, name: &str) -> String {
    let keys = document::keys();
    let Some((section, _)) = key.and_then(|key| key.split_once('.')) else {
        let mut sections: Vec<&str> = keys.iter().map(|key| key.section).collect();
        sections.dedup();
        return match nearest(name, sections.iter().copied()) {
            Some(meant) => format!("unknown section `{name}`: did you mean [{meant}]?"),
            None => format!("unknown section `{name}`: there are {}", sections.join(", ")),
        };
    };
    if let Some(other) = keys.iter().find(|key| key.name == name) {
        return format!("unknown key: `{name}` belongs in [{}]", other.section);
    }
    let of_section = keys.iter().filter(|key| key.section == section).map(|key| key.name.as_str());
    match nearest(name, of_section) {
        Some(meant) => format!("unknown key: did you mean `{meant}`?"),
        None => "unknown key: `seenit config show` lists all".into(),
    }
}

fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near =
        known.map(|one| (distance(name, one), one)).filter(|(letters, _)| *letters <= SLIP_LETTERS_MAX);
    near.min().map(|(_, one)| one)
}

/// How many letters must be changed, added or taken away to make one word the other.
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut before = row[0];
        row[0] = at + 1;
        for (column, letter_there) in other.chars().enumerate() {
            let changed = before + usize::from(letter != letter_there);
            before = row[column + 1];
            row[column + 1] = changed.min(before + 1).min(row[column] + 1);
        }
    }
    row[row.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_told_from_another_word() {
        assert_eq!(distance("lissten", "listen"), 1);
        assert_eq!(distance("legder", "ledger"), 2);
        assert_eq!((distance("", "abc"), distance("abc", "abc")), (3, 0));
    }
}
