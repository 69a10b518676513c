//! What the style of an element says of whether it is seen.
//!
//! Declarations are parted by `;`, a name from its value by the first `:`; names and values are in lower case, without
//! white space and without `!important`. Of two declarations of one name the last counts, as in a browser.

/// What a style says that matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    /// The element is not shown, nor is anything in it.
    pub(super) hides: bool,
    /// Whether what is in it cannot be seen, until an element inside says otherwise; `None` where it says nothing.
    pub(super) invisible: Option<bool>,
    /// Whether its letters have no size; `None` where it says nothing of it, or a part of the size around it.
    pub(super) sizeless: Option<bool>,
}

impl Style {
    pub(super) fn of(style: &[u8]) -> Self {
        let mut display = false;
        let mut opacity = false;
        let mut invisible = None;
        let mut sizeless = None;
        for declaration in style.split(|&byte| byte == b';') {
            let tight: Vec<u8> = declaration
                .iter()
                .filter(|byte| !byte.is_ascii_whitespace())
                .map(u8::to_ascii_lowercase)
                .collect();
            let Some(colon) = tight.iter().position(|&byte| byte == b':') else { continue };
            let value = &tight[colon + 1..];
            let value = value.strip_suffix(b"!important").unwrap_or(value);
            match &tight[..colon] {
                b"display" => display = value == b"none",
                b"visibility" => invisible = Some(value == b"hidden"),
                b"opacity" => opacity = is_zero(value),
                b"font-size" => sizeless = size(value).or(sizeless),
                _ => {}
            }
        }
        Style { hides: display || opacity, invisible, sizeless }
    }
}

/// Whether a size is none; `None` for a part of the size around it.
fn size(value: &[u8]) -> Option<bool> {
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.').count();
    let (number, unit) = value.split_at(digits);
    if is_zero(number) {
        return Some(true);
    }
    (unit != b"%" && unit != b"em").then_some(false)
}

fn is_zero(number: &[u8]) -> bool {
    number.contains(&b'0') && number.iter().all(|byte| matches!(byte, b'0' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_names_count_and_the_last_of_them() {
        let hides = |style: &str| Style::of(style.as_bytes()).hides;
        for hidden in ["Display : NONE", "color:red;display:none!important", "opacity:0.0"] {
            assert!(hides(hidden), "{hidden}");
        }
        for shown in [
            "-webkit-backface-visibility:hidden",
            "fill-opacity:0",
            "display:none;display:block",
            "opacity:0.5",
            "opacity:",
            "x:display:none",
            "",
        ] {
            assert!(!hides(shown), "{shown}");
        }
    }

    #[test]
    fn visibility_is_said_or_not() {
        let invisible = |style: &str| Style::of(style.as_bytes()).invisible;
        assert_eq!(
            ["visibility: Hidden", "visibility:visible", "color:red"].map(invisible),
            [Some(true), Some(false), None]
        );
    }

    #[test]
    fn sizes() {
        let sizeless = |style: &str| Style::of(style.as_bytes()).sizeless;
        assert_eq!(
            ["font-size:0", "font-size: 0.0PT !important", "font-size:0;"].map(sizeless),
            [Some(true); 3]
        );
        assert_eq!(
            ["font-size:0;font-size:14px", "font-size:small", "font-size:.5px"].map(sizeless),
            [Some(false); 3]
        );
        assert_eq!(
            ["mso-ansi-font-size:0", "font-size:0.9em", "font-size:80%", "color:red"].map(sizeless),
            [None; 4]
        );
    }
}
