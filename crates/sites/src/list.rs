//! Lists: what a payload holds. Each item has its length, 4 bytes, in front.

use crate::error::FormatError;
use crate::form::Reader;

/// Appends an item.
pub fn push(list: &mut Vec<u8>, item: &[u8]) {
    // What is listed fits a message, or a few of them.
    list.extend((item.len() as u32).to_le_bytes());
    list.extend_from_slice(item);
}

/// The items of a list that must have so many.
pub fn items(list: &[u8], count: u64) -> Result<Vec<&[u8]>, FormatError> {
    let mut rest = Reader::untagged(list);
    let mut items = Vec::new();
    for _ in 0..count {
        let length: u32 = rest.get()?;
        items.push(rest.run(length as usize)?);
    }
    rest.end()?;
    Ok(items)
}

/// The items of a list of any number.
pub fn all(list: &[u8]) -> Result<Vec<&[u8]>, FormatError> {
    let mut rest = Reader::untagged(list);
    let mut items = Vec::new();
    while rest.end().is_err() {
        let length: u32 = rest.get()?;
        items.push(rest.run(length as usize)?);
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_listed_is_read_and_nothing_else() {
        let mut list = Vec::new();
        push(&mut list, b"one");
        push(&mut list, b"");
        assert_eq!(items(&list, 2), Ok(vec![b"one".as_slice(), b""]));
        assert_eq!(all(&list), items(&list, 2));
        assert!(all(&list[..list.len() - 1]).is_err() && all(&[0xff; 8]).is_err());
        assert!(items(&list, 1).is_err() && items(&list, 3).is_err());
        assert!(items(&list[..list.len() - 1], 2).is_err());
        assert!(items(&[0xff; 8], u64::MAX).is_err());
    }
}
