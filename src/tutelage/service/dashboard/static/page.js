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

// The values of a chart's lines at the point nearest to the pointer, with its time.
const tooltip = document.body.appendChild(document.createElement("div"));
tooltip.id = "tooltip";
tooltip.hidden = true;
let pointer = null;

const addLine = (text, kind = "") => {
  const line = tooltip.appendChild(document.createElement("div"));
  line.textContent = text;
  line.className = kind;
};

const markPoint = (chart, name, attributes) => {
  const mark = chart.appendChild(document.createElementNS("http://www.w3.org/2000/svg", name));
  for (const [key, value] of Object.entries(attributes)) mark.setAttribute(key, value);
  mark.classList.add("at-pointer");
};

const showValues = () => {
  for (const mark of document.querySelectorAll(".at-pointer")) mark.remove();
  const chart = pointer && document.elementFromPoint(pointer.x, pointer.y)?.closest("svg[data-times]");
  tooltip.hidden = !chart;
  if (!chart) return;
  const box = chart.getBoundingClientRect(), scale = chart.viewBox.baseVal.width / box.width;
  const lines = [...chart.querySelectorAll("[data-line]")].map((line) => ({
    name: line.dataset.line,
    kind: line.getAttribute("class"),
    values: line.dataset.values.split("|"),
    points: line.getAttribute("d").slice(1).split("L").map((point) => point.split(",").map(Number)),
  }));
  const distances = lines[0].points.map(([x]) => Math.abs(x - (pointer.x - box.left) * scale));
  const at = distances.indexOf(Math.min(...distances)), x = lines[0].points[at][0];
  const time = new Date(1000 * chart.dataset.times.split(" ")[at]);
  markPoint(chart, "line", { x1: x, x2: x, y1: 0, y2: chart.viewBox.baseVal.height - 44 });
  tooltip.replaceChildren();
  addLine(`${time.toISOString().slice(0, 19).replace("T", " ")} UTC`);
  lines.sort((one, other) => one.points[at][1] - other.points[at][1]);
  for (const { name, kind, values, points } of lines) {
    markPoint(chart, "circle", { cx: x, cy: points[at][1], r: 3.5, class: kind });
    addLine(`${name}: ${values[at]}`, kind);
  }
  const room = document.documentElement.clientWidth - tooltip.offsetWidth - 8, left = pointer.x + 14;
  tooltip.style.left = `${Math.max(left > room ? pointer.x - tooltip.offsetWidth - 14 : left, 8)}px`;
  tooltip.style.top = `${Math.max(pointer.y - tooltip.offsetHeight - 10, 8)}px`;
};

const movePointer = ({ clientX, clientY, pointerType }) => {
  pointer = { x: clientX, y: clientY, isMouse: pointerType === "mouse" };
  showValues();
};
document.addEventListener("pointermove", movePointer);
document.addEventListener("pointerdown", movePointer);
// The page also scrolls by itself where a panel above becomes higher.  A mouse stays where it is; a finger has left.
document.addEventListener("scroll", () => { if (!pointer?.isMouse) pointer = null; showValues(); }, { passive: true });
document.documentElement.addEventListener("pointerleave", (event) => {
  if (event.pointerType === "mouse") { pointer = null; showValues(); }
});

const update = async () => {
  try {
    const have = [...page.querySelectorAll("section")].map((each) => each.dataset.mark).join(".");
    const address = `panels?since=${page.dataset.position}&have=${have}&range=${page.dataset.range}`;
    const response = await fetch(address, { signal: AbortSignal.timeout(4000) });
    if (!response.ok) throw new Error(response.status);
    const content = await response.json();
    for (const [name, html, mark] of content.panels) replacePanel(name, html, mark);
    if (pointer && content.panels.length) showValues();
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
