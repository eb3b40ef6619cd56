// Once a second: fetch the panels that changed, put them in, and say so if no answer comes.
const page = document.getElementById("page"), cut = document.getElementById("cut");
let told = Date.now(), title = document.title;

const isInUse = (panel) => {
  const chosen = getSelection(), focused = document.activeElement;
  return (!chosen.isCollapsed && chosen.containsNode(panel, true)) || (focused.href && panel.contains(focused));
};

const put = (name, html, mark) => {
  const panel = document.getElementById(name);
  if (isInUse(panel)) return; // it keeps its mark, so that the server sends it again
  const open = [...panel.querySelectorAll("details")].map((each) => each.open);
  const scrolled = [...panel.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
  const hadFocus = panel.contains(document.activeElement);
  panel.innerHTML = html;
  if (hadFocus) panel.querySelector("summary")?.focus();
  panel.querySelectorAll("details").forEach((each, index) => { each.open = open[index] ?? false; });
  panel.querySelectorAll(".scroll").forEach((each, index) => { each.scrollLeft = scrolled[index] ?? 0; });
  panel.dataset.mark = mark;
};

const look = async () => {
  try {
    const have = [...page.querySelectorAll("section")].map((each) => each.dataset.mark).join(".");
    const address = `panels?since=${page.dataset.position}&have=${have}`;
    const answer = await fetch(address, { signal: AbortSignal.timeout(4000) });
    if (!answer.ok) throw new Error(answer.status);
    const news = await answer.json();
    for (const [name, html, mark] of news.panels) put(name, html, mark);
    page.dataset.position = news.position;
    title = news.title;
    document.getElementById("icon").href = `../../${news.icon}`;
    const said = document.getElementById("said");
    if (said.textContent !== news.said) said.textContent = news.said;
    told = Date.now();
  } catch { /* the banner below says so */ }
  const age = Math.round((Date.now() - told) / 1000);
  cut.hidden = age < Number(page.dataset.cut);
  cut.querySelector("span").textContent = `${age} s`;
  document.title = cut.hidden ? title : `cut off · ${title}`;
  setTimeout(look, document.hidden ? 5000 : 1000);
};
setTimeout(look, 1000);
