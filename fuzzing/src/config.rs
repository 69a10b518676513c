//! The laws of configurations, checked on whatever text the fuzzer comes up with.
//!
//! What is accepted has values that make sense, and written out in full it is read as the same. An error names a line
//! of the text, if it names one. Whitelists, the other text that an operator writes, are read by the target `dcc`.

use std::str;

use seenit_server::Config;

/// Reads text as a configuration, and holds it against every law.
///
/// # Panics
/// When a law is broken.
pub fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    match Config::parse(text) {
        Ok(config) => {
            assert_eq!(config.check(), Ok(()), "what is accepted makes sense");
            let full = toml::to_string(&config).expect("what was TOML can be TOML");
            let again = Config::parse(&full).unwrap_or_else(|error| panic!("{error}, in\n{full}"));
            assert_eq!(again, config, "written out in full");
        }
        Err(error) => {
            let lines = text.bytes().filter(|byte| *byte == b'\n').count() + 1;
            assert!(error.line.is_none_or(|line| (1..=lines).contains(&line)), "{error} of {lines} lines");
            assert!(!error.why.is_empty(), "an error says what is wrong");
        }
    }
}
