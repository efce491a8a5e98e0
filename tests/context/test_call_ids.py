"""Ids of tool calls in the forms that each API takes."""

import re

import pytest

from piserver.context.call_ids import CallIds


def translated(api: str, id: str, model: str = "m", *, same_vendor: bool = False) -> str:
    return CallIds(api, model).translate(id, same_vendor=same_vendor)


@pytest.mark.parametrize("api", ["anthropic-messages", "bedrock-converse-stream"])
def test_anthropic_and_bedrock_take_letters_digits_underscore_and_hyphen_up_to_64(api: str) -> None:
    assert translated(api, "toolu_01-Ab") == "toolu_01-Ab"
    assert translated(api, "call|fc:é") == "call_fc__"
    assert translated(api, "x" * 80) == "x" * 64


@pytest.mark.parametrize("model", ["claude-opus-4", "gpt-oss-120b", "gemini-3-pro", "gemini-10-flash"])
def test_google_needs_clean_ids_for_hosted_models_and_since_gemini_3(model: str) -> None:
    assert translated("google-generative-ai", "a|b", model) == "a_b"


@pytest.mark.parametrize("model", ["gemini-2.5-pro", "gemini-1.5-flash"])
def test_google_leaves_ids_of_older_models_alone(model: str) -> None:
    assert translated("google-generative-ai", "a|b", model) == "a|b"


@pytest.mark.parametrize("api", ["openai-responses", "openai-codex-responses", "azure-openai-responses"])
def test_openai_responses_cleans_call_and_item_apart(api: str) -> None:
    assert translated(api, "call_1|fc_2") == "call_1|fc_2"
    assert translated(api, "call:1__|fc_2__") == "call_1|fc_2"
    assert translated(api, "toolu_1") == "toolu_1"
    assert re.fullmatch(r"x{64}\|fc_y{61}", translated(api, "x" * 70 + "|fc_" + "y" * 70))


def test_openai_responses_names_another_vendors_item_anew_and_leaves_out_another_models() -> None:
    named = translated("openai-responses", "call_1|rs_2")

    assert re.fullmatch(r"call_1\|fc_[0-9a-f]{16}", named)
    assert named == translated("openai-responses", "call_1|rs_2")
    assert translated("openai-responses", "call_1|fc_2", same_vendor=True) == "call_1"


def test_openai_completions_takes_the_call_alone_up_to_40() -> None:
    assert translated("openai-completions", "call_1|fc_2") == "call_1"
    assert translated("openai-completions", "|fc_2") == "_fc_2"
    long = translated("openai-completions", "x" * 41)
    assert re.fullmatch(r"x{31}_[0-9a-f]{8}", long)
    assert translated("openai-completions", "x" * 42) != long


def test_unknown_api_leaves_ids_alone() -> None:
    assert translated("own", "a|b" * 40) == "a|b" * 40


def test_empty_id_becomes_one() -> None:
    assert translated("anthropic-messages", "") == "call"


def test_ids_that_become_alike_are_told_apart_within_the_length() -> None:
    ids = CallIds("openai-completions", "m")
    made = [ids.translate(f"{'c' * 40}|{number}", same_vendor=False) for number in range(50)]

    assert len(set(made)) == 50
    assert max(map(len, made)) == 40


def test_mark_that_is_taken_itself_is_not_used() -> None:
    plain = CallIds("anthropic-messages", "m")
    plain.keep("a_b")
    marked = plain.translate("a|b", same_vendor=False)

    ids = CallIds("anthropic-messages", "m")
    ids.keep("a_b")
    ids.keep(marked)

    assert ids.translate("a|b", same_vendor=False) not in ("a_b", marked)


def test_call_is_found_by_the_id_that_it_had() -> None:
    ids = CallIds("anthropic-messages", "m")

    new = ids.translate("a|b", same_vendor=False)

    assert ids.translate("a|b", same_vendor=False) == ids.find("a|b") == new
    assert ids.find("never met") == "never met"
