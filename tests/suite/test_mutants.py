"""The mutants of the suite's tasks: each one change that compiles."""

import ast

import pytest
from tests import core

from lmrbench.authoring.audit.mutants import mutants

# Goldens of one or two expressions, of which there is little to change.
SHORT = {
    "knowledge_source/is_parametric_object_not_in_the_prompt": 5,
    "knowledge_source/remove_object_subject_overlap": 20,
    "knowledge_source/return_entity_overlap_between_relation_groups": 14,
    "repe/pca_directions": 9,
}


@pytest.mark.parametrize("task", core.ALL, ids=lambda task: task.id)
def test_mutants_of_the_suite_differ_from_the_golden_and_from_each_other(task):
    made = mutants(task)

    assert len({mutant.id for mutant in made}) == len({mutant.file for mutant in made}) == len(made)
    assert len(made) == SHORT[task.id] if task.id in SHORT else len(made) > 20
    # Once for each paper is enough, because the tiers share their code.
    assert task.tier != "function" or made == mutants(task)
    goldens = {file: ast.dump(ast.parse(task.files.repository[file])) for file in task.goal_files}
    for mutant in made:
        tree = ast.parse(mutant.file)
        compile(tree, "mutant.py", "exec")
        assert ast.dump(tree) != goldens[mutant.target.file]
