//! How senders change a text: words, order, spelling, markup.

use seenit_filter::random::SplitMix;

use crate::draw;

/// Words of a block that is moved as a whole, at least.
const BLOCK_WORDS: usize = 25;

/// Words between two random strings.
const BUSTER_EVERY: usize = 40;

/// Random strings at the end.
const BUSTERS_LAST: usize = 5;

/// How often a letter that a digit looks like is written as that digit.
const DIGIT_ODDS: f64 = 0.5;

/// How often a word is torn by an element without meaning, and how often a hidden word comes before one.
const TORN_ODDS: f64 = 0.3;
const HIDDEN_ODDS: f64 = 0.1;

/// Real words to put in: as often as they occur in the corpus; and running text of its ham to put behind.
pub(super) struct Words<'a> {
    all: Vec<&'a str>,
    ham: Vec<&'a str>,
}

impl<'a> Words<'a> {
    /// Of these texts, spam or not.
    pub(super) fn new(texts: impl Iterator<Item = (bool, &'a str)>) -> Self {
        let is_word = |word: &&str| word.len() >= 2 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
        let mut all = Vec::new();
        let mut ham = Vec::new();
        for (is_spam, text) in texts {
            all.extend(text.split_whitespace().filter(is_word));
            if !is_spam {
                ham.extend(text.split_whitespace());
            }
        }
        Words { all, ham }
    }

    fn draw(&self, rng: &mut SplitMix) -> &'a str {
        self.all.get(rng.below(self.all.len() as u64) as usize).copied().unwrap_or("word")
    }

    /// Each word another one with these odds.
    pub(super) fn substitute(&self, text: &str, odds: f64, rng: &mut SplitMix) -> String {
        each_word(text, |word, out| out.push_str(if rng.unit() < odds { self.draw(rng) } else { word }))
    }

    /// Before each word another one with these odds.
    pub(super) fn insert(&self, text: &str, odds: f64, rng: &mut SplitMix) -> String {
        each_word(text, |word, out| {
            if rng.unit() < odds {
                out.extend([self.draw(rng), " "]);
            }
            out.push_str(word);
        })
    }

    /// Behind it running text of somebody's good mail, this share of its length in words.
    pub(super) fn append(&self, text: &str, share: f64, rng: &mut SplitMix) -> String {
        let count = (text.split_whitespace().count() as f64 * share).ceil() as usize;
        let from = rng.below(self.ham.len().saturating_sub(count).max(1) as u64) as usize;
        let run = &self.ham[from.min(self.ham.len())..(from + count).min(self.ham.len())];
        format!("{text}\n{}\n", run.join(" "))
    }
}

/// The text with each word written by `write`; lines stay lines.
fn each_word(text: &str, mut write: impl FnMut(&str, &mut String)) -> String {
    let mut out = String::new();
    for line in text.lines() {
        for word in line.split_whitespace() {
            write(word, &mut out);
            out.push(' ');
        }
        out.push('\n');
    }
    out
}

/// A message of plain text.
pub(super) fn plain(text: &str) -> String {
    format!("Content-Type: text/plain; charset=utf-8\n\n{text}")
}

/// Blocks of lines in another order.
pub(super) fn shuffle_blocks(text: &str, rng: &mut SplitMix) -> String {
    let mut blocks = vec![String::new()];
    let mut words = 0;
    for line in text.lines() {
        if words >= BLOCK_WORDS {
            blocks.push(String::new());
            words = 0;
        }
        words += line.split_whitespace().count();
        if let Some(block) = blocks.last_mut() {
            block.extend([line, "\n"]);
        }
    }
    draw::shuffle(&mut blocks, rng);
    blocks.concat()
}

/// Digits for letters that look like them, those that our folding knows and one (`9`) that it does not.
pub(super) fn digits(text: &str, rng: &mut SplitMix) -> String {
    let digit = |letter: char| {
        let digit = match letter.to_ascii_lowercase() {
            'o' => '0',
            'i' | 'l' => '1',
            'e' => '3',
            'a' => '4',
            's' => '5',
            't' => '7',
            'b' => '8',
            'g' => '9',
            _ => return letter,
        };
        if rng.unit() < DIGIT_ODDS { digit } else { letter }
    };
    text.chars().map(digit).collect()
}

/// Random strings between the words and at the end.
pub(super) fn hash_busters(text: &str, rng: &mut SplitMix) -> String {
    let mut count = 0;
    let mut out = each_word(text, |word, out| {
        out.push_str(word);
        count += 1;
        if count % BUSTER_EVERY == 0 {
            out.push(' ');
            buster(out, rng);
        }
    });
    for _ in 0..BUSTERS_LAST {
        buster(&mut out, rng);
        out.push(' ');
    }
    out
}

fn buster(out: &mut String, rng: &mut SplitMix) {
    (0..6 + rng.below(7)).for_each(|_| out.push(char::from(b'a' + rng.below(26) as u8)));
}

/// A message of HTML that looks the same and is written otherwise each time: words torn by elements and comments,
/// letters as numbers, words that nobody sees.
pub(super) fn html_noise(text: &str, words: &Words<'_>, rng: &mut SplitMix) -> String {
    let mut out = String::from("Content-Type: text/html; charset=utf-8\n\n<html><body>");
    for line in text.lines() {
        for word in line.split_whitespace() {
            if rng.unit() < HIDDEN_ODDS {
                hide(&mut out, words.draw(rng), rng);
            }
            let tear = if rng.unit() < TORN_ODDS { rng.below(word.chars().count() as u64) } else { u64::MAX };
            for (place, letter) in (0..).zip(word.chars()) {
                if place == tear {
                    noise(&mut out, rng);
                }
                match letter {
                    '&' | '<' | '>' => out += &format!("&#{};", letter as u32),
                    letter => out.push(letter),
                }
            }
            out.push(' ');
        }
        out += "<br>\n";
    }
    out + "</body></html>\n"
}

/// A word that nobody sees, in one of the ways in which senders hide words.
fn hide(out: &mut String, word: &str, rng: &mut SplitMix) {
    *out += &match rng.below(5) {
        0 => format!("<span style=\"display:none\">{word} </span>"),
        1 => format!("<font style=\"color:red;FONT-SIZE: 0px !important\">{word} </font>"),
        2 => format!("<span style=\"opacity:0.0\">{word} </span>"),
        3 => format!("<i hidden>{word} </i>"),
        _ => format!("<b style=\"visibility: hidden\">{word} </b>"),
    };
}

fn noise(out: &mut String, rng: &mut SplitMix) {
    let mut name = String::new();
    buster(&mut name, rng);
    *out += &match rng.below(3) {
        0 => format!("<!-- {name} -->"),
        1 => format!("<font class=\"{name}\"></font>"),
        _ => format!("<{name}>"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "one two three\nfour <five> six & seven\n";

    fn rng() -> SplitMix {
        SplitMix(5)
    }

    #[test]
    fn as_many_words_change_as_was_asked_for() {
        let long = TEXT.repeat(500);
        let words = Words::new([(false, "alpha beta gamma")].into_iter());
        let count = |text: &str| text.split_whitespace().count() as f64;
        let changed = |text: &str| {
            text.split_whitespace().filter(|word| ["alpha", "beta", "gamma"].contains(word)).count() as f64
        };
        let substituted = words.substitute(&long, 0.2, &mut rng());
        assert_eq!(count(&substituted), count(&long));
        assert!((changed(&substituted) / count(&long) - 0.2).abs() < 0.03);
        let inserted = words.insert(&long, 0.1, &mut rng());
        assert!((count(&inserted) / count(&long) - 1.1).abs() < 0.02);
        assert_eq!(count(&inserted) - changed(&inserted), count(&long));
        assert!(words.append(&long, 0.2, &mut rng()).starts_with(&long));
    }

    #[test]
    fn blocks_move_and_nothing_is_lost() {
        let lines: String = (0..200).map(|line| format!("line {line} has some words in it\n")).collect();
        let shuffled = shuffle_blocks(&lines, &mut rng());
        assert_ne!(shuffled, lines);
        let sorted = |text: &str| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.sort_unstable();
            lines
        };
        assert_eq!(sorted(&shuffled), sorted(&lines));
    }

    #[test]
    fn noise_is_not_seen() {
        let words = Words::new([(false, "alpha beta")].into_iter());
        let raw = html_noise(TEXT, &words, &mut rng());
        let seen = seenit_signature::Message::parse(raw.as_bytes()).text;
        let tight = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(tight(&seen), tight(TEXT));
        assert!(raw.len() > 2 * TEXT.len());
    }
}
