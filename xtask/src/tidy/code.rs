//! Just enough of Rust's lexical rules to look at code without comments and literals.
//!
//! Invariant: pure; line breaks are kept, so that line numbers stay true.

/// The text with comments, string and character literals blanked out.
pub fn without_comments_and_strings(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => find(bytes, at, b"\n").unwrap_or(bytes.len()),
            b'/' if bytes.get(at + 1) == Some(&b'*') => block_comment_end(bytes, at),
            b'"' => string_end(bytes, at),
            b'r' if !continues_a_word(bytes, at) => match raw_string_end(bytes, at) {
                Some(end) => end,
                None => {
                    at += 1;
                    continue;
                }
            },
            b'\'' => match character_end(text, at) {
                Some(end) => end,
                None => {
                    at += 1;
                    continue;
                }
            },
            _ => {
                at += 1;
                continue;
            }
        };
        for byte in &mut out[at..end] {
            if *byte != b'\n' {
                *byte = b' ';
            }
        }
        at = end;
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn find(bytes: &[u8], from: usize, needle: &[u8]) -> Option<usize> {
    bytes[from..].windows(needle.len()).position(|window| window == needle).map(|offset| from + offset)
}

fn continues_a_word(bytes: &[u8], at: usize) -> bool {
    // `br"…"` is a literal as well.
    let before = |back: usize| at.checked_sub(back).map(|index| bytes[index]);
    let is_word = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if before(1) == Some(b'b') { is_word(before(2)) } else { is_word(before(1)) }
}

fn block_comment_end(bytes: &[u8], from: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = from;
    while at < bytes.len() {
        match bytes.get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") if depth == 1 => return at + 2,
            Some(b"*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    bytes.len()
}

fn string_end(bytes: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn raw_string_end(bytes: &[u8], from: usize) -> Option<usize> {
    let hashes = bytes[from + 1..].iter().take_while(|byte| **byte == b'#').count();
    let quote = from + 1 + hashes;
    if bytes.get(quote) != Some(&b'"') {
        return None;
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    Some(find(bytes, quote + 1, &close).map_or(bytes.len(), |at| at + close.len()))
}

/// The end of a character literal; nothing for a lifetime.
fn character_end(text: &str, from: usize) -> Option<usize> {
    let mut characters = text[from + 1..].char_indices();
    let (_, first) = characters.next()?;
    if first == '\\' {
        let rest = &text[from + 3..];
        return rest.find('\'').map(|offset| from + 3 + offset + 1);
    }
    let (offset, second) = characters.next()?;
    (second == '\'').then_some(from + 1 + offset + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let stripped = without_comments_and_strings(text);
        assert_eq!(stripped.lines().count(), text.lines().count());
        assert_eq!(squeezed(&stripped), expected);
    }

    #[test]
    fn comments_and_literals_vanish() {
        check("a // b\nc /* d /* e */ f */ g", "a c g");
        check("a \"b \\\" // c\" d", "a d");
        check("a r#\"b \" c\"# d", "a d");
        check("a '\"' b '\\'' c 'd' e", "a b c e");
    }

    #[test]
    fn lifetimes_and_words_stay() {
        check("fn a<'b>(c: &'b str) -> for_r", "fn a<'b>(c: &'b str) -> for_r");
        check("é '日' é", "é é");
    }
}
