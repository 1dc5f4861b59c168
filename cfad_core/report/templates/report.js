"use strict";
(() => {
  // Pictures: still ones are in the page; where a browser can unpack plotly, ones to point at take their place
  const figures = [...document.querySelectorAll("figure[data-figure]")];
  const packed = document.getElementById("plotly");
  async function unpack() {
    const bytes = Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
    return window.Plotly;
  }
  async function draw() {
    const plotly = await unpack();
    if (!plotly) return;
    for (const place of figures) {
      const drawn = JSON.parse(document.getElementById(place.dataset.figure).textContent);
      const live = document.createElement("div");
      live.className = "live";
      live.setAttribute("role", "img");
      live.setAttribute("aria-label", place.dataset.title);
      place.prepend(live);
      await plotly.newPlot(live, drawn.data, drawn.layout, { displaylogo: false, displayModeBar: false, responsive: true });
      place.classList.add("is-live");
    }
    document.documentElement.dataset.pictures = "live";
  }
  if (packed && figures.length && "DecompressionStream" in window) draw().catch((error) => console.warn(error));

  // In a frame without an address of its own, as in the dashboard, a link to a section would leave the report, and
  // whatever is typed there makes the page anew
  if (location.protocol === "about:") {
    const name = `report ${document.title}`;
    try {
      window.scrollTo(0, Number(sessionStorage.getItem(name)));
      window.addEventListener("scroll", () => sessionStorage.setItem(name, window.scrollY));
    } catch { /* a frame may have no storage */ }
    for (const link of document.querySelectorAll("a[href^='#']")) {
      link.addEventListener("click", (event) => {
        event.preventDefault();
        document.getElementById(link.hash.slice(1)).scrollIntoView();
      });
    }
  }

  // The summary for a projector
  const slides = document.getElementById("slides");
  const pages = [...slides.querySelectorAll(".slide")];
  const button = document.getElementById("present");
  const behind = [...document.body.children].filter((part) => part !== slides);
  let place = 0;
  function show(next) {
    place = Math.min(pages.length - 1, Math.max(0, next));
    pages.forEach((page, k) => { page.hidden = k !== place; });
    fit();
    pages[place].focus();
  }
  function fit() { // more words than usual are smaller, as far as a room can read them
    const page = pages[place];
    for (let size = 1; size > 0.6; size -= 0.05) {
      page.style.setProperty("--fit", size);
      if (page.scrollHeight <= page.clientHeight) break;
    }
  }
  function start(event) {
    if (!pages.length) return;
    slides.hidden = false;
    document.body.classList.add("presenting");
    behind.forEach((part) => { part.inert = true; });
    show(0);
    const whole = event && document.documentElement.requestFullscreen; // only somebody's click may ask for it
    if (whole) document.documentElement.requestFullscreen().catch(() => {});
  }
  function stop() {
    slides.hidden = true;
    document.body.classList.remove("presenting");
    behind.forEach((part) => { part.inert = false; });
    if (document.fullscreenElement) document.exitFullscreen();
    button.focus();
  }
  button.hidden = !pages.length;
  window.addEventListener("resize", () => { if (!slides.hidden) fit(); });
  button.addEventListener("click", start);
  slides.addEventListener("click", () => show(place + 1));
  document.addEventListener("fullscreenchange", () => { if (!document.fullscreenElement && !slides.hidden) stop(); });
  document.addEventListener("keydown", (event) => {
    if (slides.hidden) return;
    const step = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 }[event.key];
    if (step) show(place + step);
    else if (event.key === "Home") show(0);
    else if (event.key === "End") show(pages.length - 1);
    else if (event.key === "Escape") stop();
    else return;
    event.preventDefault();
  });
  if (location.hash === "#present") start();
})();
