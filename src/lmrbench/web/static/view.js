// Reloads the page of a run when new records arrive, unless the user is interacting with it.
"use strict";
const page = document.querySelector("main[data-follow]");
if (page) {
  setInterval(async () => {
    if (document.hidden || page.contains(document.activeElement)) return;
    const answer = await fetch(page.dataset.follow).catch(() => null);
    if (!answer || !answer.ok) return;
    const { entries, usages } = await answer.json();
    if (`${entries}/${usages}` === page.dataset.state) return;
    const fresh = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
    const main = fresh.querySelector("main");
    if (main) {
      page.replaceChildren(...main.childNodes);
      page.dataset.state = main.dataset.state;
    }
  }, 3000);
}
