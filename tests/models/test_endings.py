"""How an answer ended: faults of the provider are told from limits of the model."""

from inspect_ai.event import ModelEvent
from inspect_ai.model import GenerateConfig, ModelOutput

from lmrbench.models.endings import answer_ending, provider_fault


def call(error=None, **output):
    made = ModelOutput.from_content("model", **{"content": "", **output})
    event = ModelEvent(
        model="model", input=[], tools=[], tool_choice="none", config=GenerateConfig(), output=made, error=error
    )
    event.pending = None
    return event


def test_errors_that_speak_of_tokens_are_not_all_about_the_input():
    too_long = [
        "prompt is too long: 9 tokens > 8 maximum",
        "The input token count (9) exceeds the maximum number of tokens",
    ]
    others = [
        "Error code: 429 - this would exceed the rate limit of 40,000 input tokens per minute",
        "max_tokens is too large",
    ]

    assert [answer_ending([call(error)], "", "nothing", False).status for error in too_long] == ["limit"] * 2
    assert not any(provider_fault([call(error)]) for error in too_long)
    assert all(provider_fault([call(error)]) for error in others)


def test_a_call_that_failed_and_was_made_again_is_no_fault():
    assert not provider_fault([call("500"), call(content="x")])
    assert provider_fault([call(content="x"), call("500")]) == "500"
