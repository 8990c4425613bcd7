//! Markup that cannot hold unescaped data: what is written as it stands must be a literal of this crate.

use judge::figures;

/// HTML in the making.
#[derive(Default)]
pub(crate) struct Markup {
    html: String,
}

/// Attributes: names are literals, values are escaped.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Markup {
    /// Writes a literal as it stands.
    pub(super) fn raw(&mut self, literal: &'static str) -> &mut Markup {
        self.html.push_str(literal);
        self
    }

    /// Writes data, escaped for text and for attribute values alike.
    pub(super) fn text(&mut self, text: &str) -> &mut Markup {
        for char in text.chars() {
            match char {
                '<' => self.html.push_str("&lt;"),
                '>' => self.html.push_str("&gt;"),
                '&' => self.html.push_str("&amp;"),
                '"' => self.html.push_str("&quot;"),
                '\'' => self.html.push_str("&#39;"),
                char => self.html.push(char),
            }
        }
        self
    }

    /// Writes running text, whose lines end nowhere within a number or between it and its unit.
    pub(super) fn prose(&mut self, text: &str) -> &mut Markup {
        self.text(&figures::bound(text))
    }

    /// Writes a long value without spaces, such as a path or a name, and where its line may end.
    pub(super) fn breakable(&mut self, value: &str) -> &mut Markup {
        for part in value.split_inclusive(['.', '_', '/', '=', ',']) {
            self.text(part).raw("<wbr>");
        }
        self
    }

    /// Writes markup that was made apart.
    pub(super) fn markup(&mut self, markup: Markup) -> &mut Markup {
        self.html.push_str(&markup.html);
        self
    }

    /// Writes an element with its content.
    pub(super) fn element(
        &mut self,
        tag: &'static str,
        attributes: Attributes<'_>,
        content: impl FnOnce(&mut Markup),
    ) -> &mut Markup {
        self.start(tag, attributes).raw(">");
        content(self);
        self.raw("</").raw(tag).raw(">")
    }

    /// Writes an element of a drawing that holds nothing, on a line of its own.
    pub(super) fn empty(&mut self, tag: &'static str, attributes: Attributes<'_>) -> &mut Markup {
        self.start(tag, attributes).raw("/>\n")
    }

    fn start(&mut self, tag: &'static str, attributes: Attributes<'_>) -> &mut Markup {
        self.raw("<").raw(tag);
        for (name, value) in attributes {
            self.raw(" ").raw(name).raw("=\"").text(value).raw("\"");
        }
        self
    }

    /// Writes an element that holds nothing but text.
    pub(super) fn line(&mut self, tag: &'static str, class: &'static str, text: &str) -> &mut Markup {
        let attributes: &[_] = &[("class", class)];
        self.element(tag, if class.is_empty() { &[] } else { attributes }, |element| match tag {
            // What is meant to be copied stays as it is.
            "code" => _ = element.text(text),
            _ => _ = element.prose(text),
        })
    }

    /// The HTML.
    pub(super) fn into_string(self) -> String {
        self.html
    }
}

#[cfg(test)]
mod tests {
    use super::Markup;

    #[test]
    fn data_is_escaped_in_text_and_in_attributes() {
        let mut markup = Markup::default();
        markup.element("p", &[("title", "\"><script>")], |p| {
            p.text("<b>'&").raw("<br>").text("\"");
        });
        assert_eq!(
            markup.into_string(),
            "<p title=\"&quot;&gt;&lt;script&gt;\">&lt;b&gt;&#39;&amp;<br>&quot;</p>"
        );
    }
}
