use super::*;
use crate::call::{Filter, From, Key, List, Order};
use crate::{Bulk, Facts, ID_MAX, Inputs, Name, Oracle, conformance, input};
use contract::conformance::written;
use contract::{BadCallKind, Headers};
use model::{Inputs as _, Workload};

struct Only(&'static str, String);

impl Headers for Only {
    fn get(&self, name: &str) -> Option<&str> {
        (name == self.0).then_some(&*self.1)
    }
}

fn sent(call: &Call) -> Result<Call, BadCall> {
    let kind = FoodCatalogue::kind(call);
    let target = written(|into| FoodCatalogue::encode_path(call, into));
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (&*target, None),
    };
    let mut header = Only("", String::new());
    FoodCatalogue::encode_call_headers(call, &mut |name, value| header = Only(name, value.to_string()));
    let body = written(|into| FoodCatalogue::encode_call(call, into));
    let endpoint = FoodCatalogue::ENDPOINTS[kind];
    let request = Request { endpoint, path, query, headers: &header, body: body.as_bytes() };
    FoodCatalogue::decode_call(kind, &Cardinality::tiny(), &request)
}

fn same(one: &Call, other: &Call) -> bool {
    match (one, other) {
        (Call::InsertFoods { category: a, foods: one }, Call::InsertFoods { category: b, foods: other }) => {
            a == b && one.iter().eq(other.iter())
        }
        _ => one == other,
    }
}

fn answered(call: &Call, outcome: &Outcome) -> Result<Outcome, String> {
    let body = written(|into| FoodCatalogue::encode_outcome(outcome, into));
    let status = FoodCatalogue::status(outcome);
    let answer = Answer { status, is_problem: status >= 400, headers: &(), body: body.as_bytes() };
    assert!(FoodCatalogue::is_outcome(call, &answer), "{call:?} {outcome:?}");
    FoodCatalogue::decode_outcome(call, &answer)
}

#[test]
fn calls_and_outcomes_survive_the_wire() {
    let size = Cardinality::tiny();
    let mut inputs = Inputs::new(size, crate::Loaded::of(&size), input::standard_mix(), 1, 0, 0);
    let mut oracle = Oracle::new(size);
    for _ in 0..2_000 {
        let call = inputs.draw();
        assert!(same(&sent(&call).unwrap(), &call), "{call:?}");
        let outcome = oracle.answer(&call);
        let found = answered(&call, &outcome).unwrap();
        assert_eq!(found.reply, outcome.reply, "{call:?}");
        assert_eq!(FoodCatalogue::check(&call, &found), Ok(()));
        inputs.check(&call, &found).unwrap();
    }
}

#[test]
fn the_script_survives_the_wire() {
    let mut oracle = Oracle::new(Cardinality::tiny());
    for call in conformance::script_of_tests() {
        assert!(same(&sent(&call).unwrap(), &call), "{call:?}");
        let outcome = oracle.answer(&call);
        assert_eq!(answered(&call, &outcome).unwrap().reply, outcome.reply, "{call:?}");
    }
}

#[test]
fn requests_are_the_contracts() {
    let check = |call: Call, path: &str, body: &str| {
        assert_eq!(written(|into| FoodCatalogue::encode_path(&call, into)), path);
        assert_eq!(written(|into| FoodCatalogue::encode_call(&call, into)), body);
    };
    let name = Name::new("brown rice").unwrap();
    let list = List { filter: Filter::Search(name), order: Order::Name, from: From::Page(2), size: 20 };
    check(Call::Foods(list), "/foods?order=name&search=brown%20rice&page=2&size=20", "");
    let from = From::After(Key::Kcal(250), 7);
    let list = List { filter: Filter::Category(3), order: Order::Kcal, from, size: 5 };
    check(Call::Foods(list), "/foods?order=kcal&category=3&after=250,7&size=5", "");
    let facts = Facts { name, kcal: 1, protein: 2, fat: 3, carbs: 4, fibre: None, price: 5 };
    check(
        Call::UpdateFood { id: 9, version: 1, facts },
        "/foods/9",
        r#"{"name":"brown rice","kcal":1,"protein":2,"fat":3,"carbs":4,"fibre":null,"price":5}"#,
    );
    check(Call::DeleteFood { id: 9, version: 1 }, "/foods/9", "");
    check(Call::Template { id: 9 }, "/templates/9/full", "");
}

/// Fields in another order, blanks, and fields that no one knows: the same outcome.
#[test]
fn the_order_of_fields_does_not_matter_and_that_of_elements_does() {
    let call = Call::Template { id: 1 };
    let read =
        |body: &str| FoodCatalogue::decode_outcome(&call, &Answer::of(body.as_bytes())).map(|o| o.reply);
    let one = r#"{"id":1,"name":"t","days":[{"day":1,"meals":[{"meal":1,"name":"lunch","items":[{"food":1,"name":"a","kcal":2,"grams":3},{"food":2,"name":"b","kcal":2,"grams":3}]}]}]}"#;
    let other = r#" {"x":[{}], "days":[{"meals":[{"items":[{"grams":3,"kcal":2,"name":"a","food":1}, {"name":"b","y":null,"food":2,"kcal":2,"grams":3}],"name":"lunch","meal":1}],"day":1}],"name":"t","id":1}"#;
    assert_eq!(read(one).unwrap(), read(other).unwrap());
    assert!(matches!(read(one).unwrap(), Reply::Template { days: 1, meals: 1, items: 2, .. }));
    let swapped = one.replace(r#""food":1,"name":"a""#, r#""food":2,"name":"a""#);
    assert_ne!(read(one).unwrap(), read(&swapped).unwrap());
    let moved = one.replace(r#""day":1"#, r#""day":2"#);
    assert_ne!(read(one).unwrap(), read(&moved).unwrap());
    assert!(read(&one.replace(r#""grams":3"#, r#""gram":3"#)).unwrap_err().contains("missing field `grams`"));
}

#[test]
fn a_food_must_say_that_its_fibre_is_not_known() {
    let call = Call::Food { id: 5 };
    let body = String::from_utf8(Oracle::new(Cardinality::tiny()).answer(&call).body).unwrap();
    let read = |body: &str| FoodCatalogue::decode_outcome(&call, &Answer::of(body.as_bytes()));
    assert!(read(&body).is_ok() && body.contains(r#""fibre":null,"#), "{body}");
    assert!(read(&body.replace(r#""fibre":null,"#, "")).unwrap_err().contains("missing field `fibre`"));
}

#[test]
fn what_was_declined_says_so_by_type_and_status() {
    let call = Call::DeleteFood { id: 1, version: 1 };
    let read = |status, is_problem, body: &str| {
        let answer = Answer { status, is_problem, headers: &(), body: body.as_bytes() };
        FoodCatalogue::is_outcome(&call, &answer)
    };
    let body = |name: &str| format!(r#"{{"type":"urn:stackmark:problem:{name}","x":1}}"#);
    assert!(read(409, true, &body("food-in-use")));
    assert!(read(412, true, &body("stale-version")));
    // Another status than the type's, another media type, and a conflict that can be repeated.
    assert!(!read(404, true, &body("food-in-use")));
    assert!(!read(409, false, &body("food-in-use")));
    assert!(!read(409, true, &body("conflict")));
    for why in Decline::ALL {
        let outcome = Outcome::declined(why);
        let written = written(|into| FoodCatalogue::encode_outcome(&outcome, into));
        assert!(read(why.status(), true, &written), "{written}");
    }
}

#[test]
fn what_is_wrong_with_a_request_is_said() {
    use BadCallKind::{Invalid, Malformed, Unconditional, Unknown};
    let ask = |kind: usize, target: &str, header: Only, body: &str| {
        let (path, query) =
            target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let endpoint = FoodCatalogue::ENDPOINTS[kind];
        let request = Request { endpoint, path, query, headers: &header, body: body.as_bytes() };
        FoodCatalogue::decode_call(kind, &Cardinality::tiny(), &request)
    };
    let check = |kind, target: &str, body: &str, expected: BadCallKind, words: &str| {
        let error = ask(kind, target, Only("if-match", "\"1\"".into()), body).unwrap_err();
        assert!(error.kind == expected && error.detail.contains(words), "{target} {body}: {error:?}");
    };
    for id in ["x", "0", "-1", "01", "9007199254740992", "1.0", "%31", "", "99999999999999999999"] {
        check(6, &format!("/foods/{id}"), "", Unknown, "not a number of 1 to 9007199254740991");
    }
    for (query, words) in [
        ("size=0", "size is not a number of 1 to 100"),
        ("size=101", "size is not"),
        ("page=0", "page is not a number of 1 to 1000000"),
        ("page=-1", "page is not"),
        ("page=1000001", "page is not"),
        ("page=1e3", "page is not"),
        ("page=", "page is not"),
        ("category=0", "category is not"),
        ("search=", "search: a name is 1 to 48"),
        ("search=A", "search: a name"),
        ("search=%27%3B%20drop%20table%20food", "search: a name"),
        ("search=%FF", "search: a name"),
        ("order=price", "order is neither name nor kcal"),
        ("order=kcal;drop", "order is neither"),
        ("category=1&search=a", "category and search exclude each other"),
        ("page=1&after=a,1", "page and after exclude each other"),
        ("page=1&page=2", "page is given twice"),
        ("colour=red", "none of category, search, order, page, after, size"),
        ("order=kcal&after=brown%20rice,1", "after is not the kcal and the id"),
        ("order=name&after=1", "after is not the name and the id"),
        ("after=a,0", "after is not"),
        ("order=kcal&after=901,1", "after is not"),
    ] {
        check(5, &format!("/foods?{query}"), "", Invalid, words);
    }
    let food = r#"{"id":1,"category":1,"name":"a","kcal":1,"protein":1,"fat":1,"carbs":1,"price":1}"#;
    assert!(ask(7, "/foods", Only("", String::new()), food).is_ok());
    let with = |from: &str, to: &str| food.replace(from, to);
    check(7, "/foods", "{", Malformed, "EOF");
    check(7, "/foods", &with(r#""kcal":1"#, r#""kcal":901"#), Invalid, "kcal is 901; it runs from 0 to 900");
    check(
        7,
        "/foods",
        &with(r#""fat":1,"#, r#""fat":999,"#),
        Invalid,
        "the sum of protein, fat and carbs is 1001",
    );
    check(7, "/foods", &with(r#""fat":1,"#, r#""fat":4294967295,"#), Invalid, "fat is 4294967295");
    check(7, "/foods", &with(r#""name":"a""#, r#""name":"A""#), Invalid, "expected a name of 1 to 48");
    check(
        7,
        "/foods",
        &with(r#""id":1"#, r#""id":0"#),
        Invalid,
        "id is 0; it runs from 1 to 9007199254740991",
    );
    check(7, "/foods", &with(r#""price":1"#, r#""price":-1"#), Invalid, "price: ");
    check(7, "/foods", &with(r#","price":1"#, ""), Invalid, "missing field `price`");
    check(7, "/foods", &with("{", r#"{"version":1,"#), Invalid, "unknown field `version`");
    let one = r#"{"id":1,"name":"a","kcal":1,"protein":1,"fat":1,"carbs":1,"price":1}"#;
    let bulk = |foods: &[&str]| format!(r#"{{"category":1,"foods":[{}]}}"#, foods.join(","));
    check(10, "/foods/bulk", &bulk(&[]), Invalid, "foods has 0 elements; it must have 1 to 50");
    check(10, "/foods/bulk", &bulk(&[one; 51]), Invalid, "foods has 51 elements");
    check(10, "/foods/bulk", &bulk(&[one, one]), Invalid, "foods[1].id is 1, as that of a food before it");
    let odd = one.replace(r#""kcal":1"#, r#""kcal":901"#).replace(r#""id":1"#, r#""id":2"#);
    check(10, "/foods/bulk", &bulk(&[one, &odd]), Invalid, "foods[1]: kcal is 901");
    for tag in ["1", "W/\"1\"", "*", "\"\"", "\"x\"", "\"1\", \"2\"", "\"0\""] {
        let error = ask(9, "/foods/1", Only("if-match", tag.into()), "").unwrap_err();
        assert!(
            error.kind == Invalid && error.detail.starts_with("if-match is not the etag"),
            "{tag}: {error:?}"
        );
    }
    let error = ask(9, "/foods/1", Only("", String::new()), "").unwrap_err();
    assert!(error.kind == Unconditional && error.detail.starts_with("if-match is missing"), "{error:?}");
    let unknown = FoodCatalogue::decode_call(12, &Cardinality::tiny(), &Request::of(b"")).unwrap_err();
    assert_eq!((unknown.kind, &*unknown.detail), (Unknown, "there is no kind 12"));
}

#[test]
fn a_bulk_that_came_is_the_one_that_was_drawn() {
    let call = Call::InsertFoods { category: 2, foods: Bulk::Drawn { first: ID_MAX - 49 } };
    let Ok(Call::InsertFoods { foods: Bulk::Given(foods), .. }) = sent(&call) else { panic!() };
    assert_eq!((foods.len(), foods[49].id), (50, ID_MAX));
}
