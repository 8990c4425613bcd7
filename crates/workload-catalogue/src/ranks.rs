//! Where loaded foods are in lists. They are neither renamed nor removed, so that a list shows all of them between its ends.

use crate::call::{Filter, Key, Order};
use crate::data::FIRST_WORDS;
use crate::{Cardinality, Facts};
use model::random::mix;

/// Most foods whose places are known, at 24 bytes each.
const FOODS_MAX: u32 = 1 << 18;

/// Loaded foods in both orders.
#[derive(Debug)]
pub(crate) struct Ranks {
    by_name: Ranked,
    by_kcal: Ranked,
}

/// The ids of loaded foods in one order: of all, of each category, and of each first word.
#[derive(Debug)]
struct Ranked {
    all: Box<[u32]>,
    categories: Box<[Vec<u32>]>,
    words: Box<[Vec<u32>]>,
}

/// What a loaded food is ordered by.
fn place(id: u32, order: Order) -> (Key, i64) {
    let Facts { name, kcal, .. } = Facts::drawn(id.into(), 1);
    let key = match order {
        Order::Name => Key::Name(name),
        Order::Kcal => Key::Kcal(kcal),
    };
    (key, id.into())
}

impl Ranked {
    fn of(size: &Cardinality, order: Order) -> Ranked {
        let mut all: Vec<u32> = (1..=size.foods).collect();
        all.sort_by_cached_key(|id| place(*id, order));
        let mut categories = vec![Vec::new(); size.categories as usize];
        let mut words = vec![Vec::new(); FIRST_WORDS.len()];
        for id in &all {
            categories[((id - 1) % size.categories) as usize].push(*id);
            words[crate::data::first_word_at(mix((*id).into()))].push(*id);
        }
        Ranked { all: all.into(), categories: categories.into(), words: words.into() }
    }

    /// Those that a filter lets through; none where that is not known.
    fn of_filter(&self, filter: &Filter) -> Option<&[u32]> {
        match filter {
            Filter::All => Some(&self.all),
            Filter::Category(id) => {
                let at = usize::try_from(*id).ok()?.checked_sub(1)?;
                self.categories.get(at).map(Vec::as_slice)
            }
            Filter::Search(text) => {
                let at = FIRST_WORDS.iter().position(|word| *word == text.as_str())?;
                self.words.get(at).map(Vec::as_slice)
            }
        }
    }
}

impl Ranks {
    /// Of data of that size; none where it is too large.
    pub(crate) fn of(size: &Cardinality) -> Option<Ranks> {
        let of = |order| Ranked::of(size, order);
        (size.foods <= FOODS_MAX).then(|| Ranks { by_name: of(Order::Name), by_kcal: of(Order::Kcal) })
    }

    /// Loaded foods before a place in the order that its key is of, which a filter lets through; none where that is not known.
    pub(crate) fn before(&self, filter: &Filter, wanted: (Key, i64)) -> Option<u64> {
        let (ranked, order) = match wanted.0 {
            Key::Name(_) => (&self.by_name, Order::Name),
            Key::Kcal(_) => (&self.by_kcal, Order::Kcal),
        };
        Some(ranked.of_filter(filter)?.partition_point(|id| place(*id, order) < wanted) as u64)
    }
}
