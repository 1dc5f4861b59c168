// The guided tour: once by itself on the first visit, and again whenever the button is pressed. What was seen is
// remembered by this browser alone. A browser that a program drives is left in peace.
const SEEN = "cfad-tour-seen";

function remembered() {
  try {
    return window.localStorage.getItem(SEEN) !== null;
  } catch {
    return true; // a browser that keeps nothing would show it on every visit
  }
}

function remember() {
  try {
    window.localStorage.setItem(SEEN, "1");
  } catch {
    // it is offered again
  }
}

function shown(step) {
  const place = document.querySelector(step.element);
  return place !== null && place.getClientRects().length > 0;
}

function dress(popover) {
  const page = getComputedStyle(document.querySelector("[data-testid=stApp]"));
  popover.wrapper.style.setProperty("--tour-page", page.backgroundColor);
  popover.wrapper.style.setProperty("--tour-ink", page.color);
}

export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button");
  let tour = null;

  function start() {
    remember();
    const steps = data.steps.filter(shown).map(({ element, title, words }) => ({
      element,
      popover: { title, description: words },
    }));
    tour = library.driver.js.driver({
      steps,
      animate: !window.matchMedia("(prefers-reduced-motion: reduce)").matches,
      showProgress: true,
      progressText: "{{current}} of {{total}}",
      nextBtnText: "Next",
      prevBtnText: "Back",
      doneBtnText: "Done",
      popoverClass: "cfad-tour",
      onPopoverRender: dress,
      onDestroyed: () => button.focus({ preventScroll: true }),
    });
    tour.drive();
  }

  button.onclick = start;
  const first = !remembered() && !navigator.webdriver;
  const soon = first ? window.setTimeout(start, 800) : null;
  return () => {
    window.clearTimeout(soon);
    tour?.destroy();
  };
}
