"""What the owner does before the first query: draft, check, prepare.

    schema        what a source says of itself: names and types, never a row
    presets       what a column's name alone suggests
    unit_columns  which column may identify the person, and how other tables lead to it
    draft         `sfumato init`: a policy to be completed
    policy_mistakes  every mistake in the text of a policy, at its line
    source_checks    a policy against the schema of its source, the same way
    data_warnings    where the rows do not match what was declared: for the owner alone
    admission        `sfumato check`: all of it, and the record that a data version was admitted
    preparation      `sfumato prepare`: a copy of the rows, clustered by person

Whatever is measured here stays here: no answer, price, note or preview depends on it (semantics 1.4).
"""
