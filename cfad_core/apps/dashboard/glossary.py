"""What the words mean, for the question marks beside them."""

from __future__ import annotations

METHODS = {
    "pca": "Principal components; what they leave unexplained of a person is the score.",
    "ocsvm": "One-class SVM; the score is how far a person lies outside the region where normal people are.",
    "iforest": "Isolation forest; people whom random cuts set apart quickly score high.",
    "ae": "A plain autoencoder trained on normal people; the worse it reconstructs a person, the higher the score.",
    "dcfod": "Deep clustering, trained not to tell the groups apart; the score is the distance to the nearest cluster.",
    "fairod": "A small autoencoder, trained so that its scores do not follow the group, but keep each group's ranking.",
    "cfad": "The autoencoder, tuned so that its code tells as little as possible of which world a row is from.",
    "twin": (
        "One score from CFAD's scores of a person and of their counterfactual; it needs the sensitive attribute and "
        "the causal model when it scores."
    ),
}

HELP = {
    "methods": (
        "AE: a plain detector (autoencoder). CFAD: the same, tuned so that both worlds look alike to it. Twin: one "
        "score from CFAD's scores of a person and of their counterfactual. The Methods page explains the others."
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
    "interval": (
        "What other graphs say: each was learned from a random half of the rows and judges its own sample of the "
        "people. One more graph would fall between these bounds with 90 % probability (of fewer than 19 graphs they "
        "are the lowest and the highest). Where the sensitive attribute affects a category, these graphs draw a value "
        "for it, while the audit's own model leaves it between its values: the own ratio may then lie outside."
    ),
    "model error": (
        "The placebo floor: people are flipped to the other group by one graph and back by another. A perfect model "
        "would bring everybody back; this is the share whose outcome still differs. A ratio that is no larger says "
        "little."
    ),
    "found in graphs": (
        "How many of the graphs, each learned from a random half of the rows, have this edge. One that seldom comes "
        "back may be chance; one that you required is in all of them."
    ),
    "far": (
        "A twin is far from anything real if the nearest training row of its group is further away than it is for 99 % "
        "of real people. What the detector says of such a twin says little. Twins are those of the audit's own causal "
        "model."
    ),
    "knowledge file": (
        "Domain knowledge as the page about the graph writes it, or a graph without cycles whose nodes are columns of "
        "this table. A CSV file is a matrix: what is not 0 means that the row causes the column."
    ),
    "strength": "How much an effect moves when its cause moves by one standard deviation, in the units of learning.",
}
