//! That a wrong configuration is refused by line and key, and that the documents list every key.

use super::*;

fn refused(text: &str) -> String {
    Config::parse(text).expect_err("a wrong configuration").to_string()
}

#[test]
fn an_empty_file_is_all_defaults_and_so_is_the_documented_one() {
    assert_eq!(Config::parse("").expect("nothing"), Config::default());
    assert_eq!(Config::parse(&Config::documented()).expect("comments"), Config::default());
}

#[test]
fn the_documented_keys_are_all_keys() {
    let defaults = toml::Table::try_from(Config::default()).expect("a table");
    let keys = Config::keys();
    for (section, table) in &defaults {
        for name in table.as_table().expect("a section").keys() {
            assert!(keys.iter().any(|key| key.section == section && key.name == *name), "{section}.{name}");
        }
    }
    // Taken out of its comment, every key is read.
    let unset = "#certificate = \"\"\n";
    assert!(Config::documented().contains(unset));
    let all = Config::documented()
        .replace(unset, "")
        .replace("#key = \"\"\n", "")
        .replace("#whitelist = \"\"\n", "")
        .replace("#credentials = \"\"\n", "")
        .replace("#ca = \"\"\n", "");
    let lines = all.lines().map(|line| match line.strip_prefix('#') {
        Some(code) if !code.starts_with(' ') => code,
        _ => line,
    });
    let all: String = lines.flat_map(|line| [line, "\n"]).collect();
    assert_eq!(Config::parse(&all).expect("every key with its default"), Config::default());
}

#[test]
fn errors_name_the_line_and_the_key() {
    let unknown = refused("[http]\n\nlissten = 3\n");
    assert!(unknown.starts_with("line 3: http.lissten: unknown key: did you mean `listen`?"), "{unknown}");
    let elsewhere = refused("[http]\ncapacity = 3\n");
    assert_eq!(elsewhere, "line 2: http.capacity: unknown key: `capacity` belongs in [ledger]");
    let no_list = refused("[http]\nlisten = \"127.0.0.1:1\"\n");
    assert!(no_list.contains("http.listen: must be a list in brackets"), "{no_list}");
    let no_port = refused("[http]\nlisten = [\"127.0.0.1\"]\n");
    assert!(no_port.contains("http.listen: must be an address with a port"), "{no_port}");
    let twice = refused("[ledger]\nquorum = 10\nquorum = 11\n");
    assert!(twice.contains("this key is given twice"), "{twice}");
    let wrong_type = refused("[ledger]\n# how many\ncapacity = \"many\"\n");
    assert!(
        wrong_type.starts_with("line 3: ledger.capacity: must be a whole number, not text \"many\""),
        "{wrong_type}"
    );
    let value = refused("[log]\nlevel = \"info\"\n[ledger]\nrate = 0.5\n");
    assert_eq!(value, "line 4: ledger.rate = 0.5: must be from 0.000001 to 0.1");
    let section = refused("[legder]\n");
    assert!(section.starts_with("line 1: ") && section.contains("`legder`"), "{section}");
    let syntax = refused("[http]\nlisten = [\n");
    assert!(syntax.starts_with("line 2: ") || syntax.starts_with("line 3: "), "{syntax}");
    assert!(refused("[limits]\nnetworks_max = 1\n").starts_with("line 2: limits.networks_max = 1: "));
    assert!(refused("[http]\nnames = [\"Example.ORG\"]\n").starts_with("line 2: http.names = Example.ORG: "));
}

#[test]
fn beyond_loopback_it_takes_tls_or_a_word() {
    let open = "[http]\nlisten = [\"192.0.2.1:80\"]\n";
    assert!(refused(open).starts_with("line 2: http.listen = 192.0.2.1:80: is beyond loopback"));
    Config::parse(&format!("{open}insecure_plaintext = true\n")).expect("told so");
    Config::parse(&format!("{open}[tls]\ncertificate = \"a\"\nkey = \"b\"\n")).expect("TLS");
    assert!(refused("[tls]\nkey = \"b\"\n").starts_with("line 2: tls.key = b: needs tls.certificate"));
}

#[test]
fn a_network_is_a_key_and_where_to_meet() {
    let key = "key = \"8a88e3dd7409f195fd52db2d3cba5d72ca6709bf1d94121bf3748801b40f6f5c\"\n";
    let network = |lines: &str| format!("[network]\n{lines}");
    let both = Config::parse(&network(&format!("{key}nats = [\"tls://nats.example.org\"]\n")));
    assert!(both.expect("a network").network.key().is_some());
    assert!(Config::default().network.key().is_none(), "a site stands alone unless told otherwise");
    assert!(refused(&network(key)).starts_with("line 2: network.key = 8a88"));
    assert!(refused(&network("nats = [\"a\"]\n")).starts_with("line 2: network.nats = a: needs network.key"));
    assert!(refused(&network("key = \"12\"\n")).starts_with("line 2: network.key = 12: a key is 64"));
    let wrong = refused(&network(&format!("{key}nats = [\"http://a\"]\n")));
    assert!(wrong.starts_with("line 3: network.nats = http://a: is no address of a server"), "{wrong}");
    assert!(refused(&network("snapshot_secs = 1\n")).contains("must be from 60 to 604800"));
}

#[test]
fn a_file_is_named_in_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("seenit.toml");
    assert!(Config::read(&path).expect_err("no file").to_string().contains("seenit.toml: "));
    fs::write(&path, "[log]\nlevel = 3\n").expect("written");
    assert!(Config::read(&path).expect_err("a number").to_string().contains("seenit.toml:2: log.level: "));
}

/// Where the documents are that are made of the keys.
fn path_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name)
}

/// Compares a document with what it should be by the code; writes it anew where `SEENIT_BLESS` is set.
fn compare(name: &str, wanted: impl FnOnce(&str) -> String) {
    let path = path_of(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let wanted = wanted(&text);
    if std::env::var_os("SEENIT_BLESS").is_some() {
        fs::write(&path, &wanted).expect("the document is written");
        return;
    }
    assert!(
        text == wanted,
        "docs/reference/{name} is not what the code says; SEENIT_BLESS=1 writes it anew:\n{}",
        wanted
            .lines()
            .zip(text.lines())
            .find(|(one, other)| one != other)
            .map_or("its length differs", |one| one.0)
    );
}

#[test]
fn the_example_file_is_what_the_code_says() {
    compare("seenit.toml", |_| Config::documented());
}

/// What opens a table of keys in the explanation.
const TABLE: &str = "| key | default | meaning |\n|---|---|---|\n";

/// The table of a section's keys.
fn table_of(section: &str) -> String {
    let mut table = TABLE.to_owned();
    for key in Config::keys().iter().filter(|key| key.section == section) {
        let default = key.default.as_ref().map_or("unset".to_owned(), |default| format!("`{default}`"));
        table.push_str(&format!("| `{}` | {default} | {} |\n", key.name, key.text));
    }
    table
}

/// The tables of configuration.md are made of the keys; what stands around them is written by hand.
#[test]
fn the_explanation_has_the_tables_of_all_keys() {
    compare("configuration.md", |text| {
        let mut sections: Vec<&str> = Config::keys().iter().map(|key| key.section).collect();
        sections.dedup();
        let chapters =
            text.split("\n## [").skip(1).map(|chapter| chapter.split(']').next().unwrap_or_default());
        assert_eq!(chapters.collect::<Vec<_>>(), sections, "a chapter for each section, in their order");
        let mut wanted = text.to_owned();
        for section in sections {
            let chapter = wanted.find(&format!("\n## [{section}]\n")).expect("it was found before");
            let begin = chapter + wanted[chapter..].find(TABLE).expect("a chapter has a table of keys");
            let end = wanted[begin..].find("|\n\n").map_or(wanted.len(), |length| begin + length + 2);
            wanted.replace_range(begin..end, &table_of(section));
        }
        wanted
    });
}
