// treerows.js - the tree of callers as a table: totals, shares, own parts.
// Only visible rows exist.

const TREE_ROW = 24;

// Open nodes are stored by path, so that they stay open when the moment
// changes.
function pathText(node) {
  return keysOf(node).join("\u0001");
}

// The rows in order: { node, depth, open }.  The path to most of the memory
// (`main`) is open initially.
function listRows(root, said) {
  const rows = [];
  const add = (node, depth, main) => {
    const open = said.get(pathText(node)) ?? main;
    rows.push({ node, depth, open });
    if (!open) return;
    ranked(node).forEach((child, i) => add(child, depth + 1,
      main && i === 0 && child.plus >= node.plus * 0.6));
  };
  add(root, 0, true);
  return rows;
}

function shareText(part, whole) {
  return whole > 0 ? `${(part / whole * 100).toFixed(1)} %` : "";
}

function treeRow(run, row, root, by) {
  const { node, depth, open } = row;
  const line = element("div", undefined, `tree-row kind-${node.kind}`);
  const name = element("span", undefined, "name");
  const arrow = node.children.size === 0 ? "" : open ? "▾" : "▸";
  name.style.paddingLeft = `${Math.min(depth, 40) * 14}px`;
  name.append(element("i", arrow), nodeLabel(run, node, by));
  const bar = element("span", undefined, "bar");
  bar.style.width = `${root.plus > 0 ? node.plus / root.plus * 100 : 0}%`;
  line.append(bar, name, element("b", bytesText(node.total)),
    element("b", shareText(node.total, root.total)),
    element("b", bytesText(node.self)),
    element("b", node.count.toLocaleString("en")));
  line.setAttribute("role", "treeitem");
  line.setAttribute("aria-level", String(depth + 1));
  if (arrow) line.setAttribute("aria-expanded", String(open));
  return line;
}

function treeHead() {
  const head = element("div", undefined, "tree-row tree-head");
  head.append(element("span", "call path", "name"), element("b", "total"),
    element("b", "share"), element("b", "own"), element("b", "allocations"));
  return head;
}

// `tree` is { root, focus, by, open }; onChoose(node), onOpen(node, open).
// Returns the rows.
function showTree(holder, run, tree, onChoose, onOpen) {
  const rows = listRows(tree.root, tree.open);
  const body = element("div", undefined, "rows");
  body.setAttribute("role", "tree");
  body.style.height = `${rows.length * TREE_ROW}px`;
  const fill = () => {
    const first = Math.max(0, Math.floor(holder.scrollTop / TREE_ROW) - 2);
    const shown = Math.ceil(holder.clientHeight / TREE_ROW) + 4;
    body.replaceChildren();
    rows.slice(first, first + shown).forEach((row, i) => {
      const line = treeRow(run, row, tree.root, tree.by);
      line.style.top = `${(first + i) * TREE_ROW}px`;
      if (row.node === tree.focus && row.node !== tree.root)
        line.classList.add("current");
      line.addEventListener("click", (event) => {
        if (event.target.tagName === "I")
          onOpen(row.node, !row.open);
        else
          onChoose(row.node);
      });
      body.append(line);
    });
  };
  const scrolled = holder.scrollTop;
  holder.replaceChildren(treeHead(), body);
  holder.onscroll = fill;
  holder.scrollTop = scrolled;
  fill();
  return rows;
}
