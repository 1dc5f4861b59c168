// From a person to their twin, step by step. Everything from a table is set as text, never as HTML.
const PAUSE = 1800; // milliseconds between two steps
const kept = new WeakMap(); // by place on the page: the walk that is shown there

function made(tag, kind, words) {
  const element = document.createElement(tag);
  if (kind) element.className = kind;
  if (words !== undefined) element.textContent = words;
  return element;
}

function build(root, data) {
  root.replaceChildren();
  const walk = { at: 0, timer: null, chips: [], ghosts: [] };
  const controls = made("div", "controls");
  const button = (label, words, act) => {
    const one = made("button", "", words);
    one.type = "button";
    one.setAttribute("aria-label", label);
    one.title = label;
    one.addEventListener("click", act);
    controls.append(one);
    return one;
  };
  const show = (place) => {
    walk.at = Math.min(data.steps.length - 1, Math.max(0, place));
    draw(walk, data);
  };
  const stop = () => {
    clearInterval(walk.timer);
    walk.timer = null;
    draw(walk, data);
  };
  const play = () => {
    if (walk.timer) return stop();
    if (walk.at === data.steps.length - 1) walk.at = 0;
    walk.timer = setInterval(() => {
      if (!root.isConnected || walk.at >= data.steps.length - 1) return stop();
      show(walk.at + 1);
      if (walk.at >= data.steps.length - 1) stop();
    }, PAUSE);
    draw(walk, data);
  };
  const by = (steps) => {
    if (walk.timer) stop();
    show(walk.at + steps);
  };
  walk.play = button("Play", "", play);
  walk.play.className = "play";
  walk.back = button("One step back", "←", () => by(-1));
  walk.next = button("One step on", "→", () => by(1));
  walk.count = made("span", "count");
  walk.value = made("span", "value");
  controls.append(walk.count, walk.value);
  walk.stop = () => clearInterval(walk.timer);

  const chips = made("ol", "chips");
  data.steps.forEach((step, k) => {
    const item = made("li");
    const chip = made("button", "chip", step.name);
    chip.type = "button";
    chip.addEventListener("click", () => by(k - walk.at));
    item.append(chip);
    chips.append(item);
    walk.chips.push(chip);
  });

  const scale = made("div", "scale");
  scale.setAttribute("aria-hidden", "true"); // the sentence says it
  const track = made("div", "track");
  data.steps.forEach((step) => {
    const ghost = made("i", "ghost");
    ghost.style.left = `${step.place}%`;
    track.append(ghost);
    walk.ghosts.push(ghost);
  });
  walk.bar = made("i", "bar");
  walk.mark = made("i", "mark");
  const threshold = made("i", "threshold");
  const label = made("span", data.threshold.place > 60 ? "threshold-label left" : "threshold-label", data.threshold.words);
  for (const one of [threshold, label]) one.style.left = `${data.threshold.place}%`;
  track.append(walk.bar, walk.mark, threshold);
  const ticks = made("div", "ticks");
  for (const [place, words] of data.ticks) {
    const tick = made("span", "", words);
    tick.style.left = `${place}%`;
    ticks.append(tick);
  }
  const above = made("div", "labels");
  above.append(label);
  scale.append(above, track, ticks);

  walk.said = made("p", "said");
  walk.said.setAttribute("aria-live", "polite");
  root.addEventListener("keydown", (event) => {
    const keys = { ArrowLeft: -1, ArrowRight: 1, Home: -data.steps.length, End: data.steps.length };
    if (event.key in keys) {
      event.preventDefault();
      by(keys[event.key]);
      if (event.target.classList.contains("chip")) walk.chips[walk.at].focus();
    }
  });
  root.append(controls, chips, scale, walk.said);
  draw(walk, data);
  return walk;
}

function draw(walk, data) {
  const step = data.steps[walk.at];
  walk.bar.style.width = `${step.place}%`;
  walk.mark.style.left = `${step.place}%`;
  walk.value.replaceChildren("score ", made("b", "", step.score), step.above ? ": flagged" : ": not flagged");
  for (const part of [walk.bar, walk.mark]) part.classList.toggle("above", step.above);
  walk.chips.forEach((chip, k) => {
    chip.classList.toggle("done", k < walk.at);
    chip.classList.toggle("turns", data.steps[k].turns);
    if (k === walk.at) chip.setAttribute("aria-current", "step");
    else chip.removeAttribute("aria-current");
  });
  walk.ghosts.forEach((ghost, k) => ghost.classList.toggle("seen", k < walk.at));
  walk.said.textContent = step.sentence;
  walk.count.textContent = walk.at ? `step ${walk.at} of ${data.steps.length - 1}` : "the start";
  walk.play.textContent = walk.timer ? "❚❚ Pause" : "▶ Play";
  walk.play.setAttribute("aria-label", walk.timer ? "Pause" : "Play");
  walk.play.title = walk.timer ? "Pause" : "Play";
  walk.back.setAttribute("aria-disabled", walk.at === 0); // a disabled button would lose the focus
  walk.next.setAttribute("aria-disabled", walk.at === data.steps.length - 1);
}

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".walk");
  const said = JSON.stringify(data);
  const before = kept.get(root);
  if (!before || before.said !== said) {
    before?.walk.stop();
    kept.set(root, { said, walk: build(root, data) });
  }
  return () => kept.get(root)?.walk.stop();
}
