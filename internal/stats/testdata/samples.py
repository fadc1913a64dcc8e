#!/usr/bin/python3
"""Makes samples.json, the input of reference.R and reference.py: /usr/bin/python3 samples.py > samples.json"""
import json
import random

random.seed(20120601)


def normal(n, mean, sd, digits=4):
    return [round(random.gauss(mean, sd), digits) for _ in range(n)]


def skewed(n, mu, sigma):
    return [round(random.lognormvariate(mu, sigma), 4) for _ in range(n)]


pairs = {
    "normal": (normal(10, 5.2, 0.05), normal(10, 5.35, 0.05)),
    "normal, equal": (normal(12, 100, 2), normal(12, 100, 2)),
    "normal, variances differ": (normal(6, 100, 1), normal(14, 104, 9)),
    "normal, far apart": (normal(10, 5.2, 0.01), normal(10, 9.8, 0.02)),
    "normal, large": (normal(70, 100, 3), normal(60, 101, 3)),
    "normal, negative": (normal(8, -50, 1), normal(8, -52, 1)),
    "skewed": (skewed(10, 6.7, 0.2), skewed(10, 6.9, 0.2)),
    "skewed, large": (skewed(40, 2, 1), skewed(45, 2.3, 1)),
    "tied": ([1, 1, 2, 2, 2, 3, 3, 4], [2, 3, 3, 3, 4, 4, 5, 5, 5]),
    "tied, uneven": ([0, 0, 0, 0, 0, 1, 7], [0, 3, 3, 9, 9]),
    "tied, large": ([random.randint(0, 9) for _ in range(55)], [random.randint(1, 10) for _ in range(65)]),
    "one side constant": ([0] * 10, normal(10, 500, 20, 0)),
    "other side constant": (normal(6, 500, 20, 0), [0] * 6),
    "constant": ([0] * 10, [500] * 10),
    "constant, sizes differ": ([3] * 4, [5] * 9),
    "constant, equal": ([7] * 5, [7] * 6),
    "tiny": ([5.21, 5.18], [5.83, 5.84]),
    "tiny, 3": ([9.414, 9.415, 9.416], [9.416, 9.417, 9.4185]),
    "tiny, 2 and 5": ([10.0, 10.4], [11.1, 11.0, 11.3, 10.9, 11.2]),
    "base reaches 0": ([-3.1, 2.2, 4.0, -0.9, 1.5, 0.3], normal(6, 12, 1)),
    "wide": (normal(4, 10, 2), normal(4, 15, 3)),
    "tiny values": ([x * 1e-60 for x in (1.0, 1.5, 1.25)], [x * 1e-60 for x in (2.0, 2.5, 2.75)]),
}

outliers = {
    # Rosner's own example, as in the NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.17.3.
    "rosner": [
        -0.25, 0.68, 0.94, 1.15, 1.20, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56, 1.58, 1.65, 1.69, 1.70,
        1.76, 1.77, 1.81, 1.91, 1.94, 1.96, 1.99, 2.06, 2.09, 2.10, 2.14, 2.15, 2.23, 2.24, 2.26, 2.35, 2.37, 2.40,
        2.47, 2.54, 2.62, 2.64, 2.90, 2.92, 2.92, 2.93, 3.21, 3.26, 3.30, 3.59, 3.68, 4.30, 4.64, 5.34, 5.42, 6.01,
    ],
    "none": normal(20, 5, 1),
    "one": normal(9, 5, 0.1) + [7.5],
    "two on one side": normal(10, 5, 0.1) + [8.1, 8.2],
    "constant but one": [4.0] * 9 + [5.0],
    "six": normal(6, 5, 0.1),
}

drift = {
    name: [
        {"arm": arm, "boot": boot, "at": i + 1, "value": round(level[arm] + slope * i + random.gauss(0, 0.3), 4)}
        for i, (arm, boot) in enumerate(zip(order, boots))
    ]
    for name, order, boots, slope, level in [
        ("none", "ABBAABBAABBA", [0] * 12, 0, {"A": 5, "B": 6}),
        ("rising", "ABBAABBAABBA", [0] * 12, 0.2, {"A": 5, "B": 6}),
        ("falling in three boots", "ABBAABBAABBA", [0] * 4 + [1] * 4 + [2] * 4, -0.3, {"A": 5, "B": 6}),
        ("one arm after the other", "AAAAAABBBBBB", [0] * 12, 0.05, {"A": 5, "B": 6}),
    ]
}

holm = [[0.01, 0.04, 0.03, 0.005], [0.5], [0.9, 0.8], [0.02, 0.02, 0.02], [1e-5, 0.049, 0.2, 1, 0.012, 0.012]]

print(json.dumps({"pairs": {k: {"base": v[0], "other": v[1]} for k, v in pairs.items()},
                  "outliers": outliers, "drift": drift, "holm": holm}, indent=1))
