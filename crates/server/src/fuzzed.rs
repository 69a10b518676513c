//! The decoders of requests, as `./fuzz` calls them: bytes are read, and no server is asked.

use hyper::Uri;
use seenit_ledger::signature::Case;

use crate::http::json::{Request, Shape};
use crate::http::problem::Problem;
use crate::http::{binary, query};

/// The most signatures of a request.
pub const SIGNATURES_MAX: usize = crate::limits::SIGNATURES_MAX;

/// The most cases of a request.
pub const CASES_MAX: usize = crate::limits::CASES_MAX;

/// What a JSON body says.
#[derive(Debug, PartialEq, Eq)]
pub struct JsonBody {
    /// The key that it has: `case`, `cases` or `signatures`.
    pub key: &'static str,
    /// Recipients, where it names them.
    pub recipients: Option<u64>,
    /// Every signature, encoded, whatever its case.
    pub signatures: Vec<Vec<u8>>,
    /// The cases; signatures one by one are in none.
    pub cases: Vec<Case>,
}

/// Reads a JSON body, or says what the client is told.
pub fn json_body(body: &[u8]) -> Result<JsonBody, String> {
    let why = |problem: Problem| problem.why().to_owned();
    let request = Request::parse(body).map_err(why)?;
    let key = match request.shape {
        Shape::Case => "case",
        Shape::Cases => "cases",
        Shape::Signatures => "signatures",
    };
    let signatures: Vec<_> = request.signatures().iter().map(|one| one.bytes().to_vec()).collect();
    assert_eq!(signatures.len(), request.len(), "every signature that was counted is there");
    Ok(JsonBody { key, recipients: request.recipients, signatures, cases: request.cases().map_err(why)? })
}

/// Reads a binary body as signatures, encoded one by one, or says what the client is told.
pub fn binary_signatures(body: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let read = binary::signatures(body).map_err(|problem| problem.why().to_owned())?;
    Ok(read.iter().map(|one| one.bytes().to_vec()).collect())
}

/// Reads a binary body as cases, or says what the client is told.
pub fn binary_cases(body: &[u8]) -> Result<Vec<Case>, String> {
    binary::cases(body).map_err(|problem| problem.why().to_owned())
}

/// Reads the parameters of a path, or says what the client is told; nothing where the text is no path.
pub fn parameters<const N: usize>(
    path: &str,
    names: [&str; N],
) -> Option<Result<[Option<String>; N], String>> {
    let uri: Uri = path.parse().ok()?;
    let read = query::parse(&uri, names).map_err(|problem| problem.why().to_owned());
    Some(read.map(|values| values.map(|value| value.map(str::to_owned))))
}
