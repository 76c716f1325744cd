//! The checklist of `update_status`, from the text or from the call's summary.

use super::figures::cut;

/// Separates the lines of a checklist in the call's summary.
const SEPARATOR: &str = " · ";
/// Maximum characters of an item.
const ITEM_MAX_CHARS: usize = 120;
/// Characters that the line about omitted items needs.
const OMITTED_CHARS: usize = 20;

/// The items, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Checklist(Vec<Item>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    mark: Mark,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Pending,
    Started,
    Done,
    /// A line without a mark, such as a heading.
    None,
}

impl Mark {
    pub(super) const fn sign(self) -> &'static str {
        match self {
            Self::Pending => "☐ ",
            Self::Started => "◐ ",
            Self::Done => "☑ ",
            Self::None => "",
        }
    }
}

impl Checklist {
    /// Parses a checklist with one item a line.
    pub(super) fn from_text(text: &str) -> Self {
        Self(text.lines().filter_map(Item::parse).collect())
    }

    /// Parses the summary of a call without the tool's name.
    pub(super) fn from_summary(summary: &str) -> Self {
        Self(summary.split(SEPARATOR).filter_map(Item::parse).collect())
    }

    /// Returns whether an item is marked, so that the text is a checklist.
    pub(super) fn has_marks(&self) -> bool {
        self.0.iter().any(|item| item.mark != Mark::None)
    }

    /// Returns the marks and texts.
    pub(super) fn items(&self) -> impl Iterator<Item = (Mark, &str)> {
        self.0.iter().map(|item| (item.mark, item.text.as_str()))
    }

    /// Returns the checklist with every marked item done.
    pub(super) fn all_done(&self) -> Self {
        let done = |item: &Item| Item {
            mark: if item.mark == Mark::None {
                Mark::None
            } else {
                Mark::Done
            },
            text: item.text.clone(),
        };
        Self(self.0.iter().map(done).collect())
    }

    /// Returns the lines within `max` characters, newlines included. Finished items give way first.
    pub(super) fn lines(&self, max: usize) -> Vec<String> {
        let all: Vec<_> = self
            .0
            .iter()
            .map(|item| format!("{}{}", item.mark.sign(), item.text))
            .collect();
        if length(&all) <= max {
            return all;
        }
        let room = max.saturating_sub(2 * OMITTED_CHARS);
        let finished = self
            .0
            .iter()
            .take_while(|item| item.mark == Mark::Done)
            .count();
        let first = (0..finished).find(|first| length(&all[*first..]) <= room);
        let first = first.unwrap_or(finished);
        let mut lines = Vec::new();
        if first > 0 {
            lines.push(format!("☑ {first} earlier"));
        }
        let mut used = 0;
        for line in &all[first..] {
            used += length(std::slice::from_ref(line));
            if used > room {
                break;
            }
            lines.push(line.clone());
        }
        let shown = lines.len() - usize::from(first > 0);
        let omitted = all.len() - first - shown;
        if omitted > 0 {
            lines.push(format!("… {omitted} more"));
        }
        lines
    }
}

impl Item {
    /// Parses a line, with or without a list marker. Returns `None` if it has no text.
    fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        let line = line.strip_prefix(['-', '*']).map_or(line, str::trim_start);
        let marks = [
            ("[ ]", Mark::Pending),
            ("[~]", Mark::Started),
            ("[x]", Mark::Done),
            ("[X]", Mark::Done),
        ];
        let marked = marks
            .iter()
            .find_map(|(text, mark)| Some((*mark, line.strip_prefix(text)?)));
        let (mark, text) = marked.unwrap_or((Mark::None, line));
        let words: Vec<_> = text.split_whitespace().collect();
        let text = cut(&words.join(" "), ITEM_MAX_CHARS);
        (!text.is_empty()).then_some(Self { mark, text })
    }
}

/// Returns the characters of the lines with their newlines.
fn length(lines: &[String]) -> usize {
    lines.iter().map(|line| line.chars().count() + 1).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_and_summaries_are_the_same_checklist() {
        let text = "Plan\n- [x] read  it\n[~] write\n\n* [ ] test\n[ ]";
        let lines = ["Plan", "☑ read it", "◐ write", "☐ test"];
        assert_eq!(Checklist::from_text(text).lines(900), lines);
        let summary = text.lines().collect::<Vec<_>>().join(SEPARATOR);
        let checklist = Checklist::from_summary(&summary);
        assert_eq!(checklist.lines(900), lines);
        assert_eq!(
            checklist.all_done().lines(900),
            ["Plan", "☑ read it", "☑ write", "☑ test"]
        );
    }

    #[test]
    fn long_checklist_omits_finished_items_first() {
        let mut items = vec!["[x] finished item"; 10];
        items.extend(["[~] started", "[ ] pending"]);
        let checklist = Checklist::from_text(&items.join("\n"));
        assert_eq!(
            checklist.lines(90),
            ["☑ 9 earlier", "☑ finished item", "◐ started", "☐ pending"]
        );
        let checklist = Checklist::from_text(&["[ ] a pending item"; 9].join("\n"));
        assert_eq!(
            checklist.lines(90),
            ["☐ a pending item", "☐ a pending item", "… 7 more"]
        );
    }

    proptest! {
        #[test]
        fn any_checklist_fits(text in "(\\[[ x~]\\] |[a-z]{1,40}|\n|\\PC){0,80}", max in 60usize..900) {
            prop_assert!(length(&Checklist::from_text(&text).lines(max)) <= max);
        }
    }
}
