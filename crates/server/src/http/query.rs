//! What follows the question mark.

use hyper::Uri;

use super::problem::Problem;

/// The values of the named parameters. Any other parameter, and any one twice, is a mistake that is said.
pub(crate) fn parse<'a, const N: usize>(
    uri: &'a Uri,
    names: [&str; N],
) -> Result<[Option<&'a str>; N], Problem> {
    let mut values = [None; N];
    for pair in uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let Some(index) = names.iter().position(|known| *known == name) else {
            return Err(Problem::bad_query(format!(
                "there is no parameter {name:?} here, only {}",
                names.join(", ")
            )));
        };
        if values[index].replace(value).is_some() {
            return Err(Problem::bad_query(format!("the parameter {name} is there twice")));
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_and_strangers_refused() {
        let of = |text: &'static str| {
            let uri = Uri::from_static(text);
            parse(&uri, ["kind", "digest"]).map(|values| values.map(|value| value.map(str::to_owned)))
        };
        let is = |text, kind: Option<&str>, digest: Option<&str>| {
            assert_eq!(of(text).expect(text), [kind.map(str::to_owned), digest.map(str::to_owned)]);
        };
        is("/a", None, None);
        is("/a?digest=00&kind=pyzor", Some("pyzor"), Some("00"));
        is("/a?&kind&", Some(""), None);
        assert!(of("/a?kind=1&kind=1").is_err() && of("/a?sort=1").is_err() && of("/a?%6bind=1").is_err());
    }
}
