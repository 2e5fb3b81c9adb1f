// A page of a run that is still going is fetched anew when something has come, unless somebody is at work on it.
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
