//! The configuration explained: every key, its default, what it means.

use super::{
    Check, Clients, Config, Dcc, Fuzzy, Http, Key, Limits, Log, Network, Pyzor, Razor, Tls, ledger_keys,
};

type Texts = &'static [(&'static str, &'static [&'static str])];

const SECTIONS: [(&str, &str, Texts); 12] = [
    ("ledger", "What is remembered and how it is judged.", ledger_keys::KEYS),
    ("http", "Where HTTP listens and whom it answers.", Http::KEYS),
    ("check", "How checks are answered.", Check::KEYS),
    ("clients", "What holds for several of the older protocols.", Clients::KEYS),
    ("pyzor", "Where Pyzor's clients are answered.", Pyzor::KEYS),
    ("razor", "Where Razor's clients are answered.", Razor::KEYS),
    ("dcc", "Where DCC's clients are answered, and how.", Dcc::KEYS),
    ("fuzzy", "Where the fuzzy checks of rspamd are answered.", Fuzzy::KEYS),
    ("tls", "The certificate of listeners beyond loopback.", Tls::KEYS),
    (
        "limits",
        "How much anybody may ask and say. 0 is no limit. The operator has none, nor has loopback as a network.",
        Limits::KEYS,
    ),
    ("log", "What is logged, to standard error. Never a message's text.", Log::KEYS),
    (
        "network",
        "The network of sites that this one belongs to. Without `key` it stands alone.",
        Network::KEYS,
    ),
];

/// The width of comments in the file.
const COLUMNS: usize = 100;

pub(super) fn keys() -> Vec<Key> {
    let defaults = toml::Table::try_from(Config::default()).expect("defaults are plain values");
    let key = |section: &'static str, name: &str, text: &[&str]| {
        let default = defaults.get(section).and_then(|table| table.get(name)).map(toml::Value::to_string);
        let text = text.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        Key { section, name: name.to_owned(), default, text }
    };
    let of_section = |(section, _, texts): (&'static str, _, Texts)| {
        texts.iter().map(move |(name, text)| (section, name, text))
    };
    SECTIONS.into_iter().flat_map(of_section).map(|(section, name, text)| key(section, name, text)).collect()
}

pub(super) fn documented() -> String {
    let mut file = String::from("# Every key of seenit, with its default. Take away the # to change one.\n");
    let keys = keys();
    for (section, about, _) in SECTIONS {
        file.push('\n');
        comment(&mut file, about);
        file.push_str(&format!("[{section}]\n"));
        for key in keys.iter().filter(|key| key.section == section) {
            file.push('\n');
            comment(&mut file, &key.text);
            let default = key.default.as_deref().unwrap_or("\"\"");
            file.push_str(&format!("#{} = {default}\n", key.name));
        }
    }
    file
}

/// Writes text as comment lines of at most [`COLUMNS`].
fn comment(file: &mut String, text: &str) {
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > COLUMNS {
            file.push_str(&line);
            file.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    file.push_str(&line);
    file.push('\n');
}
