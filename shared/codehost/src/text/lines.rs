//! Breaks constructs where a line starts: headings, rules, code blocks, commands.

use super::neutral::BREAK;

/// Breaks the construct that the line would start, behind list and quotation markers.
pub(super) fn break_line(line: &str) -> String {
    let rest = behind_containers(line);
    let whole = line.trim_start();
    let at = match () {
        () if starts_block(rest) => line.len() - rest.len(),
        () if is_rule(whole) => line.len() - whole.len(),
        () => return line.to_owned(),
    };
    format!("{}{BREAK}{}", &line[..at], &line[at..])
}

/// Returns the line without blanks, list markers and quotation markers.
fn behind_containers(line: &str) -> &str {
    let mut rest = line.trim_start();
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let marker = match rest.as_bytes().get(digits).copied() {
            Some(b'>') if digits == 0 => return behind_containers(&rest[1..]),
            Some(b'-' | b'*' | b'+') if digits == 0 => 1,
            Some(b'.' | b')') if digits > 0 => digits + 1,
            _ => return rest,
        };
        match rest[marker..].strip_prefix([' ', '\t']) {
            Some(after) => rest = after.trim_start(),
            None => return rest,
        }
    }
}

fn starts_block(rest: &str) -> bool {
    let after_marks = rest.trim_start_matches('#');
    let is_heading = after_marks.len() < rest.len()
        && (after_marks.is_empty() || after_marks.starts_with([' ', '\t']));
    let is_code = (rest.starts_with("```") && !rest.trim_start_matches('`').contains('`'))
        || rest.starts_with("~~~");
    // Programs that watch comments read `/merge` and the like as commands.
    let is_command = rest
        .strip_prefix('/')
        .is_some_and(|name| name.starts_with(char::is_alphabetic));
    is_heading || is_code || is_command || is_rule(rest)
}

/// Returns whether the line is a rule, or underlines the previous line as a heading.
fn is_rule(rest: &str) -> bool {
    let marks: String = rest
        .chars()
        .filter(|char| !matches!(char, ' ' | '\t'))
        .collect();
    let is_of = |mark: char| marks.chars().all(|char| char == mark);
    !marks.is_empty()
        && (is_of('=') || is_of('-') || (marks.len() >= 3 && (is_of('*') || is_of('_'))))
}
