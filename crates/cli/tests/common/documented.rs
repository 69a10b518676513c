//! The lines that docs/guide/clients.md tells people to write: tests write them, too.

const DOCUMENT: &str = include_str!("../../../../docs/guide/clients.md");

/// The blocks of lines of a section, in their order.
pub(crate) fn blocks(section: &str) -> impl Iterator<Item = &'static str> {
    let head = format!("\n## {section}\n");
    let (_, text) = DOCUMENT.split_once(&head).unwrap_or_else(|| panic!("no section {section}"));
    let text = text.split("\n## ").next().unwrap_or_default();
    text.split("```\n").skip(1).step_by(2)
}

/// The next block, with something of the test's own in place of what is documented.
pub(crate) fn changed(block: Option<&str>, documented: &str, own: &str) -> String {
    let block = block.expect("a block of lines");
    assert!(block.contains(documented), "{documented} is not in these lines:\n{block}");
    block.replace(documented, own)
}
