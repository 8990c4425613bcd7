//! What was loaded and no call changes, in short, to compare with every answer that shows it.

use crate::call::{From, List};
use crate::data::FIRST_WORDS;
use crate::outcome::{Listed, Reply};
use crate::ranks::Ranks;
use crate::{Cardinality, Digest, Filter};
use model::Wanted;
use model::random::mix;
use std::sync::Arc;

/// Digests and counts of loaded rows.
#[derive(Debug)]
pub struct Loaded {
    size: Cardinality,
    /// What all templates are answered with, in the order of their ids.
    templates: Box<[Digest]>,
    /// Foods whose name begins with each of the first words.
    begin_with: [u64; FIRST_WORDS.len()],
    ranks: Option<Ranks>,
}

impl Loaded {
    /// Of data of that size.
    pub fn of(size: &Cardinality) -> Arc<Loaded> {
        let digest = |id| match size.template(id, Wanted::Digest).reply {
            Reply::Template { digest, .. } => digest,
            _ => Digest::default(),
        };
        let mut begin_with = [0; FIRST_WORDS.len()];
        for id in 1..=u64::from(size.foods) {
            begin_with[crate::data::first_word_at(mix(id))] += 1;
        }
        let templates = (1..=size.templates).map(digest).collect();
        Arc::new(Loaded { size: *size, templates, begin_with, ranks: Ranks::of(size) })
    }

    /// What a template is answered with.
    pub(crate) fn template(&self, id: i64) -> Option<&Digest> {
        self.templates.get(usize::try_from(id).ok()?.checked_sub(1)?)
    }

    /// Loaded foods that a filter lets through, at least.
    pub(crate) fn foods(&self, filter: &Filter) -> u64 {
        let Cardinality { foods, categories, .. } = self.size;
        match filter {
            Filter::All => foods.into(),
            Filter::Category(id) if (1..=i64::from(categories)).contains(id) => {
                u64::from(foods + categories - *id as u32) / u64::from(categories)
            }
            Filter::Category(_) => 0,
            Filter::Search(text) => {
                let at = FIRST_WORDS.iter().position(|word| *word == text.as_str());
                at.map_or(0, |at| self.begin_with[at])
            }
        }
    }

    /// A part of a list has as many foods as were loaded for it, at least: others come and go, and these stay where they are in both
    /// orders. `following` are those that come after the food that a part begins behind. Gives those that come after a full part.
    pub(crate) fn check(&self, list: &List, listed: &Listed, following: u64) -> Result<u64, &'static str> {
        let all = self.foods(&list.filter);
        let least = match list.from {
            From::Page(page) => all.saturating_sub(u64::from(page.saturating_sub(1)) * u64::from(list.size)),
            From::After(..) => following,
        };
        let listed_least = least.min(list.size.into());
        if u64::from(listed.count) < listed_least || listed.total.is_some_and(|total| total < all) {
            return Err("foods that were loaded are missing from a list");
        }
        Ok(least.saturating_sub(list.size.into()))
    }

    /// A part of a list begins where it must, and shows all loaded foods between its ends.
    pub(crate) fn check_places(&self, list: &List, listed: &Listed) -> Result<(), &'static str> {
        let Some((ranks, ends)) = self.ranks.as_ref().zip(listed.ends.as_ref()) else { return Ok(()) };
        let before = |key, id| ranks.before(&list.filter, (key, id));
        let (first, last) = (&ends.first, &ends.last);
        let ranked = before(first.key(list.order), first.id).zip(before(last.key(list.order), last.id + 1));
        let Some((begin, end)) = ranked else { return Ok(()) };
        if u64::from(ends.low_ids) < end.saturating_sub(begin) {
            return Err("foods that were loaded are missing between others");
        }
        let is_begin = match list.from {
            From::Page(page) => {
                // Before it are loaded foods and created ones, of which there are no more than the total leaves room for.
                let skipped = u64::from(page - 1) * u64::from(list.size);
                let created = listed.total.unwrap_or(u64::MAX).saturating_sub(self.foods(&list.filter));
                (skipped.saturating_sub(created)..=skipped).contains(&begin)
            }
            From::After(key, id) => before(key, id + 1) == Some(begin),
        };
        if is_begin { Ok(()) } else { Err("a part of a list begins at another food") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Call, Name, Oracle, Order};

    #[test]
    fn what_was_loaded_is_what_a_right_service_lists_before_the_first_change() {
        for size in [Cardinality::tiny(), Cardinality::standard(1)] {
            let (loaded, mut oracle) = (Loaded::of(&size), Oracle::new(size));
            let words = FIRST_WORDS.map(|word| Filter::Search(Name::of(word)));
            let categories = (0..=i64::from(size.categories) + 1).map(Filter::Category);
            for filter in categories.chain(words).chain([Filter::All]) {
                for page in 1..=4 {
                    let list = List { filter, order: Order::Name, from: From::Page(page), size: 20 };
                    let Reply::Foods(listed) = oracle.answer(&Call::Foods(list)).reply else {
                        panic!("a list")
                    };
                    assert_eq!(listed.total, Some(loaded.foods(&filter)), "{filter:?}");
                    let behind = loaded.foods(&filter).saturating_sub(u64::from(page) * 20);
                    assert_eq!(loaded.check(&list, &listed, 0), Ok(behind));
                    let missing = Err("foods that were loaded are missing from a list");
                    let total = listed.total.map(|total| total.saturating_sub(1));
                    if listed.count > 0 {
                        let fewer = Listed { count: listed.count - 1, ..listed };
                        assert_eq!(loaded.check(&list, &fewer, 0), missing);
                        assert_eq!(loaded.check(&list, &Listed { total, ..listed }, 0), missing);
                    }
                    let Some(ends) = listed.ends.filter(|_| listed.count == list.size) else { continue };
                    let from = From::After(ends.last.key(Order::Name), ends.last.id);
                    let list = List { from, ..list };
                    let Reply::Foods(next) = oracle.answer(&Call::Foods(list)).reply else {
                        panic!("a list")
                    };
                    assert_eq!(loaded.check(&list, &next, behind), Ok(behind.saturating_sub(20)));
                    if behind > 0 {
                        let fewer = Listed { count: next.count - 1, ..next };
                        assert_eq!(loaded.check(&list, &fewer, behind), missing);
                    }
                }
            }
        }
    }
}
