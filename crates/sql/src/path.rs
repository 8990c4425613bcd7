//! Paths within addresses, which are printed and read again: by ourselves, by servers in other languages, by people.

use percent_encoding::{percent_decode_str, percent_encode_byte};
use std::path::{Path, PathBuf};

/// A path as an address has it: what would mean something else there (`?`, `#`, `%`, control characters) and what is not UTF-8 are
/// percent-encoded (RFC 3986, 2.1); other letters are left as people read them.
pub fn written(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for letter in chunk.valid().chars() {
            match letter {
                '?' | '#' | '%' | '\0'..='\x1f' | '\x7f' => text.push_str(percent_encode_byte(letter as u8)),
                letter => text.push(letter),
            }
        }
        text.extend(chunk.invalid().iter().map(|byte| percent_encode_byte(*byte)));
    }
    text
}

/// Reads it again. A `%` that is not followed by two hexadecimal digits stands for itself.
///
/// # Errors
/// It has a zero byte, which no path can have, or is not a path of this system: one clause.
pub fn read(text: &str) -> Result<PathBuf, String> {
    let bytes: Vec<u8> = percent_decode_str(text).collect();
    if bytes.contains(&0) {
        return Err("a path has no zero byte".into());
    }
    of_bytes(bytes)
}

#[cfg(unix)]
fn of_bytes(bytes: Vec<u8>) -> Result<PathBuf, String> {
    use std::os::unix::ffi::OsStringExt;
    Ok(std::ffi::OsString::from_vec(bytes).into())
}

#[cfg(not(unix))]
fn of_bytes(bytes: Vec<u8>) -> Result<PathBuf, String> {
    String::from_utf8(bytes).map(PathBuf::from).map_err(|_| "a path is text in UTF-8 here".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_is_left_alone_as_far_as_can_be() {
        let check = |path: &str, text: &str| {
            assert_eq!(written(Path::new(path)), text);
            assert_eq!(read(text), Ok(PathBuf::from(path)));
        };
        check("/data/bench.db", "/data/bench.db");
        check("/a b/ü&=.db", "/a b/ü&=.db");
        check("/a b?c#d%e&f=g/x", "/a b%3Fc%23d%25e&f=g/x");
        check("100%/50%25", "100%25/50%2525");
        check("line\nend", "line%0Aend");
        assert_eq!(read("%41%2fb%3"), Ok(PathBuf::from("A/b%3")));
        assert!(read("%00").is_err());
    }

    #[cfg(unix)]
    proptest! {
        #[test]
        fn any_path_comes_back_from_an_address(bytes in prop::collection::vec(1_u8.., 0..40)) {
            let path = of_bytes(bytes).unwrap();
            let text = written(&path);
            prop_assert!(!text.contains(['?', '#', '\n', '\0']), "{text}");
            prop_assert_eq!(read(&text), Ok(path));
        }
    }
}
