"""Each known mistake still has its place in the source, and tests of its own."""

from dataclasses import replace

import pytest

from tools.mutants import MUTATIONS, SOURCE, TESTS, Mutation, StaleMutationError, mutated


def source_of(mutation: Mutation) -> str:
    return (SOURCE / "pdb_trainer" / f"{mutation.module}.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_fits_its_module_and_names_its_tests(mutation: Mutation):
    changed = mutated(source_of(mutation), mutation)
    assert changed != source_of(mutation)
    compile(changed, mutation.module, "exec")
    assert (TESTS / f"{mutation.tests}.py").is_file()


def test_a_mutation_that_fits_no_longer_is_refused():
    stale = replace(MUTATIONS[0], before="no such line")
    with pytest.raises(StaleMutationError, match="0 places"):
        mutated(source_of(stale), stale)
