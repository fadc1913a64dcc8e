#!/usr/bin/python3
"""Makes reference-scipy.json from samples.json: /usr/bin/python3 reference.py > reference-scipy.json

Debian: apt-get install python3-scipy. permutation_test deals the ranks in all ways, so it is exact with ties too."""
import json
import math
import warnings

import numpy as np
import scipy
from scipy import stats

warnings.simplefilter("ignore")
samples = json.load(open("samples.json"))


def pair(base, other):
    out = {}
    if min(base) != max(base) or min(other) != max(other):
        t = stats.ttest_ind(other, base, equal_var=False)
        out["welch"] = {"t": t.statistic, "p": t.pvalue}
    u = stats.mannwhitneyu(other, base, alternative="two-sided", method="asymptotic")
    out["rank"] = {"u": u.statistic, "normal": None if math.isnan(u.pvalue) else u.pvalue}
    both = base + other
    if len(set(both)) == len(both):
        out["rank"]["exact"] = stats.mannwhitneyu(other, base, alternative="two-sided", method="exact").pvalue
    elif math.comb(len(both), len(base)) <= 200000:
        ranks = stats.rankdata(both)
        test = stats.permutation_test(
            (ranks[len(base):], ranks[:len(base)]), lambda x, y, axis: np.sum(x, axis=axis), vectorized=True,
            n_resamples=np.inf, alternative="two-sided", batch=5000)
        out["rank"]["exact"] = test.pvalue
    return out


print(json.dumps({
    "made_by": f"scipy {scipy.__version__}",
    "pairs": {name: pair(s["base"], s["other"]) for name, s in samples["pairs"].items()},
}, indent=1))
