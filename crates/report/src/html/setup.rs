//! The comparison key: everything that must be the same before two numbers may be held against each other.

use super::markup::Markup;
use crate::findings;
use result::Trial;

/// Writes it.
pub(super) fn render(section: &mut Markup, trial: &Trial) {
    section.element("div", &[("class", "keys")], |keys| {
        for (title, pairs) in findings::key(trial) {
            keys.element("div", &[], |group| {
                group.line("h3", "", title);
                group.element("dl", &[], |list| {
                    for (name, value) in pairs {
                        list.line("dt", "", &name).line("dd", "", &value);
                    }
                });
            });
        }
    });
}
