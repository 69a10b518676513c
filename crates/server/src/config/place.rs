//! Where in the text a fault is.

use toml::de::DeTable;

use super::{ConfigError, Wrong, plain_words};

/// The place of what the parser refused. Its message names the key; the line is ours to count.
pub(super) fn of_error(text: &str, error: &toml::de::Error) -> ConfigError {
    let line = error.span().map(|span| line_of(text, span.start));
    let at = error.span().and_then(|span| key_at(text, span.start));
    let plain = plain_words::of(at.as_deref(), error.message());
    let why = match at {
        Some(key) => format!("{key}: {plain}"),
        None => plain,
    };
    ConfigError::at(line, why)
}

/// The place of a key with a value that makes no sense. A default that is wrong beside another key has none.
pub(super) fn of_key(text: &str, wrong: &Wrong) -> ConfigError {
    let line = keys(text).into_iter().find(|key| key.name == wrong.key).map(|key| line_of(text, key.start));
    ConfigError::at(line, wrong.to_string())
}

struct KeyAt {
    name: String,
    start: usize,
    end: usize,
}

/// The key whose name or value is at an offset.
fn key_at(text: &str, offset: usize) -> Option<String> {
    keys(text)
        .into_iter()
        .find(|key| (key.start..key.end.max(key.start + 1)).contains(&offset))
        .map(|key| key.name)
}

/// All keys of all sections, with where they begin and where their values end.
fn keys(text: &str) -> Vec<KeyAt> {
    // Of text that is no TOML, what can be read of it.
    let (table, _) = DeTable::parse_recoverable(text);
    let mut found = Vec::new();
    for (section, value) in table.get_ref() {
        let Some(section_table) = value.get_ref().as_table() else {
            found.push(KeyAt {
                name: section.get_ref().to_string(),
                start: section.span().start,
                end: value.span().end,
            });
            continue;
        };
        for (key, value) in section_table {
            let name = format!("{}.{}", section.get_ref(), key.get_ref());
            found.push(KeyAt { name, start: key.span().start, end: value.span().end });
        }
    }
    found
}

fn line_of(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|byte| *byte == b'\n').count()
}
