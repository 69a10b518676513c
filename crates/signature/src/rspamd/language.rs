//! The language of a text, which decides how its words are stemmed.
//!
//! rspamd compares the text with statistics of many languages. We count a few words that hardly any sentence goes
//! without: this is often, not always, the same language, and a guess in short texts for both.

use std::collections::HashMap;
use std::sync::LazyLock;

use rust_stemmers::Algorithm;

/// Words that tell languages apart. English comes first because it wins a draw.
const WORDS: [(Algorithm, &str); 9] = [
    (Algorithm::English, "the and of to is in you for that this with are on it your be or not have we"),
    (Algorithm::French, "le la les de des du et est une vous votre pour dans que qui nous sur pas avec au"),
    (
        Algorithm::German,
        "der die das und ist sie ihr ihre nicht mit von zu ein eine auf für den wir sich dem",
    ),
    (Algorithm::Spanish, "el la los las de que un una su por con para es del se usted al más sus está"),
    (Algorithm::Portuguese, "os as de que em um uma seu sua por com para do da não você mais ao seus está"),
    (Algorithm::Italian, "il la di che un una per con non del della sono si le gli nel tuo più alla questo"),
    (Algorithm::Dutch, "de het een en van je uw niet met voor op dat te zijn wij aan deze om naar bij"),
    (Algorithm::Swedish, "och att det som är på för av med den till inte har du vi ett om din från eller"),
    (Algorithm::Danish, "og det som er på af med den til ikke har du vi et om din fra eller jeg dig"),
];

/// The languages that each of those words speaks for, by their numbers.
static SPEAKS_FOR: LazyLock<HashMap<&str, Vec<usize>>> = LazyLock::new(|| {
    let mut speaks_for: HashMap<&str, Vec<usize>> = HashMap::new();
    for (language, (_, list)) in WORDS.iter().enumerate() {
        list.split(' ').for_each(|word| speaks_for.entry(word).or_default().push(language));
    }
    speaks_for
});

/// Cyrillic and Greek tell themselves.
const SCRIPTS: [(Algorithm, std::ops::RangeInclusive<char>); 2] =
    [(Algorithm::Russian, '\u{400}'..='\u{4ff}'), (Algorithm::Greek, '\u{370}'..='\u{3ff}')];

/// The language that most words of a text speak for.
pub(super) fn of_words(words: &[String]) -> Algorithm {
    for (language, letters) in SCRIPTS {
        let own =
            words.iter().filter(|word| word.chars().next().is_some_and(|c| letters.contains(&c))).count();
        if own * 2 > words.len() {
            return language;
        }
    }
    let mut counts = [0; WORDS.len()];
    for language in words.iter().filter_map(|word| SPEAKS_FOR.get(word.as_str())).flatten() {
        counts[*language] += 1;
    }
    let most = counts.iter().max().unwrap_or(&0);
    let first = counts.iter().position(|count| count == most).unwrap_or(0);
    WORDS[first].0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_are_told_apart() {
        let language = |text: &str| of_words(&text.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(language("the offer is for you and your friends"), Algorithm::English);
        assert_eq!(
            language("vous avez une carte cadeau qui vous attend dans votre compte"),
            Algorithm::French
        );
        assert_eq!(
            language("ihr konto wurde gesperrt und sie können es nicht mehr nutzen"),
            Algorithm::German
        );
        assert_eq!(language("você não pode usar a sua conta até o fim do mês"), Algorithm::Portuguese);
        assert_eq!(language("ваш счёт закрыт"), Algorithm::Russian);
        assert_eq!(language("zzz"), Algorithm::English);
    }
}
