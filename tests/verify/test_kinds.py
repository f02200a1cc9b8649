"""Programs of known kinds with other names, orders, constants, sizes and claims just above and below what they lose.

Each verdict was derived by hand: the losses of sums, sparse vectors, noisy maxima and histograms are sums over draws.
"""

import re
from pathlib import Path

import pytest

from sfumato.errors import InputError
from sfumato.verify.parse import read_program
from sfumato.verify.verdict import verify

BLOCKS = re.split(r"^== (\w+) (\w+)\n", (Path(__file__).parent / "kinds.txt").read_text(), flags=re.MULTILINE)[1:]
VARIANTS = {name: (text, expected) for name, expected, text in zip(*[iter(BLOCKS)] * 3, strict=True)}
SAMPLE = """
    sum_drawfirst sum_half sum_while1 sum_neq sum_abbad cnt_nest two_lists mean_abbad dum4 svt_N1bad svt_leNbad
    svt_gapTb svt_above1gap svt_flag nm_one nm_plus1 nm_init0 hist_list hist_listbad hist_clamp hist_privguard
    early_priv noise_reuse contra x_d_rrlist x_d_mod2 z_o_list x_s_back x_v_indices x_d_exploop z_f_noise y_w_break
    x_r_reuse_list y_t_nestbad x_h_inner_one z_max_minus
""".split()  # noqa: SIM905  as they are named


def decided(text):
    try:
        found = verify(read_program(text))
    except InputError:
        return "ERROR"
    return found.verdict if found.verdict != "PROVED" or found.scope == "all" else "SOME"


def test_there_are_many_variants_of_each_answer():
    answers = [expected for _, expected in VARIANTS.values()]
    assert len(answers) > 300
    assert min(answers.count(answer) for answer in ("PROVED", "REFUTED")) > 100
    assert set(SAMPLE) <= set(VARIANTS)


@pytest.mark.parametrize("name", SAMPLE)
def test_a_variant_is_decided(name):
    text, expected = VARIANTS[name]
    assert decided(text) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(VARIANTS) - set(SAMPLE)))
def test_every_variant_is_decided(name):
    text, expected = VARIANTS[name]
    assert decided(text) == expected
