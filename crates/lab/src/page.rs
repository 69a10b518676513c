//! The report: one HTML page with every table and figure, nothing to load, readable on paper.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::account::{Account, Finding, Table, Verdict};
use crate::bench::LabError;
use crate::figure::Figure;

/// Plain enough for print: no background but the verdicts', and no figure torn in two.
const STYLE: &str = "\
body{font:16px/1.45 Georgia,serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#222}\
h1,h2,h3,th,.verdict{font-family:system-ui,sans-serif}h2{margin-top:3rem;border-bottom:2px solid #222}\
table{border-collapse:collapse;margin:.6rem 0;font-size:.86rem}th,td{padding:.16rem .6rem;text-align:right}\
th:first-child,td:first-child{text-align:left}thead th{border-bottom:1px solid #222}\
tbody tr:nth-child(even){background:#f6f6f6}\
.words th,.words td{text-align:left;vertical-align:top}\
.verdict{padding:.05rem .5rem;border-radius:.3rem;font-size:.85rem;font-weight:600;white-space:nowrap}\
.agrees,.yes{background:#d7efdf}.differs,.no{background:#f9dcc8}.ours{background:#e4e8f0}\
figure{display:inline-block;margin:1rem .5rem 1rem 0;max-width:100%;break-inside:avoid}svg{max-width:100%;height:auto}\
figcaption{max-width:38rem;font-size:.86rem}.scroll{overflow-x:auto}\
@media print{body{margin:0;max-width:none}h2{break-before:page}table,figure{break-inside:avoid}}";

/// One experiment's part of the page.
pub struct Chapter {
    /// The experiment's name, as typed.
    pub name: &'static str,
    /// What it answers.
    pub question: &'static str,
    /// What it found.
    pub account: Account,
}

/// The page. `made_with` says how to get it again: seed, profile, version.
pub fn page(chapters: &[Chapter], made_with: &str) -> Result<String, LabError> {
    let bodies = chapters.iter().map(chapter).collect::<Result<Vec<_>, _>>()?;
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width,initial-scale=1";
                title { "seenit lab" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "The papers' tables and figures, obtained anew" }
                p {
                    "Every number below was measured by the filters of seenit; printed values stand beside them. "
                    (made_with)
                }
                (contents(chapters))
                @for body in &bodies { (body) }
            }
        }
    };
    Ok(document.into_string())
}

/// The verdict of each table, before anything else.
fn contents(chapters: &[Chapter]) -> Markup {
    html! {
        table.words {
            thead { tr { th { "experiment" } th { "table" } th { "verdict" } th { "" } } }
            tbody {
                @for chapter in chapters {
                    @for (number, table) in chapter.account.tables.iter().enumerate() {
                        tr {
                            td { a href={ "#" (chapter.name) } { (chapter.name) } }
                            td { a href={ "#" (chapter.name) "-" (number) } { (table.title) } }
                            td { (verdict(table.verdict)) }
                            td { (table.summary) }
                        }
                    }
                }
            }
        }
    }
}

fn chapter(chapter: &Chapter) -> Result<Markup, LabError> {
    let account = &chapter.account;
    let figures = account.figures.iter().map(figure).collect::<Result<Vec<_>, _>>()?;
    Ok(html! {
        section id=(chapter.name) {
            h2 { (chapter.name) }
            p { (chapter.question) }
            @if !account.findings.is_empty() { (findings(&account.findings)) }
            @for (number, one) in account.tables.iter().enumerate() {
                div id={ (chapter.name) "-" (number) } { (table(one)) }
            }
            @for figure in &figures { (figure) }
        }
    })
}

fn findings(findings: &[Finding]) -> Markup {
    html! {
        table.words {
            thead { tr { th { "claim" } th { "holds" } th { "found" } } }
            tbody {
                @for finding in findings {
                    tr {
                        td { (finding.claim) }
                        td { span class={ "verdict " (finding.answer()) } { (finding.answer()) } }
                        td { (finding.evidence) }
                    }
                }
            }
        }
    }
}

fn table(table: &Table) -> Markup {
    html! {
        h3 { (table.title) }
        p { (verdict(table.verdict)) " " (table.summary) }
        div.scroll {
            table {
                thead { tr { @for head in &table.head { th { (head) } } } }
                tbody { @for row in &table.rows { tr { @for cell in row { td { (cell) } } } } }
            }
        }
    }
}

fn verdict(verdict: Verdict) -> Markup {
    html! { span class={ "verdict " (verdict.as_str()) } { (verdict.as_str()) } }
}

fn figure(figure: &Figure) -> Result<Markup, LabError> {
    let svg = figure.svg()?;
    Ok(html! {
        figure {
            (PreEscaped(svg))
            figcaption { strong { (figure.title) ". " } (figure.caption) }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Series};

    #[test]
    fn the_verdict_of_each_table_stands_at_the_top() {
        let table = |title: &str, verdict| Table {
            title: title.into(),
            head: vec!["m".into(), "a < b".into()],
            rows: vec![vec!["1".into(), "2".into()]],
            verdict,
            summary: format!("Summary of {title}."),
        };
        let figure = Figure {
            title: "A figure".into(),
            caption: "What to see.".into(),
            x: Axis::linear("x"),
            y: Axis::linear("y"),
            series: vec![Series::line("s", [(0.0, 1.0), (1.0, 2.0)])],
        };
        let account = Account {
            tables: vec![table("First", Verdict::Agrees), table("Second", Verdict::Differs)],
            figures: vec![figure],
            findings: vec![Finding::new("It holds", false, "0 of 3")],
        };
        let chapters = [Chapter { name: "counting", question: "How often?", account }];
        let page = page(&chapters, "Seed 1.").expect("drawn");
        let top = &page[..page.find("<section").expect("a section")];
        for text in ["First", "Second", "Summary of Second.", "agrees", "differs"] {
            assert!(top.contains(text), "{text} is not at the top");
        }
        assert!(page.contains("a &lt; b") && page.contains("<svg") && page.contains("0 of 3"));
        assert!(!page.contains("http://") || !page.contains("src="), "nothing to load");
    }
}
