from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from cfad_core.core.training import dense_network
from cfad_core.detectors import autoencoder, cfad
from cfad_core.detectors.autoencoder import Autoencoder
from cfad_core.detectors.cfad import Choice, Exam, FairAutoencoder, fine_tune
from cfad_core.detectors.protocol import InputScaling, TrainingRows
from tests.conftest import Recorder
from tests.detectors.promises import (
    PLANE,
    Moved,
    assert_rows_are_scored_alone,
    assert_saving_keeps_every_bit,
    fitting,
    restored,
    training_rows,
)
from tests.detectors.promises import near_the_plane as rows

CONFIG = DetectorConfig(width=16, epochs=60, fair_epochs=3, batch_size=64, code_size=2)


def other_world(x: Floats) -> Floats:
    moved: Floats = x + 2.0 * PLANE[0]
    return moved


@pytest.fixture(scope="module")
def model() -> Autoencoder:
    return autoencoder.fit(fitting(training_rows(rows()), AuditConfig(detector=CONFIG)))


def test_fine_tuning_leaves_the_plain_model_alone(model: Autoencoder) -> None:
    before = model.anomaly_score(rows())
    fair = fine_tune(model, rows(), other_world(rows())[None], CONFIG, seed=0, progress=Progress())
    assert np.array_equal(model.anomaly_score(rows()), before)
    assert not np.array_equal(fair.anomaly_score(rows()), before)


def game(model: Autoencoder, **changes: Any) -> cfad._Game:
    x, config = rows(), CONFIG.replace(**changes)
    torch_model = restored(cfad, model.state())
    assert isinstance(torch_model, Autoencoder)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        discriminator = dense_network([2, 8, 8, 1], torch.nn.ReLU)
    worlds = torch_model.prepare(x), torch_model.prepare(other_world(x))[None]
    return cfad._Game(torch_model, discriminator, worlds, config, seed=0)


def test_the_discriminator_is_trained(model: Autoencoder) -> None:
    played = game(
        model, fair_learning_rate=0.0, discriminator_learning_rate=1e-2
    )  # the autoencoder stands still: only C can learn
    losses = [played.step(torch.arange(300))["discriminator"].item() for _ in range(200)]
    assert losses[-1] < 0.8 * losses[0]


def test_the_encoder_feels_the_discriminator(model: Autoencoder) -> None:
    """The gradient of the encoder has the part -lambda * d CE / d theta; without C it would not."""

    def encoder_gradient(weight: float | None) -> torch.Tensor:
        played = game(model, fairness_weight=weight, discriminator_learning_rate=0.0)
        played.step(torch.arange(300))
        return torch.cat([p.grad.flatten() for p in played.model.encoder.parameters() if p.grad is not None])

    none, once, twice = (encoder_gradient(weight) for weight in (0.0, 1.0, 2.0))
    assert (once - none).abs().max() > 1e-4
    torch.testing.assert_close(twice - none, 2.0 * (once - none), rtol=1e-3, atol=1e-6)
    assert torch.equal(encoder_gradient(None), once)


def test_the_encoder_fools_the_discriminator(model: Autoencoder) -> None:
    """With the encoder free to move, the codes of people and of their twins get harder to distinguish."""
    config = CONFIG.replace(fair_epochs=60, fair_learning_rate=3e-3, fairness_weight=5.0)
    x, other = rows(), other_world(rows())
    fair = fine_tune(model, x, other[None], config, seed=0, progress=Progress())

    def gap(detector: Autoencoder) -> float:
        with torch.no_grad():
            here, there = detector.encoder(detector.prepare(x)), detector.encoder(detector.prepare(other))
        return float((here.mean(dim=0) - there.mean(dim=0)).norm() / here.std())

    assert gap(fair) < 0.5 * gap(model)


def test_what_is_reconstructed_is_a_choice(model: Autoencoder) -> None:
    both, factual = (
        game(model, reconstruct_counterfactuals=choice).step(torch.arange(300))["loss"].item()
        for choice in (True, False)
    )
    assert both > factual  # shifted rows are harder to reconstruct


def test_the_module_tunes_the_plain_autoencoder_with_the_rows_and_their_twins(model: Autoencoder) -> None:
    people = training_rows(rows())
    twins = other_world(people.x)
    with_groups = np.column_stack([-people.sensitive, twins])
    given = TrainingRows(people.x, with_groups, people.sensitive, people.inputs)
    config = AuditConfig(seed=4, detector=CONFIG)
    fair = cfad.fit(fitting(given, config, fitted={"ae": model}))
    expected = fine_tune(model, given.x, twins[None], CONFIG, seed=4, progress=Progress())
    assert np.array_equal(fair.anomaly_score(rows()), expected.anomaly_score(rows()))
    assert_rows_are_scored_alone(fair, rows(1500, seed=1), seed=0)
    assert_saving_keeps_every_bit(fair, cfad, rows())


def test_fine_tuning_can_be_cancelled(model: Autoencoder) -> None:
    recorder = Recorder(stop_in="fair fine-tuning")
    with pytest.raises(AuditCancelled, match="fair fine-tuning"):
        fine_tune(model, rows(), rows()[None], CONFIG, seed=0, progress=recorder)
    assert len(recorder.heard) == 1


def choice(errors: list[float], ratios: list[float]) -> Choice:
    return Choice(np.arange(len(errors) - 1.0), np.array(errors), np.array(ratios))


@pytest.mark.parametrize(
    ("errors", "ratios", "kept"),
    [
        ([1.0, 1.0, 1.05, 1.1], [0.5, 0.3, 0.1, 0.2], 1),  # all fit: the lowest ratio
        ([1.0, 1.0, 1.3, 1.19], [0.5, 0.3, 0.1, 0.2], 2),  # the one that would be lowest does not
        ([1.0, 2.0, 2.3, 2.5], [0.5, 0.3, 0.2, 0.1], 1),  # the first step is worse than the plain one: that counts
        ([1.0, 0.8, 1.15, 1.3], [0.5, 0.4, 0.2, 0.1], 1),  # it is better: the plain one counts
        ([1.0, 1.0, 1.0, 1.0], [0.0, 0.2, 0.1, 0.1], 1),  # of several the first; the plain one is no candidate
        ([1.0, 1.0, 1.5], [0.5, 0.2, 0.1], 0),  # none but the first fits
    ],
)
def test_which_step_is_kept_by_hand(errors: list[float], ratios: list[float], kept: int) -> None:
    assert choice(errors, ratios).chosen == kept


def first_squared() -> Autoencoder:
    """Encodes everything but the first of two columns, whose square is the score."""
    encoder, decoder = torch.nn.Linear(2, 1), torch.nn.Linear(1, 2)
    with torch.no_grad():
        encoder.weight.copy_(torch.tensor([[0.0, 1.0]]))
        decoder.weight.copy_(torch.tensor([[0.0], [1.0]]))
        encoder.bias.zero_()
        decoder.bias.zero_()
    inputs = InputScaling(np.zeros(2), np.ones(2))
    return Autoencoder(inputs, torch.nn.Sequential(encoder), torch.nn.Sequential(decoder))


def test_an_exam_by_hand() -> None:
    """Scores 0, 1, 4, ... 361 here; one twin of each person is the person, the other is the next one."""
    with torch.random.fork_rng(devices=[]):
        model = first_squared()
    people = np.column_stack([np.arange(20.0), np.ones(20)])
    exam = Exam(people, np.stack([people, people + np.array([1.0, 0.0])]))
    error, ratio = exam.look(model)
    assert error == pytest.approx((np.arange(20.0) ** 2).mean())
    # Thresholds between two people: by the second twin one person crosses each
    assert ratio == pytest.approx(1.0 / 40.0)


def test_an_exam_holds_four_twins_without_the_sensitive_attribute() -> None:
    people = np.column_stack([np.ones(6), rows(6)])
    exam = Exam.of(people, Moved(draws=True).twins)
    assert np.array_equal(exam.people, people[:, 1:])
    assert exam.twins.shape == (4, 6, 5)
    for draw in range(4):
        np.testing.assert_allclose(exam.twins[draw], people[:, 1:] - 2.0 - draw)


def test_without_an_exam_it_is_the_papers_game(model: Autoencoder) -> None:
    """One step on all rows, by hand: C by its cross-entropy, then E and D by L_AE - lambda CE."""
    x, other = rows(), other_world(rows())
    config = CONFIG.replace(
        fair_epochs=1, batch_size=300, fairness_weight=0.7, closeness_weights=(5.0,), reconstruct_counterfactuals=False
    )
    fair = fine_tune(model, x, other[None], config, seed=3, progress=Progress())
    assert fair.choice is None

    again = restored(autoencoder, model.state())
    assert isinstance(again, Autoencoder)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        discriminator = dense_network([2, 64, 64, 1], torch.nn.ReLU)
    order = torch.randperm(300, generator=torch.Generator().manual_seed(3))
    here, there = again.prepare(x)[order], again.prepare(other)[order]
    networks = [*again.encoder.parameters(), *again.decoder.parameters()]
    for_model = torch.optim.Adam(networks, lr=config.fair_learning_rate)
    for_c = torch.optim.Adam(discriminator.parameters(), lr=config.discriminator_learning_rate)

    def cross_entropy(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        likely = [torch.sigmoid(discriminator(codes)) for codes in (first, second)]
        return -0.5 * (likely[0].log().mean() + (1.0 - likely[1]).log().mean())

    cross_entropy(again.encoder(here).detach(), again.encoder(there).detach()).backward()  # type: ignore[no-untyped-call]
    for_c.step()
    codes = again.encoder(here), again.encoder(there)
    loss = ((here - again.decoder(codes[0])) ** 2).mean() - 0.7 * cross_entropy(*codes)
    for_model.zero_grad()
    loss.backward()
    for_model.step()
    np.testing.assert_allclose(fair.anomaly_score(x), again.anomaly_score(x), rtol=1e-3, atol=1e-5)
    assert not np.allclose(fair.anomaly_score(x), model.anomaly_score(x), rtol=1e-3, atol=1e-5)


def test_closeness_adds_the_squared_difference_of_the_roots(model: Autoencoder) -> None:
    def gradient(weight: float) -> torch.Tensor:
        played = game(model, fairness_weight=0.0)
        played.closeness = weight
        played.step(torch.arange(300))
        return torch.cat([p.grad.flatten() for p in autoencoder.parameters(played.model) if p.grad is not None])

    played = game(model)
    errors = [
        ((some - played.model.decoder(played.model.encoder(some))) ** 2).mean(dim=1)
        for some in (played.factual, played.twins[0])
    ]
    term = ((errors[0].sqrt() - errors[1].sqrt()) ** 2).mean()
    by_hand = torch.cat([g.flatten() for g in torch.autograd.grad(term, autoencoder.parameters(played.model))])
    torch.testing.assert_close(gradient(3.0) - gradient(0.0), 3.0 * by_hand, rtol=1e-3, atol=1e-5)


def held_out_gap(detector: Autoencoder) -> float:
    """Mean difference of the roots of the scores of new people and of their twins."""
    x = rows(400, seed=7)
    roots = [np.sqrt(detector.anomaly_score(some)) for some in (x, other_world(x))]
    return float(np.abs(roots[0] - roots[1]).mean())


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_closeness_brings_the_scores_of_people_and_twins_together(
    model: Autoencoder, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cfad, "_LARGEST_ERROR", np.inf)  # whatever it costs
    x = rows()
    exam = Exam(rows(100, seed=5), other_world(rows(100, seed=5))[None])
    gaps = []
    for weight in (0.0, 50.0):
        config = CONFIG.replace(fair_epochs=5, closeness_weights=(weight,), closeness_epochs=40)
        fair = fine_tune(model, x, other_world(x)[None], config, seed=seed, progress=Progress(), exam=exam)
        gaps.append(held_out_gap(fair))
    assert gaps[1] < 0.8 * gaps[0]


def examined(model: Autoencoder, n: int = 300, seed: int = 0, **changes: Any) -> FairAutoencoder:
    """As in an audit, with people held out."""
    causes, x = Moved(draws=True), rows(n)
    people = training_rows(x)
    given = TrainingRows(x, causes.twins(people.people, 0), people.sensitive, people.inputs)
    config = AuditConfig(seed=seed, detector=CONFIG.replace(**changes))
    return cfad.fit(fitting(given, config, fitted={"ae": model}, causes=causes, other_twins=causes.twins))


def test_the_step_that_is_kept_is_the_one_that_was_looked_at(model: Autoencoder) -> None:
    fair = examined(model, closeness_weights=(5.0, 20.0))
    found = fair.choice
    assert found is not None
    assert found.weights.tolist() == [0.0, 5.0, 20.0]
    assert found.errors.shape == found.ratios.shape == (4,)
    people = np.column_stack([training_rows(rows()).sensitive, rows()])
    held_out = np.random.default_rng([0, 8]).permutation(300)[:60]
    exam = Exam.of(people[held_out], Moved(draws=True).twins)
    assert exam.look(model) == (found.errors[0], found.ratios[0])
    assert exam.look(fair) == (found.errors[1 + found.chosen], found.ratios[1 + found.chosen])
    assert_saving_keeps_every_bit(fair, cfad, rows())
    again = restored(cfad, fair.state())
    assert isinstance(again, FairAutoencoder)
    assert again.choice is not None
    assert again.choice.chosen == found.chosen
    assert_rows_are_scored_alone(fair, rows(1500, seed=1), seed=0)


def test_nothing_is_chosen_without_weights_or_another_model_or_people_enough(model: Autoencoder) -> None:
    assert examined(model, n=50).choice is not None
    assert examined(model, n=49).choice is None
    without = examined(model, closeness_weights=())
    assert without.choice is None
    assert not any(name.startswith("choice") for name in without.state())
    assert_saving_keeps_every_bit(without, cfad, rows())
    assert cfad.fit(fitting(training_rows(rows()), AuditConfig(detector=CONFIG), fitted={"ae": model})).choice is None


def test_fewer_steps_than_weights_still_tune(model: Autoencoder) -> None:
    fair = examined(model, fair_epochs=1, batch_size=300)
    assert fair.choice is not None
    assert len(set(fair.choice.errors.tolist())) == 1 + len(fair.choice.weights)
    still = examined(model, fair_epochs=0)
    assert np.array_equal(still.anomaly_score(rows()), model.anomaly_score(rows()))


def test_the_same_seed_gives_the_same_network(model: Autoencoder) -> None:
    one, same, other = (examined(model, seed=seed).anomaly_score(rows()) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def test_it_learns_from_as_many_twins_as_it_was_told(model: Autoencoder, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Floats] = []
    whole = cfad.fine_tune

    def listening(plain: Autoencoder, x: Floats, twins: Floats, *rest: Any, **named: Any) -> FairAutoencoder:
        heard.append(twins)
        return whole(plain, x, twins, *rest, **named)

    monkeypatch.setattr(cfad, "fine_tune", listening)
    several = examined(model, closeness_weights=(), twins_learned=3)
    one = examined(model, closeness_weights=(), twins_learned=1)
    people = np.column_stack([training_rows(rows()).sensitive, rows()])
    assert [len(twins) for twins in heard] == [3, 1]
    for draw in range(3):
        assert np.array_equal(heard[0][draw], Moved(draws=True).twins(people, draw)[:, 1:])
    assert not np.array_equal(several.anomaly_score(rows()), one.anomaly_score(rows()))
    cfad.fit(fitting(training_rows(rows()), AuditConfig(detector=CONFIG), fitted={"ae": model}))
    assert len(heard[2]) == 1  # nothing is drawn: there is one twin


def test_each_person_gets_one_of_their_own_twins(model: Autoencoder) -> None:
    played = game(model)
    played.twins = torch.arange(3.0)[:, None, None] * 1000.0 + torch.arange(300.0)[None, :, None].expand(3, 300, 5)
    chosen = torch.tensor([5, 7, 11]).repeat(40)
    got = played._some_twins(chosen)
    assert torch.equal(got[:, 0] % 1000.0, chosen.float())
    assert set((got[:, 0] // 1000.0).tolist()) == {0.0, 1.0, 2.0}
