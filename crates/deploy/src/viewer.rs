//! Who is told what goes on.

use std::fmt::Debug;

/// Somebody who looks on: a terminal, a page, or nobody.
pub trait Viewer: Debug {
    /// A remark.
    fn say(&self, text: &str);

    /// What goes on from now on, for those who look; not a remark.
    fn doing(&self, words: &str);

    /// Long work, which ends with what is given back.
    fn work(&self, words: &str) -> Box<dyn Work>;
}

/// Long work that tells how far it has come.
pub trait Work {
    /// `share` from 0 to 1, and what there is to say.
    fn show(&self, share: f64, said: &str);
}

/// Says what goes on from now on, to all who look.
pub fn tell(viewer: &dyn Viewer, words: &str) {
    viewer.say(words);
    viewer.doing(words);
}
