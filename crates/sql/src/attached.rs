//! Connections that reach several stores, for engines that can commit in all of them at once.

use crate::SqlConn;

/// A connection to several stores, each with the same statements. What is begun is a transaction in two of them, which one
/// commit ends in both.
pub trait Attached: SqlConn {
    /// The next transactions lie in these stores, by their places.
    fn within(&mut self, stores: [usize; 2]);
    /// The next statements are for this one of them.
    fn at(&mut self, store: usize);
}

/// The text of a statement for the tables of an attached database: each name of a table that follows `from`, `into`, `join` or
/// `update` is put under the name of the database. Statements that name tables elsewhere too, as in `account.id`, are none of
/// those that this is for.
pub fn of_database(text: &str, database: &str) -> String {
    let mut after_table = false;
    let mut words = Vec::new();
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim();
        match after_table && bare.starts_with(|first: char| first.is_ascii_alphabetic()) {
            true => words.push(format!("{database}.{word}")),
            false => words.push(word.to_owned()),
        }
        if !bare.is_empty() {
            after_table = matches!(bare, "from" | "into" | "join" | "update");
        }
    }
    words.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(of_database(text, "shard_1"), expected);
    }

    #[test]
    fn tables_are_those_of_the_database_and_nothing_else_is() {
        check("select id\nfrom account\nwhere id = ?1", "select id\nfrom shard_1.account\nwhere id = ?1");
        check(
            "insert into entry (run, account)\nvalues (?1)",
            "insert into shard_1.entry (run, account)\nvalues (?1)",
        );
        check("update account\nset balance = 1", "update shard_1.account\nset balance = 1");
        check(
            "select 1 from (select 2 from a join\n  b)",
            "select 1 from (select 2 from shard_1.a join\n  shard_1.b)",
        );
    }
}
