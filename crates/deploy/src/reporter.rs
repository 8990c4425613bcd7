//! Output of progress and remarks.

use std::fmt::Debug;

/// Receives remarks and progress: a terminal, a page, or nothing.
pub trait Reporter: Debug {
    fn remark(&self, text: &str);

    /// The current activity; not a remark.
    fn doing(&self, words: &str);

    /// Starts a long task, which ends when the returned value is dropped.
    fn work(&self, words: &str) -> Box<dyn LongTask>;
}

/// Progress of a long task.
pub trait LongTask {
    /// `share` from 0 to 1, with a text.
    fn show(&self, share: f64, text: &str);
}

/// Reports the current activity as a remark and as the activity.
pub fn announce(reporter: &dyn Reporter, words: &str) {
    reporter.remark(words);
    reporter.doing(words);
}
