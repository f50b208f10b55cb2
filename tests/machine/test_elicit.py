from typing import Any

from agentroom_machine.daemon.elicit import fields

CHOICE = {
    "type": "string",
    "title": "Taste",
    "oneOf": [{"const": "s", "title": "Sweet"}, {"const": "v", "title": "Savoury"}],
}


def form(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_a_single_choice_is_one_question_with_options() -> None:
    (field,) = fields("Sweet or savoury?", form(taste=CHOICE, taste_custom={"type": "string", "title": "Other"}))
    assert (field.text, field.options) == ("Sweet or savoury?", ("Sweet", "Savoury"))
    assert field.fill("Savoury") == {"taste": "v"}
    assert field.fill("both, please") == {"taste_custom": "both, please"}


def test_several_choices_are_several_questions() -> None:
    many = {"type": "array", "title": "Guests", "items": {"anyOf": [{"const": "bob", "title": "bob"}]}}
    first, second = fields("Please answer.", form(taste=CHOICE, guests=many, guests_other={"type": "string"}))
    assert (first.text, second.text) == ("Taste", "Guests")
    assert second.fill("bob, vera") == {"guests": ["bob"], "guests_other": "vera"}


def test_each_kind_of_field_gets_its_kind_of_value() -> None:
    yes, count, words = fields("?", form(a={"type": "boolean"}, b={"type": "integer"}, c={"type": "string"}))
    assert (yes.options, yes.fill("no")) == (("yes", "no"), {"a": False})
    assert (count.fill("3"), count.fill("three")) == ({"b": 3}, {})
    assert words.fill(" hello ") == {"c": "hello"}


def test_an_answer_that_fits_no_option_sets_nothing_when_nothing_else_takes_it() -> None:
    (field,) = fields("?", form(taste={"type": "string", "enum": ["a", "b"]}))
    assert field.options == ("a", "b")
    assert field.fill("c") == {}


def test_a_broken_form_asks_nothing() -> None:
    assert fields("?", {"properties": 5}) == []
    assert fields("?", {"properties": {"a": 5}}) == []
