//! What users read: phrases that are not used any more, and every sentence that the program may print.

use crate::sources::flatten;
use proc_macro2::TokenStream;
use std::collections::BTreeSet;
use std::path::Path;

/// Phrases with a plain replacement. Written in two parts, so that this file does not contain them itself.
const AVOIDED: &[(&str, &str)] = &[
    ("and so do its ", "times"),
    ("answers wrongly, ", "so it is"),
    ("anyone who ", "reaches"),
    ("asked for isolation ", "{"),
    ("asks no one ", "who"),
    ("before the run is ", "wrong"),
    ("calls a ", "second"),
    ("cannot be ", "believed"),
    ("cannot be told", ", "),
    ("confirming ", "trials"),
    ("Cost of ", "agreeing"),
    ("could not be put ", "down to"),
    ("data hold ", "what"),
    ("given up", "\""),
    ("held ", "against"),
    ("is void", ":"),
    ("keeps ", "nothing:"),
    ("likely gives ", "out"),
    ("made an", "ew"),
    ("never ", "begun"),
    ("no database of ", "ours"),
    ("No ratio is ", "given"),
    ("not surely ", "kept"),
    ("number is ", "void"),
    ("processor ", "time"),
    ("sets the ", "throughput"),
    ("somebody's ", "server"),
    ("stops ", "paying"),
    ("surely ", "better"),
    ("surely ", "worse"),
    ("That number is not a ", "result"),
    ("this is its ", "speed"),
    ("Too noisy to ", "tell"),
    ("vouches ", "for it"),
    ("went down, with all ", "data"),
    ("were answered as the workload ", "asks"),
];

/// Crates whose text users read.
const READ: &[&str] = &[
    "adapter-http",
    "admin",
    "cli",
    "deploy",
    "drill",
    "drive",
    "judge",
    "report",
    "result",
    "rig",
    "schedule",
    "server",
    "sql",
    "transport",
    "trial",
    "verify",
];

/// The avoided phrases that a file contains, wherever its lines are broken.
pub fn avoided(path: &Path, text: &str) -> Vec<String> {
    let joined: String = text.replace("\\\n", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let phrases = AVOIDED.iter().map(|(first, second)| format!("{first}{second}"));
    let found = phrases.filter(|phrase| joined.contains(phrase.trim_end()));
    found.map(|phrase| format!("{}: `{phrase}`", path.display())).collect()
}

/// The sentences that a source file of the program may print: literals of several words outside of tests and SQL, and the help of options.
pub fn sentences(path: &Path, text: &str) -> Result<BTreeSet<String>, String> {
    let mut parts = path.iter().map(|part| part.to_string_lossy());
    let (Some(crates), Some(krate), Some(src)) = (parts.next(), parts.next(), parts.next()) else {
        return Ok(BTreeSet::new());
    };
    let is_test = path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"));
    if path.extension().is_none_or(|is| is != "rs")
        || crates != "crates"
        || src != "src"
        || is_test
        || !READ.contains(&&*krate)
    {
        return Ok(BTreeSet::new());
    }
    let stream: TokenStream =
        text.parse().map_err(|error| format!("{}: not Rust: {error}", path.display()))?;
    let mut tokens = Vec::new();
    flatten(stream, &mut tokens);
    let mut found: BTreeSet<String> = tokens.iter().filter_map(|(token, _)| sentence(token)).collect();
    if path.starts_with("crates/cli/src/args") || path == Path::new("crates/cli/src/args.rs") {
        let help = text.lines().filter_map(|line| line.trim().strip_prefix("/// "));
        found.extend(help.map(str::to_owned));
    }
    Ok(found.into_iter().map(|sentence| format!("{krate}: {sentence}")).collect())
}

/// What a literal says, on one line; nothing where it is not a sentence.
fn sentence(token: &str) -> Option<String> {
    let inner = token.strip_prefix('"')?.strip_suffix('"')?;
    let joined: String = inner.replace("\\\n", "").split_whitespace().collect::<Vec<_>>().join(" ");
    let lower = joined.to_lowercase();
    let is_sql = [
        "select ", "insert ", "update ", "delete ", "create ", "drop ", "alter ", "set ", "pragma ",
        "begin ", "with ",
    ]
    .iter()
    .any(|verb| lower.starts_with(verb));
    let words = joined
        .split(' ')
        .filter(|word| word.chars().filter(|letter| letter.is_alphabetic()).count() > 1)
        .count();
    (words > 2 && !is_sql && !joined.contains('<')).then_some(joined)
}
