// The causal graph as an instrument. It draws what it is given and tells Python what a person did: "picked", "edit".
// Names come from tables and may be anything: they are drawn on a canvas, or set as textContent, never as HTML.

const CAUSAL = "#D55E00", AFFECTED = ["#56B4E9", "#0072B2"];
const MARKS = { required: "must be", forbidden: "cannot be", here: "only here", there: "only there", turned: "turned" };
const MOST = 1.3; // zoom that a small graph is fitted with
const graphs = new WeakMap();

export default function (component) {
  const { parentElement, data, setTriggerValue } = component;
  if (!graphs.has(parentElement)) graphs.set(parentElement, new Instrument(parentElement));
  const graph = graphs.get(parentElement);
  graph.tell = setTriggerValue;
  graph.show(data);
  return () => { graph.close(); graphs.delete(parentElement); };
}

const isCalm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

// The library arrives as a component of its own, once for a session
async function library() {
  const late = performance.now() + 20000;
  while (!globalThis.cytoscape) {
    if (performance.now() > late) throw new Error("The drawing library did not arrive.");
    await new Promise((done) => setTimeout(done, 25));
  }
  return globalThis.cytoscape;
}

class Instrument {
  constructor(root) {
    this.frame = root.querySelector(".cfad-graph");
    for (const part of ["tools", "sheet", "canvas", "tip", "said"]) this[part] = this.frame.querySelector(`.cfad-graph-${part}`);
    this.mode = "look";
    this.letters = 11;
    this.from = this.at = null; // where a new edge begins; where the keyboard is
  }

  async show(data) {
    this.data = data;
    try {
      const cytoscape = await library();
      if (this.closed) return;
      if (!this.cy) this.begin(cytoscape);
      this.redraw();
    } catch (error) {
      console.warn(error);
      if (!this.closed) this.tell("failed", true);
    }
  }

  close() {
    this.closed = true;
    this.watch?.disconnect();
    this.cy?.destroy();
  }

  begin(cytoscape) {
    this.cy = cytoscape({ container: this.canvas, minZoom: 0.15, maxZoom: 4, boxSelectionEnabled: false, autounselectify: true, layout: { name: "preset" } });
    this.watch = new ResizeObserver(() => this.resized());
    this.watch.observe(this.canvas);
    // A page scrolls on: the wheel zooms where the graph has the focus, or with Ctrl
    this.sheet.addEventListener("wheel", (event) => { if (!event.ctrlKey && document.activeElement !== this.canvas) event.stopPropagation(); }, { capture: true });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("blur", () => this.focus(null));
    this.canvas.addEventListener("mouseleave", () => { this.tip.hidden = true; });
    this.cy.on("viewport", () => { this.tip.hidden = true; });
    this.cy.on("dragpan scrollzoom pinchzoom", () => { this.moved = true; });
    this.cy.on("mouseover", "node.column, edge.arrow", (event) => this.point(event));
    this.cy.on("mouseout", "node, edge", () => { this.tip.hidden = true; });
    this.cy.on("tap", (event) => this.tap(event));
    this.cy.on("tapstart", "node.column", (event) => this.start(event));
    this.cy.on("tapdrag", (event) => this.pull(event));
    this.cy.on("tapend", (event) => this.drop(event));
    this.cy.on("dragfree", "node.column", (event) => this.place(event.target));
  }

  // Drawing

  redraw() {
    const { data, cy } = this;
    this.buttons();
    this.canvas.setAttribute("aria-label", data.label);
    const ordering = this.mode === "order";
    const sheet = `${this.mode} ${data.sheet} ${ordering ? data.order.bands.length : ""}`;
    cy.batch(() => {
      cy.elements().remove();
      cy.add(ordering ? this.bands() : this.arrows());
      if (data.picked) cy.getElementById(data.picked).addClass("picked");
      if (this.from !== null) cy.getElementById(this.from).addClass("from");
      if (this.at !== null) cy.getElementById(this.at).addClass("at");
    });
    cy.style(this.looks());
    cy.autoungrabify(this.mode === "draw" || !data.editable && ordering);
    if (sheet !== this.sheetShown) { this.moved = false; this.grow(); this.fit(); }
    this.sheetShown = sheet;
  }

  arrows() {
    const nodes = this.data.nodes.map((one) => ({ group: "nodes", classes: `column kind${one.kind} ${one.mark || ""}`, data: { ...one, label: one.lines.join("\n") }, position: { x: one.x, y: one.y } }));
    const edges = this.data.edges.map((one) => ({
      group: "edges", classes: ["arrow", one.causal ? "causal" : "", one.rare ? "rare" : "", one.open ? "open" : "", one.mark || "", one.curve ? "curved" : ""].join(" "),
      data: { ...one, source: String(one.cause), target: String(one.effect), label: MARKS[one.mark] || (one.open ? "?" : "") },
    }));
    return [...nodes, ...edges];
  }

  // Time order: a band for each step, the earliest on the left, and one for columns without a place
  bands() {
    const { nodes, bands } = this.data.order;
    const wide = 170, tall = 46, most = Math.max(4, ...bands.map((band) => nodes.filter((one) => one.band === band.id).length));
    const found = [];
    bands.forEach((band, k) => {
      found.push({ group: "nodes", classes: `band ${band.fresh ? "fresh" : ""}`, selectable: false, grabbable: false, data: { id: `band${k}`, label: band.label, wide: wide - 12, tall: most * tall + 20 }, position: { x: k * wide, y: (most * tall) / 2 } });
      nodes.filter((one) => one.band === band.id).forEach((one, row) => {
        found.push({ group: "nodes", classes: `column kind${one.kind}`, data: { ...one, label: one.lines.join("\n") }, position: { x: k * wide, y: row * tall + 24 } });
      });
    });
    this.wide = wide;
    return found;
  }

  looks() {
    const css = getComputedStyle(this.frame), read = (name) => css.getPropertyValue(name).trim();
    const ink = read("--st-text-color") || "#222", paper = read("--st-background-color") || "#fff", family = css.fontFamily || "sans-serif";
    const accent = read("--st-primary-color") || "#0072B2", line = read("--st-border-color") || "#999";
    const green = "#009E73", wine = "#C4568C", violet = "#8F75F0";
    const written = { color: ink, "font-family": family, "text-background-color": paper, "text-background-padding": "2px" };
    const motion = isCalm() ? 0 : 120;
    const edge = (color, style = "solid") => ({ "line-color": color, "target-arrow-color": color, "line-style": style, opacity: 1 });
    return [
      { selector: "node.column", style: { label: "data(label)", ...written, "font-size": this.letters, "text-wrap": "wrap", "text-max-width": "140px", "text-valign": "bottom", "text-margin-y": 4, "text-background-opacity": 0.92, "border-width": 1, "border-color": ink, "overlay-opacity": 0, "transition-property": "border-width", "transition-duration": motion } },
      { selector: ".kind0", style: { shape: "diamond", width: 24, height: 24, "background-color": CAUSAL, "font-weight": "bold" } },
      { selector: ".kind1", style: { shape: "ellipse", width: 17, height: 17, "background-color": AFFECTED[0], "border-width": 3, "border-color": AFFECTED[1] } },
      { selector: ".kind2", style: { shape: "ellipse", width: 14, height: 14, "background-color": "#A0A8B0" } },
      { selector: "edge.arrow", style: { width: "data(width)", "curve-style": "straight", "target-arrow-shape": "triangle", "arrow-scale": 0.85, ...edge(ink), opacity: 0.6, label: "data(label)", ...written, "font-size": 10, "text-background-opacity": 1, "text-background-shape": "round-rectangle", "overlay-padding": 5, "overlay-opacity": 0 } },
      { selector: "edge.curved", style: { "curve-style": "unbundled-bezier", "edge-distances": "node-position", "control-point-weights": "data(weights)", "control-point-distances": "data(distances)", "source-endpoint": "data(from)", "target-endpoint": "data(to)" } },
      { selector: "edge.causal", style: edge(CAUSAL) },
      { selector: "edge.rare", style: { "line-style": "dashed", "line-dash-pattern": [5, 3] } },
      { selector: "edge.open", style: { "text-border-width": 1, "text-border-color": ink, "text-border-opacity": 1, "font-weight": "bold" } },
      { selector: "edge.required", style: { ...edge(green), width: 3 } },
      { selector: "edge.forbidden", style: { ...edge(wine, "dashed"), width: 2, "target-arrow-shape": "tee" } },
      { selector: "edge.here", style: { ...edge(AFFECTED[1]), width: 3 } },
      { selector: "edge.there", style: { ...edge(wine, "dashed"), width: 2.5 } },
      { selector: "edge.turned", style: { ...edge(violet), width: 3, "source-arrow-shape": "triangle-tee", "source-arrow-color": violet } },
      { selector: "edge.both", style: { ...edge(ink), opacity: 0.5 } },
      { selector: "node.picked, node.at", style: { "border-width": 4, "border-color": ink, "underlay-color": accent, "underlay-opacity": 0.45, "underlay-padding": 7 } },
      { selector: "edge.picked, edge.at", style: { "underlay-color": accent, "underlay-opacity": 0.45, "underlay-padding": 6, opacity: 1 } },
      { selector: "node.from", style: { "border-width": 4, "border-color": green, "underlay-color": green, "underlay-opacity": 0.4, "underlay-padding": 8 } },
      { selector: ".ghost", style: { width: 1, height: 1, opacity: 0, events: "no" } },
      { selector: "edge.pull", style: { ...edge(green), width: 3, "curve-style": "straight", "target-arrow-shape": "triangle", events: "no" } },
      { selector: ".band", style: { shape: "round-rectangle", width: "data(wide)", height: "data(tall)", label: "data(label)", ...written, "font-size": 12, "text-valign": "top", "text-wrap": "wrap", "text-max-width": "150px", "text-margin-y": -4, "background-color": ink, "background-opacity": 0.06, "border-width": 1, "border-color": line, events: "no", "z-index": -1, "z-index-compare": "manual" } },
      { selector: ".fresh", style: { "border-style": "dashed", "background-opacity": 0.02 } },
    ];
  }

  // As tall as the graph needs at the width that there is
  grow() {
    if (!this.canvas.clientWidth) return;
    const box = this.cy.elements().boundingBox(), zoom = Math.min(MOST, this.canvas.clientWidth / (box.w + 24));
    this.canvas.style.setProperty("--tall", `${Math.round(Math.max(240, Math.min(540, box.h * zoom + 48)))}px`);
    this.cy.resize();
  }

  // A hidden tab has no width: the graph is fitted once there is one
  resized() {
    this.cy.resize();
    if (this.moved || !this.canvas.clientWidth) return;
    if (this.canvas.clientWidth !== this.width) { this.width = this.canvas.clientWidth; this.grow(); }
    this.fit();
  }

  fit() {
    if (!this.canvas.clientWidth) return;
    this.cy.fit(undefined, 12);
    if (this.cy.zoom() > MOST) { this.cy.zoom(MOST); this.cy.center(); }
    const letters = Math.max(11, Math.min(13.5, 11 / this.cy.zoom())); // names stay readable in a narrow frame
    if (Math.abs(letters - this.letters) > 0.2) { this.letters = letters; this.cy.style(this.looks()); }
  }

  zoom(by) {
    this.moved = true;
    this.cy.zoom({ level: this.cy.zoom() * by, renderedPosition: { x: this.cy.width() / 2, y: this.cy.height() / 2 } });
  }

  // Tools

  buttons() {
    const tools = [];
    if (this.data.editable) {
      const modes = { look: "Look", draw: "Draw an edge", order: "Time order" };
      for (const [mode, words] of Object.entries(modes)) tools.push({ key: mode, words, pressed: this.mode === mode, act: () => this.turn(mode) });
      tools.push({ gap: true });
    }
    tools.push({ key: "in", words: "+", label: "Zoom in", act: () => this.zoom(1.25) }, { key: "out", words: "−", label: "Zoom out", act: () => this.zoom(0.8) });
    tools.push({ key: "fit", words: "Fit", label: "Fit the graph into the frame", act: () => { this.moved = false; this.fit(); } });
    if (document.fullscreenEnabled) tools.push({ key: "full", words: "Full screen", act: () => (document.fullscreenElement ? document.exitFullscreen() : this.frame.requestFullscreen()) });
    const shown = JSON.stringify(tools);
    if (shown === this.toolsShown) return;
    const focused = this.tools.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    this.toolsShown = shown;
    this.tools.replaceChildren(...tools.map((tool) => {
      const made = document.createElement(tool.gap ? "span" : "button");
      if (tool.gap) { made.className = "cfad-graph-gap"; return made; }
      made.type = "button";
      made.dataset.key = tool.key;
      made.textContent = tool.words;
      if (tool.label) made.setAttribute("aria-label", tool.label);
      if (tool.pressed !== undefined) made.setAttribute("aria-pressed", String(tool.pressed));
      made.addEventListener("click", tool.act);
      return made;
    }));
    if (focused) this.tools.querySelector(`[data-key="${focused}"]`)?.focus();
  }

  turn(mode) {
    this.mode = mode;
    this.from = null;
    this.redraw();
    this.say({ look: "", draw: "Drag from the cause to its effect, or choose the one and then the other.", order: "Drag columns to the step at which they came about. No arrow runs back in time." }[mode]);
  }

  say(words) { this.said.textContent = words; }

  // Pointing and choosing

  point({ target, renderedPosition }) {
    this.tip.replaceChildren(...(target.data("says") || []).map((words) => { const made = document.createElement("p"); made.textContent = words; return made; }));
    const spot = renderedPosition || target.renderedPosition();
    this.tip.hidden = false;
    this.tip.style.left = `${Math.max(0, Math.min(spot.x + 12, this.cy.width() - this.tip.offsetWidth - 4))}px`;
    this.tip.style.top = `${spot.y + 16 + this.tip.offsetHeight > this.cy.height() ? Math.max(0, spot.y - this.tip.offsetHeight - 10) : spot.y + 16}px`;
  }

  tap({ target }) {
    if (this.pulled) return;
    if (target === this.cy || !(target.hasClass("column") || target.hasClass("arrow"))) { if (this.from !== null) { this.from = null; this.redraw(); } return; }
    this.choose(target);
  }

  choose(target) {
    if (this.mode === "draw" && target.isNode()) return this.join(target.id());
    if (this.mode === "order") return;
    this.cy.elements().removeClass("picked");
    target.addClass("picked");
    this.tell("picked", target.id());
  }

  // A new edge: from one node to another, dragged or chosen one after the other

  join(id) {
    if (this.from === null || this.from === id) {
      this.from = this.from === id ? null : id;
      this.redraw();
      this.say(this.from === null ? "" : `From ${this.name(id)}: choose its effect.`);
      return;
    }
    this.tell("edit", { what: "require", cause: Number(this.from), effect: Number(id) });
    this.say(`${this.name(this.from)} → ${this.name(id)}`);
    this.from = null;
  }

  name(id) { return this.cy.getElementById(id).data("name"); }

  start({ target }) {
    this.pulled = false;
    this.source = this.mode === "draw" ? target : null;
  }

  pull({ position }) {
    if (!this.source) return;
    const from = this.source.position();
    if (!this.pulled && Math.hypot(position.x - from.x, position.y - from.y) < 14) return;
    this.pulled = true;
    this.cy.userPanningEnabled(false);
    if (this.cy.getElementById("ghost").empty()) {
      this.cy.add([{ group: "nodes", classes: "ghost", data: { id: "ghost" }, position: { ...position } }, { group: "edges", classes: "pull", data: { id: "pull", source: this.source.id(), target: "ghost" } }]);
    }
    this.cy.getElementById("ghost").position({ ...position });
  }

  drop({ position }) {
    if (!this.source) return;
    const source = this.source, pulled = this.pulled;
    this.source = null;
    this.cy.userPanningEnabled(true);
    this.cy.remove("#ghost");
    if (!pulled) return;
    setTimeout(() => { this.pulled = false; }, 0);
    const near = this.cy.nodes(".column").filter((one) => one.id() !== source.id() && Math.hypot(one.position("x") - position.x, one.position("y") - position.y) < 30);
    if (near.empty()) return;
    this.from = source.id();
    this.join(near.min((one) => Math.hypot(one.position("x") - position.x, one.position("y") - position.y)).ele.id());
  }

  place(node) {
    if (this.mode !== "order") return;
    const { bands } = this.data.order, k = Math.max(0, Math.min(bands.length - 1, Math.round(node.position("x") / this.wide)));
    if (bands[k].id === node.data("band")) return this.redraw();
    this.tell("edit", { what: "place", column: Number(node.id()), at: bands[k].at });
    this.say(`${node.data("name")}: ${bands[k].label}`);
  }

  // By keyboard: arrows go from node to node, E along the edges of a node, Enter chooses

  key(event) {
    const ways = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    if (event.key in ways) this.focus(this.next(...ways[event.key]));
    else if (event.key === "e" || event.key === "E") this.focus(this.along());
    else if ((event.key === "Enter" || event.key === " ") && this.at !== null) this.choose(this.cy.getElementById(this.at));
    else if (event.key === "Escape") { this.from = null; this.focus(null); this.redraw(); }
    else if (event.key === "+" || event.key === "=") this.zoom(1.25);
    else if (event.key === "-") this.zoom(0.8);
    else if (event.key === "f" || event.key === "F" || event.key === "0") { this.moved = false; this.fit(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  focus(element) {
    this.cy.elements().removeClass("at");
    this.at = element && element.nonempty() ? element.id() : null;
    if (this.at === null) { this.tip.hidden = true; return; }
    if (element.isNode()) this.corner = element.id();
    element.addClass("at");
    this.say((element.data("says") || []).join(". "));
    const box = element.renderedBoundingBox();
    if (box.x1 < 0 || box.y1 < 0 || box.x2 > this.cy.width() || box.y2 > this.cy.height()) { this.moved = true; this.cy.animate({ center: { eles: element }, duration: isCalm() ? 0 : 150 }); }
  }

  next(x, y) {
    const nodes = this.cy.nodes(".column"), now = this.cy.getElementById(this.corner ?? "");
    if (this.at === null || now.empty()) return now.nonempty() ? now : nodes[0] && this.cy.getElementById(nodes[0].id());
    const here = now.position();
    const way = (one) => { const dx = one.position("x") - here.x, dy = one.position("y") - here.y; return { ahead: dx * x + dy * y, aside: Math.abs(dx * y) + Math.abs(dy * x) }; };
    const ahead = nodes.filter((one) => { const { ahead, aside } = way(one); return one.id() !== now.id() && ahead > 4 && aside <= 3 * ahead; });
    return ahead.empty() ? now : ahead.min((one) => way(one).ahead + 2 * way(one).aside).ele;
  }

  along() {
    const node = this.cy.getElementById(this.corner ?? "");
    const edges = node.nonempty() ? node.connectedEdges(".arrow") : this.cy.edges(".arrow");
    if (edges.empty()) return node;
    const now = edges.toArray().findIndex((one) => one.id() === this.at);
    return edges[(now + 1) % edges.length];
  }
}
