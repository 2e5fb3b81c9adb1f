// Adds keyboard shortcuts, a timer, and forms that keep their input if the server restarts. The forms also work without
// this script.
"use strict";
const form = document.getElementById("label");
const problem = document.getElementById("problem");
const keys = document.getElementById("keys");

function chosen(name) {
  return form.querySelector(`[name=${name}]:checked`);
}

function settle() {
  const category = chosen("category")?.value;
  form.elements.reason.required = Boolean(category) && category !== "CC";
  form.classList.toggle("correct", category === "CC");
  if (category === "CC") form.querySelector("[name=error_class][value='']").checked = true;
}

function choose(name, place) {
  const input = form.querySelectorAll(`[name=${name}]`)[place];
  input.checked = true;
  input.focus({ preventScroll: true });
  form.scrollIntoView({ block: "nearest" });
  settle();
}

const acts = {
  r: () => form?.elements.reason.focus(),
  s: () => document.getElementById("skip")?.click(),
  u: () => document.querySelector("#undo button")?.click(),
  "?": () => keys?.showModal(),
};
if (form) {
  [..."123"].forEach((key, place) => { acts[key] = () => choose("category", place); });
  [..."abcden"].forEach((key, place) => { acts[key] = () => { if (chosen("category")?.value !== "CC") choose("error_class", place); }; });
}

document.addEventListener("keydown", (event) => {
  const at = event.target;
  const inText = at.matches("textarea, input:not([type=radio])");
  if (event.isComposing || event.altKey || event.metaKey || keys?.open) return;
  if (event.key === "Enter") {
    // Enter on a button or a link activates it.
    const free = !at.closest("a, button, summary") && !inText;
    if (event.ctrlKey || free) {
      event.preventDefault();
      if (form) form.requestSubmit(form.querySelector("button.main"));
      else document.getElementById("next")?.click();
    }
  } else if (inText) {
    if (event.key === "Escape") at.blur();
  } else if (!event.ctrlKey && !event.repeat && Object.hasOwn(acts, event.key)) {
    event.preventDefault();
    acts[event.key]();
  }
});

// Counts the seconds of activity. Counting pauses after a minute without input, and while the page is hidden.
const IDLE = 60_000;
const timer = document.getElementById("timer");
if (timer) {
  let spent = 1000 * Number(form.elements.seconds.dataset.spent);
  let touched = Date.now();
  let counted = touched;
  const count = () => {
    const now = Date.now();
    const until = Math.min(now, touched + IDLE);
    if (!document.hidden && until > counted) spent += until - counted;
    counted = now;
    const seconds = Math.floor(spent / 1000);
    const clock = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    timer.textContent = document.hidden || now >= touched + IDLE ? `${clock}, paused` : clock;
    form.elements.seconds.value = seconds;
  };
  for (const kind of ["keydown", "pointerdown", "pointermove", "wheel", "scroll"]) {
    document.addEventListener(kind, () => { count(); touched = Date.now(); }, { capture: true, passive: true });
  }
  document.addEventListener("visibilitychange", () => {
    // Time while the page was hidden is not counted.
    if (document.hidden) count();
    else { counted = Date.now(); touched = counted; }
  });
  setInterval(count, 1000);
  count();
  timer.hidden = false;
}

// Sends a form without leaving the page, so that no input is lost if the server does not answer.
let sending = false;
async function send(sent, submitter) {
  if (sending) return;
  sending = true;
  problem.hidden = true;
  try {
    const answer = await fetch(submitter?.getAttribute("formaction") ?? sent.getAttribute("action"), {
      method: "POST", body: new URLSearchParams(new FormData(sent)),
    });
    if (answer.redirected) { location.assign(answer.url); return; }
    const said = new DOMParser().parseFromString(await answer.text(), "text/html");
    problem.textContent = [...said.querySelectorAll("[role=alert]:not([hidden])")].map((one) => one.textContent).join(" ");
  } catch {
    problem.textContent = "The server does not answer. Your input is kept; please try again in a moment.";
  }
  problem.hidden = false;
  problem.scrollIntoView({ block: "nearest" });
  sending = false;
}
if (form) {
  for (const each of document.querySelectorAll("form[method=post]")) {
    each.addEventListener("submit", (event) => { event.preventDefault(); send(each, event.submitter); });
  }
  form.addEventListener("change", settle);
  settle();
}
if (keys) {
  const show = document.getElementById("show-keys");
  show.hidden = false;
  show.addEventListener("click", acts["?"]);
}
