//! A predicate as a condition over the `runs` table.
//!
//! Ids never become SQL text: every list in the predicate is bound in a single JSON parameter,
//! because the edge platform binds at most 100 values. `max` and `min` replace OR and AND: a chain
//! of those operators is as deep as it is long and the edge platform allows 100 levels, while a
//! function's arguments are a single level.

use serde_json::{Value, json};

use super::Filter;

/// A predicate after compilation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition {
    /// The predicate allows every run.
    Always,
    /// The predicate allows no run.
    Never,
    /// Depends on the row.
    Where {
        /// An expression that yields 0 or 1.
        sql: String,
        /// The JSON text to bind for the placeholder.
        lists: String,
    },
}

/// Compiles a predicate. `placeholder` is the parameter to which the lists are bound, such as `?5`.
pub(crate) fn condition(filter: &Filter, placeholder: &str) -> Condition {
    let mut compiler = Compiler {
        placeholder,
        lists: Vec::new(),
    };
    match compiler.node(filter) {
        Node::Constant(true) => Condition::Always,
        Node::Constant(false) => Condition::Never,
        Node::Sql(sql) => Condition::Where {
            sql,
            lists: Value::Array(compiler.lists).to_string(),
        },
    }
}

enum Node {
    Constant(bool),
    Sql(String),
}

struct Compiler<'a> {
    placeholder: &'a str,
    lists: Vec<Value>,
}

impl Compiler<'_> {
    fn node(&mut self, filter: &Filter) -> Node {
        match filter {
            Filter::All => Node::Constant(true),
            Filter::None => Node::Constant(false),
            Filter::ChannelsIn(channels) => self.listed("channel_id", json!(channels)),
            Filter::UserIs(user) => self.listed("user_id", json!([user])),
            // An absent repository is stored as empty text, which no list contains.
            Filter::ReposIn(repos) => self.listed("repo", json!(repos)),
            Filter::VisibilityIn(words) => self.listed("visibility", json!(words)),
            Filter::Or(of) => self.any(of),
            Filter::And(of) if of.is_empty() => Node::Constant(false),
            Filter::And(of) => {
                let nodes = of.iter().map(|filter| self.node(filter)).collect();
                joined(nodes, "min", false)
            }
        }
    }

    fn listed(&mut self, column: &str, list: Value) -> Node {
        if list.as_array().is_some_and(Vec::is_empty) {
            return Node::Constant(false);
        }
        let placeholder = self.placeholder;
        let index = self.lists.len();
        self.lists.push(list);
        Node::Sql(format!(
            "{column} IN (SELECT value FROM json_each({placeholder}, '$[{index}]'))"
        ))
    }

    /// Compiles an OR, merging each column's lists into a single list. SQLite searches a single
    /// list once, and a hundred lists individually.
    fn any(&mut self, of: &[Filter]) -> Node {
        let mut lists = [
            ("channel_id", vec![]),
            ("user_id", vec![]),
            ("repo", vec![]),
            ("visibility", vec![]),
        ];
        let [(_, channels), (_, users), (_, repos), (_, words)] = &mut lists;
        let mut nodes = Vec::new();
        for filter in of {
            match filter {
                Filter::ChannelsIn(more) => channels.extend(more.iter().map(|id| json!(id))),
                Filter::UserIs(user) => users.push(json!(user)),
                Filter::ReposIn(more) => repos.extend(more.iter().map(|slug| json!(slug))),
                Filter::VisibilityIn(more) => words.extend(more.iter().map(|word| json!(word))),
                Filter::All | Filter::None | Filter::Or(_) | Filter::And(_) => {
                    nodes.push(self.node(filter));
                }
            }
        }
        nodes.extend(lists.map(|(column, list)| self.listed(column, Value::Array(list))));
        joined(nodes, "max", true)
    }
}

/// Joins conditions by `function`.
/// A constant `decisive` condition decides the result. At most 100 conditions are not constant, because each has an id,
/// and a function accepts that many arguments.
fn joined(nodes: Vec<Node>, function: &str, decisive: bool) -> Node {
    let mut parts = Vec::new();
    for node in nodes {
        match node {
            Node::Constant(value) if value == decisive => return Node::Constant(decisive),
            Node::Constant(_) => {}
            Node::Sql(sql) => parts.push(sql),
        }
    }
    match parts.len() {
        0 => Node::Constant(!decisive),
        // With a single argument `max` is the aggregate function.
        1 => Node::Sql(parts.remove(0)),
        _ => Node::Sql(format!("{function}({})", parts.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(id: &str) -> Filter {
        Filter::ChannelsIn(vec![id.into()])
    }

    #[test]
    fn constants_fold() {
        let row = || channel("c");
        for (filter, expected) in [
            (Filter::All, Condition::Always),
            (Filter::None, Condition::Never),
            (Filter::ChannelsIn(vec![]), Condition::Never),
            (Filter::Or(vec![]), Condition::Never),
            (Filter::And(vec![]), Condition::Never),
            (Filter::Or(vec![row(), Filter::All]), Condition::Always),
            (Filter::And(vec![row(), Filter::None]), Condition::Never),
            (
                Filter::And(vec![Filter::All, Filter::All]),
                Condition::Always,
            ),
            (
                Filter::Or(vec![Filter::None, Filter::And(vec![])]),
                Condition::Never,
            ),
        ] {
            assert_eq!(condition(&filter, "?1"), expected, "{filter:?}");
        }
    }

    #[test]
    fn ids_are_bound_as_one_parameter() {
        let filter = Filter::Or(vec![
            channel("x'); --"),
            Filter::And(vec![Filter::All, Filter::UserIs("u".into())]),
        ]);
        let expected = Condition::Where {
            sql: "max(user_id IN (SELECT value FROM json_each(?4, '$[0]')), \
                  channel_id IN (SELECT value FROM json_each(?4, '$[1]')))"
                .into(),
            lists: r#"[["u"],["x'); --"]]"#.into(),
        };
        assert_eq!(condition(&filter, "?4"), expected);
    }

    #[test]
    fn alternatives_of_one_column_become_one_list() {
        let users = ["a", "b", "c"].map(|user| Filter::UserIs(user.into()));
        let expected = Condition::Where {
            sql: "user_id IN (SELECT value FROM json_each(?1, '$[0]'))".into(),
            lists: r#"[["a","b","c"]]"#.into(),
        };
        assert_eq!(condition(&Filter::Or(users.to_vec()), "?1"), expected);
    }
}
