//! The catalogue: templates are read in three forms, each a style of its own.

use crate::{How, Style, generic};
use anyhow::Result;
use measure::Monotonic;
use model::AnyTarget;
use sql::DbUrl;
use workload_catalogue::{FoodCatalogue, Form, catalogue};

pub(crate) fn open(how: How, url: &DbUrl, clock: Monotonic) -> Result<AnyTarget<FoodCatalogue>> {
    let (style, form) = match how.style {
        Style::Levels => (Style::Plain, Form::Levels),
        Style::Nested => (Style::Plain, Form::Nested),
        style => (style, Form::Join),
    };
    generic::target_in_form(How { style, ..how }, url, catalogue(how.dialect)?, clock, form)
}
