// Keys of the presenter: they press the links that are on the page, and do nothing on any other page.
if (!window.cfadPresenter) {
  window.cfadPresenter = true;
  const ways = { ArrowRight: "next", PageDown: "next", ArrowLeft: "back", PageUp: "back", Escape: "leave" };
  document.addEventListener("keydown", (event) => {
    if (!document.querySelector(".st-key-present") || event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest?.("input, textarea, [role=slider]");
    if (typing && event.key !== "Escape" && event.key !== "PageDown" && event.key !== "PageUp") return;
    if (event.key === "f" || event.key === "F") {
      if (document.fullscreenElement) document.exitFullscreen();
      else document.documentElement.requestFullscreen();
    } else if (/^[1-5]$/.test(event.key)) {
      document.querySelector(`.st-key-present-scene-${event.key} a`)?.click();
    } else if (ways[event.key]) {
      event.preventDefault();
      document.querySelector(`.st-key-present-${ways[event.key]} a`)?.click();
    }
  });
}
