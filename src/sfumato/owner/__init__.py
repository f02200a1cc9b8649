"""What the owner does before the first query: draft, check, prepare.

    schema      what a source says of itself: names and types, never a row
    presets     what a column's name alone suggests
    people      which column may be the person, and how the other tables lead to her
    draft       `sfumato init`: a policy to be completed
    mistakes    every mistake in the text of a policy, at its line
    against     a policy against the schema of its source, the same way
    measure     how far the rows keep to what was declared: read once, for the owner's eyes
    warn        what they do not keep to, in plain words
    admit       `sfumato check`: all of it, and the record that a data version was admitted

Whatever is measured here stays here: no answer, price, note or preview depends on it (semantics 1.4).
"""
