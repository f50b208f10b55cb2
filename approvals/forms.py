"""What the pages about times and limits ask for. A form shapes input; what is allowed, the rules decide."""

from __future__ import annotations

from typing import Any

from django import forms

from approvals import control
from approvals.models import AnswerTimes
from rooms.forms import PageForm


class TimesForm(PageForm):
    four_minutes = forms.IntegerField(
        label="Pushing, deleting, spending, credentials, and what can’t be read, in minutes", min_value=1
    )
    tool_minutes = forms.IntegerField(label="Anything else that it wants to do, in minutes", min_value=1)
    question_minutes = forms.IntegerField(label="A plain question, in minutes", min_value=1)
    start_minutes = forms.IntegerField(
        label="A request to start, in minutes",
        min_value=1,
        required=False,
        help_text="Empty: it waits until you answer.",
    )


def of(times: AnswerTimes) -> dict[str, int | None]:
    return {name: getattr(times, name) for name in TimesForm.base_fields}


class LimitForm(PageForm):
    person = forms.ChoiceField(label="Person")
    requests_a_day = forms.IntegerField(label="Requests a day", min_value=0, required=False)
    minutes_a_day = forms.IntegerField(label="Minutes of work a day", min_value=0, required=False)
    tokens_a_month = forms.IntegerField(
        label="Tokens a month", min_value=0, required=False, help_text="Counted where its runtime reports them."
    )
    cost_a_month = forms.DecimalField(
        label="US dollars a month",
        min_value=0,
        max_digits=10,
        decimal_places=2,
        required=False,
        help_text="Counted where its runtime reports them. Fields that stay empty are no limit.",
    )

    def __init__(self, *args: Any, people: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["person"]
        assert isinstance(choice, forms.ChoiceField)
        choice.choices = people


class KeepForm(PageForm):
    days = forms.IntegerField(
        label="Keep entries for, in days",
        min_value=1,
        max_value=control.MOST_DAYS,
        required=False,
        help_text="Empty: this room keeps them as long as the server does.",
    )
