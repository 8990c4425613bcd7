//! Requests: paths, queries and bodies, written and read.

use crate::call::{Filter, From, Key, List, Order};
use crate::{
    BULK_MAX, Bulk, Call, Facts, ID_MAX, KCAL_MAX, Name, NewFood, PAGE_MAX, PAGE_SIZE, PAGE_SIZE_MAX,
};
use contract::{BadCall, BadCallKind, Request, strict};
use serde::Deserialize;

pub(super) fn encode_path(call: &Call, into: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    match call {
        Call::Categories | Call::CreateCategory { .. } => into.extend_from_slice(b"/categories"),
        Call::Category { id } | Call::UpdateCategory { id, .. } | Call::DeleteCategory { id, .. } => {
            into.extend_from_slice(b"/categories/");
            into.extend_from_slice(digits.format(*id).as_bytes());
        }
        Call::Foods(list) => encode_list(list, into),
        Call::CreateFood { .. } => into.extend_from_slice(b"/foods"),
        Call::Food { id } | Call::UpdateFood { id, .. } | Call::DeleteFood { id, .. } => {
            into.extend_from_slice(b"/foods/");
            into.extend_from_slice(digits.format(*id).as_bytes());
        }
        Call::InsertFoods { .. } => into.extend_from_slice(b"/foods/bulk"),
        Call::Template { id } => {
            into.extend_from_slice(b"/templates/");
            into.extend_from_slice(digits.format(*id).as_bytes());
            into.extend_from_slice(b"/full");
        }
    }
}

fn encode_list(list: &List, into: &mut Vec<u8>) {
    let number = |into: &mut Vec<u8>, name: &str, value: i64| {
        into.extend_from_slice(name.as_bytes());
        into.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    };
    into.extend_from_slice(match list.order {
        Order::Name => b"/foods?order=name",
        Order::Kcal => b"/foods?order=kcal",
    });
    match &list.filter {
        Filter::All => {}
        Filter::Category(category) => number(into, "&category=", *category),
        Filter::Search(begin) => {
            into.extend_from_slice(b"&search=");
            encode_name(begin, into);
        }
    }
    match &list.from {
        From::Page(page) => number(into, "&page=", (*page).into()),
        From::After(key, id) => {
            match key {
                Key::Name(name) => {
                    into.extend_from_slice(b"&after=");
                    encode_name(name, into);
                }
                Key::Kcal(kcal) => number(into, "&after=", (*kcal).into()),
            }
            number(into, ",", *id);
        }
    }
    number(into, "&size=", list.size.into());
}

/// Of the characters of names only the space has another form in a query.
fn encode_name(name: &Name, into: &mut Vec<u8>) {
    for byte in name.as_str().bytes() {
        match byte {
            b' ' => into.extend_from_slice(b"%20"),
            byte => into.push(byte),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CategoryBody {
    id: i64,
    name: Name,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NameBody {
    name: Name,
}

/// The fields of a food to be created, with whatever goes before them. Written out, because what is flattened cannot refuse
/// unknown fields.
macro_rules! food_body {
    ($name:ident { $($field:ident: $type:ty),* }) => {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct $name {
            $($field: $type,)*
            name: Name,
            kcal: u32,
            protein: u32,
            fat: u32,
            carbs: u32,
            #[serde(default)]
            fibre: Option<u32>,
            price: u32,
        }

        impl $name {
            fn facts(&self) -> Facts {
                let &$name { name, kcal, protein, fat, carbs, fibre, price, .. } = self;
                Facts { name, kcal, protein, fat, carbs, fibre, price }
            }
        }
    };
}

food_body!(FoodBody { id: i64, category: i64 });
food_body!(FoodOfManyBody { id: i64 });

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FoodsBody {
    category: i64,
    foods: Vec<FoodOfManyBody>,
}

/// Reads a call of a kind.
pub(super) fn decode(kind: usize, request: &Request<'_>) -> Result<Call, BadCall> {
    Ok(match kind {
        0 => Call::Categories,
        1 => Call::Category { id: path_id(request)? },
        2 => {
            let CategoryBody { id, name } = strict::body(request.body)?;
            Call::CreateCategory { id: body_id("id", id)?, name }
        }
        3 => {
            let (id, version) = (path_id(request)?, if_match(request)?);
            Call::UpdateCategory { id, version, name: strict::body::<NameBody>(request.body)?.name }
        }
        4 => Call::DeleteCategory { id: path_id(request)?, version: if_match(request)? },
        5 => Call::Foods(list(request.query.unwrap_or_default())?),
        6 => Call::Food { id: path_id(request)? },
        7 => {
            let body: FoodBody = strict::body(request.body)?;
            let food = NewFood { id: body_id("id", body.id)?, facts: valid("", body.facts())? };
            Call::CreateFood { category: body_id("category", body.category)?, food }
        }
        8 => {
            let (id, version) = (path_id(request)?, if_match(request)?);
            Call::UpdateFood { id, version, facts: valid("", strict::body(request.body)?)? }
        }
        9 => Call::DeleteFood { id: path_id(request)?, version: if_match(request)? },
        10 => bulk(strict::body(request.body)?)?,
        11 => Call::Template { id: path_id(request)? },
        _ => return Err(bad(BadCallKind::Unknown, format!("there is no kind {kind}"))),
    })
}

fn bulk(body: FoodsBody) -> Result<Call, BadCall> {
    let FoodsBody { category, foods: given } = body;
    if !(1..=BULK_MAX).contains(&given.len()) {
        return Err(invalid(format!("foods has {} elements; it must have 1 to {BULK_MAX}", given.len())));
    }
    let mut foods: Vec<NewFood> = Vec::with_capacity(given.len());
    for (at, food) in given.iter().enumerate() {
        let id = body_id(&format!("foods[{at}].id"), food.id)?;
        if foods.iter().any(|other| other.id == id) {
            return Err(invalid(format!("foods[{at}].id is {id}, as that of a food before it")));
        }
        foods.push(NewFood { id, facts: valid(&format!("foods[{at}]: "), food.facts())? });
    }
    Ok(Call::InsertFoods { category: body_id("category", category)?, foods: Bulk::Given(foods.into()) })
}

fn valid(place: &str, facts: Facts) -> Result<Facts, BadCall> {
    facts.validate().map_err(|why| invalid(format!("{place}{why}")))?;
    Ok(facts)
}

fn body_id(name: &str, id: i64) -> Result<i64, BadCall> {
    match (1..=ID_MAX).contains(&id) {
        true => Ok(id),
        false => Err(invalid(format!("{name} is {id}; it runs from 1 to {ID_MAX}"))),
    }
}

/// The id in the path. What is not an id names nothing.
fn path_id(request: &Request<'_>) -> Result<i64, BadCall> {
    let text = request.id("id").unwrap_or_default();
    number(text, 1, ID_MAX).ok_or_else(|| {
        bad(BadCallKind::Unknown, format!("the id in the path is not a number of 1 to {ID_MAX}"))
    })
}

/// Digits without a sign and without zeros before them.
fn number(text: &str, least: i64, most: i64) -> Option<i64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|number| plain && (least..=most).contains(number))
}

/// The version that a change is for: one strong entity tag (RFC 9110 13.1.1).
fn if_match(request: &Request<'_>) -> Result<i64, BadCall> {
    let Some(tag) = request.headers.get("if-match") else {
        let detail = "if-match is missing; it names the version to be changed, as etag does: \"1\"";
        return Err(bad(BadCallKind::Unconditional, detail.into()));
    };
    let inner = tag.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.and_then(|text| number(text, 1, i64::MAX - 1)).ok_or_else(|| {
        invalid("if-match is not the etag of an answer: a version in quotes, such as \"1\"".into())
    })
}

/// What is asked of the list in a query: each parameter once at most, and none that it does not have.
fn list(query: &str) -> Result<List, BadCall> {
    let mut given: [Option<String>; PARAMETERS.len()] = Default::default();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let Some(at) = PARAMETERS.iter().position(|known| *known == name) else {
            let known = PARAMETERS.join(", ");
            return Err(invalid(format!("the query has a parameter that is none of {known}")));
        };
        if given[at].replace(value.into_owned()).is_some() {
            return Err(invalid(format!("{} is given twice", PARAMETERS[at])));
        }
    }
    let [category, search, order, page, after, size] = given;
    let within = |name: &str, text: Option<String>, least: i64, most: i64| {
        let read = |text: String| {
            number(&text, least, most)
                .ok_or_else(|| invalid(format!("{name} is not a number of {least} to {most}")))
        };
        text.map(read).transpose()
    };
    let filter = match (within("category", category, 1, ID_MAX)?, search) {
        (None, None) => Filter::All,
        (Some(category), None) => Filter::Category(category),
        (None, Some(begin)) => {
            Filter::Search(Name::new(&begin).map_err(|error| invalid(format!("search: {error}")))?)
        }
        (Some(_), Some(_)) => return Err(invalid("category and search exclude each other".into())),
    };
    let order = match order.as_deref() {
        None | Some("name") => Order::Name,
        Some("kcal") => Order::Kcal,
        Some(_) => return Err(invalid("order is neither name nor kcal".into())),
    };
    let from = match (within("page", page, 1, PAGE_MAX.into())?, after) {
        (page, None) => From::Page(page.unwrap_or(1) as u32),
        (None, Some(after)) => behind(&after, order)?,
        (Some(_), Some(_)) => return Err(invalid("page and after exclude each other".into())),
    };
    let size = within("size", size, 1, PAGE_SIZE_MAX.into())?.unwrap_or(PAGE_SIZE.into()) as u32;
    Ok(List { filter, order, from, size })
}

/// Parameters of the list.
const PARAMETERS: [&str; 6] = ["category", "search", "order", "page", "after", "size"];

/// Where a list goes on: `NAME,ID` or `KCAL,ID` of the last food before, by what the list is ordered.
fn behind(after: &str, order: Order) -> Result<From, BadCall> {
    let read = || {
        let (key, id) = after.split_once(',')?;
        let key = match order {
            Order::Name => Key::Name(Name::new(key).ok()?),
            Order::Kcal => Key::Kcal(number(key, 0, KCAL_MAX.into())? as u32),
        };
        Some(From::After(key, number(id, 1, ID_MAX)?))
    };
    let wanted = match order {
        Order::Name => "the name",
        Order::Kcal => "the kcal",
    };
    read().ok_or_else(|| {
        invalid(format!(
            "after is not {wanted} and the id of a food with a comma between them, as this order asks for"
        ))
    })
}

fn invalid(detail: String) -> BadCall {
    bad(BadCallKind::Invalid, detail)
}

fn bad(kind: BadCallKind, detail: String) -> BadCall {
    BadCall { kind, detail }
}
