"""What the words mean, for the question marks beside them."""

from __future__ import annotations

HELP = {
    "methods": (
        "AE: a plain detector (autoencoder). CFAD: the same, tuned so that both worlds look alike to it. Twin: the "
        "mean of CFAD's scores of a person and of their counterfactual."
    ),
    "flagged": "People whose score is above the threshold.",
    "Macro-F1": (
        "How well the flags match the labels, from 0 to 1: the mean of the F1 scores of anomalies and of normal people."
    ),
    "AUC-PR": "Area under the precision-recall curve: how well anomalies are ranked first, whatever the threshold.",
    "AUC-ROC": "Chance that an anomaly scores higher than a normal person; 0.5 is guessing.",
    "changed, own": (
        "Share of people whose outcome would differ, had they belonged to the other group, by the causal model (SCM) "
        "that the audit learned and trained with."
    ),
    "changed, judge": (
        "The same by a judge that the detectors never saw: a causal model learned from the other half of the rows, or "
        "the true counterfactuals where they are known. Trust this one more."
    ),
    "quantile": (
        "The share of training scores below the threshold. 0.95 means: 5 % of the people trained on would be flagged."
    ),
    "threshold": "People with a higher score are flagged; the same for everybody.",
    "strength": "How much an effect moves when its cause moves by one standard deviation, in the units of learning.",
}
