"""Every text that prompts and steps are made of, and the settings of the experiment.

Templates are filled by `str.format`, once: what is filled in may hold braces of its own.
"""

from dataclasses import dataclass

# The two triggers that zero-shot prompting compares, and the one before an answer.
COT_TRIGGER = "Let's think step by step."
MORE_STEPS_TRIGGER = "Let's think step by step, you must think more steps."
DIRECT_ANSWER_TRIGGER = "The answer is"

# The layout of a prompt. A prompt is a list of blocks, one for each demonstration and one for the question asked. A
# block is the question's line and, on the next line, the answer's line, which starts with the mark. What follows the
# mark is one space apart from what precedes it, and no block ends in white space. The CoT trigger and the steps of a
# rationale are sentences. The direct answer trigger is none, and runs on into the answer, which ends with SENTENCE_END.
QUESTION_LINE = "Q: {question}"
ANSWER_MARK = "A:"
LINE_END = "\n"
BLOCK_END = "\n\n"
SENTENCE_END = "."
END_MARKS = (".", "?", "!")

METHODS = ("zero_shot", "zero_shot_cot", "few_shot", "few_shot_cot", "auto_cot")

# Where in a rationale a strategy puts its steps: ahead of the reasoning, between its steps, after all of it, and right
# before the answer. The places follow each other in this order.
OPENING, BETWEEN, CLOSING, BEFORE_ANSWER = PLACES = ("opening", "between", "closing", "before answer")


@dataclass(frozen=True)
class Strategy:
    """A way to add a step.

    template: the step. Its fields: `question`, the sentence of the question that asks; `words` and `thoughts`, the stem
    words of the whole question and what is said of each; `state` and `equation` of the reasoning; `fact`, what an
    answer to the whole question has to satisfy; `answer`.
    contrary: the step where a check comes out against the answer; strategies that check nothing have none.
    """

    place: str
    template: str
    contrary: str = ""


# The order is the one in which the experiment adds them.
STRATEGIES = {
    "read_question": Strategy(OPENING, "The question is: {question}"),
    "think_word": Strategy(OPENING, "The stem of the question is {words}: {thoughts}."),
    "repeat_state": Strategy(BETWEEN, "So far {state}."),
    "self_verification": Strategy(
        BEFORE_ANSWER,
        "To verify: {fact}, and {answer} is in line with that.",
        contrary="To verify: {fact}, but {answer} is not in line with that.",
    ),
    "make_equation": Strategy(CLOSING, "As an equation we have {equation}."),
}
# What is said of each stem word, and what stands between the words as well as between the thoughts.
THOUGHT = "think about {word}"
LIST_SEPARATOR = ", "

# What a model is asked for two consecutive sentences of a rationale.
COMPRESS_PROMPT = (
    "Merge the two sentences below into a single one. Keep everything that they say, in as few words as you can.\n"
    "First: {first}\nSecond: {second}\nMerged:"
)

# A question's stem has at most so many words, and none of these.
STEM_WORDS = 3
_STOP_WORDS = """
a an and are as do does each has have how in is it many more much not now of on or so still take the their them then
there to up was were what who with
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
STATES = ("heads", "tails")

TESTS, DEMONSTRATIONS = 12, 4
MOST_ADDED, MOST_MERGED = 6, 3
# Readers of three sizes, by the sentences that each needs for an operation.
READERS = {"small": 2.4, "medium": 1.2, "large": 0.5}
