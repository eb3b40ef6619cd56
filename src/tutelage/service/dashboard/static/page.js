// Once a second: fetch the panels that changed and insert them, or show that the server does not answer.
const page = document.getElementById("page"), outdated = document.getElementById("outdated");
let updated = Date.now(), title = document.title;

const isInUse = (panel) => {
  const selection = getSelection(), focused = document.activeElement;
  return (!selection.isCollapsed && selection.containsNode(panel, true)) || (focused.href && panel.contains(focused));
};

const replacePanel = (name, html, mark) => {
  const panel = document.getElementById(name);
  if (isInUse(panel)) return; // its mark stays, so the server sends the panel again
  const open = [...panel.querySelectorAll("details")].map((each) => each.open);
  const scrolled = [...panel.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
  const hadFocus = panel.contains(document.activeElement);
  panel.innerHTML = html;
  if (hadFocus) panel.querySelector("summary")?.focus();
  panel.querySelectorAll("details").forEach((each, index) => { each.open = open[index] ?? false; });
  panel.querySelectorAll(".scroll").forEach((each, index) => { each.scrollLeft = scrolled[index] ?? 0; });
  panel.dataset.mark = mark;
};

// What a reader copies holds whole names where the page shows shortened ones.
const copyNames = (event) => {
  const selection = getSelection();
  let text = selection.toString(), from = 0;
  const isCopied = (each) => each.getClientRects().length && selection.containsNode(each, true);
  const labels = [...document.querySelectorAll("[data-name]")].filter(isCopied);
  for (const label of labels) {
    const short = label.lastChild.textContent, at = text.indexOf(short, from);
    if (at < 0 && labels.length > 1) continue; // at an end of the selection, a part of a label
    text = at < 0 ? label.dataset.name : text.slice(0, at) + label.dataset.name + text.slice(at + short.length);
    from = Math.max(at, 0) + label.dataset.name.length;
  }
  if (!labels.length) return;
  event.clipboardData.setData("text/plain", text);
  event.preventDefault();
};
document.addEventListener("copy", copyNames);

const update = async () => {
  try {
    const have = [...page.querySelectorAll("section")].map((each) => each.dataset.mark).join(".");
    const address = `panels?since=${page.dataset.position}&have=${have}`;
    const response = await fetch(address, { signal: AbortSignal.timeout(4000) });
    if (!response.ok) throw new Error(response.status);
    const content = await response.json();
    for (const [name, html, mark] of content.panels) replacePanel(name, html, mark);
    page.dataset.position = content.position;
    title = content.title;
    const actions = document.getElementById("actions");
    if (actions) actions.dataset.status = content.status;
    document.getElementById("icon").href = `../../${content.icon}`;
    const announcement = document.getElementById("announcement");
    if (announcement.textContent !== content.announcement) announcement.textContent = content.announcement;
    updated = Date.now();
  } catch { /* the banner below says so */ }
  const age = Math.round((Date.now() - updated) / 1000);
  outdated.hidden = age < Number(page.dataset.outdated);
  outdated.querySelector("span").textContent = `${age} s`;
  document.title = outdated.hidden ? title : `outdated · ${title}`;
  setTimeout(update, document.hidden ? 5000 : 1000);
};
setTimeout(update, 1000);
