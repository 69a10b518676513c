//! The report: one HTML page with every table and figure, nothing to load, readable on paper.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::account::{Account, Finding, Table, Verdict};

/// Plain enough for print: no background but the verdicts', and no figure torn in two.
const STYLE: &str = "\
body{font:16px/1.45 Georgia,serif;max-width:112rem;margin:2rem auto;padding:0 1.2rem;color:#222}p{max-width:46rem}\
h1,h2,h3,th,.verdict{font-family:system-ui,sans-serif}h2{margin-top:3rem;border-bottom:2px solid #222}\
table{border-collapse:collapse;margin:.6rem 0;font-size:.86rem}th,td{padding:.16rem .6rem;text-align:right}\
th:first-child,td:first-child{text-align:left}thead th{border-bottom:1px solid #222}\
tbody tr:nth-child(even){background:#f6f6f6}\
.words th,.words td{text-align:left;vertical-align:top}\
.verdict{padding:.05rem .5rem;border-radius:.3rem;font-size:.85rem;font-weight:600;white-space:nowrap}\
.agrees,.yes{background:#d7efdf}.differs,.no{background:#f9dcc8}.ours{background:#e4e8f0}\
.figures{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(26rem,100%),1fr));gap:1.6rem;margin:1.4rem 0}\
.tables{display:flex;flex-wrap:wrap;gap:0 3rem;align-items:flex-start}.tables>div{max-width:100%}\
figure{margin:0;break-inside:avoid}svg{width:100%;height:auto}figcaption{font-size:.86rem}.scroll{overflow-x:auto}\
nav ol{columns:20rem;padding-left:1.4rem}nav li{break-inside:avoid;margin-bottom:.5rem}\
nav ul{padding-left:1.1rem;font-size:.86rem}\
@media print{body{margin:0;max-width:none}h2{break-before:page}table,figure{break-inside:avoid}\
.figures{grid-template-columns:1fr 1fr}}";

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
pub fn page(chapters: &[Chapter], made_with: &str) -> String {
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
                (verdicts(chapters))
                @for one in chapters { (chapter(one)) }
            }
        }
    };
    document.into_string()
}

/// Where everything is: experiments, and the figures of each.
fn contents(chapters: &[Chapter]) -> Markup {
    html! {
        nav {
            ol {
                @for chapter in chapters {
                    li {
                        a href={ "#" (chapter.name) } { (chapter.name) } ": " (chapter.question)
                        ul {
                            @for (number, figure) in chapter.account.figures.iter().enumerate() {
                                li { a href={ "#" (figure_id(chapter, number)) } { (figure.title) } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn figure_id(chapter: &Chapter, number: usize) -> String {
    format!("{}-figure-{}", chapter.name, number + 1)
}

/// The verdict of each table, before anything else.
fn verdicts(chapters: &[Chapter]) -> Markup {
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

fn chapter(chapter: &Chapter) -> Markup {
    let account = &chapter.account;
    html! {
        section id=(chapter.name) {
            h2 { (chapter.name) }
            p { (chapter.question) }
            @if !account.findings.is_empty() { (findings(&account.findings)) }
            div.figures {
                @for (number, one) in account.figures.iter().enumerate() {
                    figure id=(figure_id(chapter, number)) {
                        (PreEscaped(one.svg()))
                        figcaption { strong { (one.title) ". " } (one.caption) }
                    }
                }
            }
            div.tables {
                @for (number, one) in account.tables.iter().enumerate() {
                    div id={ (chapter.name) "-" (number) } { (table(one)) }
                }
            }
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Figure, Series};

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
        let page = page(&chapters, "Seed 1.");
        let top = &page[..page.find("<section").expect("a section")];
        for text in ["First", "Second", "Summary of Second.", "agrees", "differs", "#counting-figure-1"] {
            assert!(top.contains(text), "{text} is not at the top");
        }
        assert!(page.contains("<figure id=\"counting-figure-1\">"), "the contents lead somewhere");
        assert!(page.contains("class=\"figures\""), "figures stand side by side");
        assert!(page.contains("a &lt; b") && page.contains("<svg") && page.contains("0 of 3"));
        assert!(!page.contains("src=") && !page.contains("<link"), "nothing to load");
    }
}
