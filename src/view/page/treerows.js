// treerows.js - the tree of callers as a table: totals, shares, own parts.

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

function treeRow({ node, depth, open }) {
  const { root, focus } = state.tree;
  const arrow = node.children.size === 0 ? "" : open ? "▾" : "▸";
  const current = node === focus && node !== root ? " current" : "";
  const share = root.plus > 0 ? node.plus / root.plus * 100 : 0;
  return element("div", {
    className: `tree-row kind-${node.kind}${current}`,
    role: "treeitem", ariaLevel: depth + 1, ariaExpanded: arrow ? open : null,
    onclick: ({ target }) => {
      if (target.tagName === "I") openNode(node, !open);
      else focusOn(keysOf(node));
    },
  },
  element("span", { className: "bar", style: `width: ${share}%` }),
  element("span", { className: "name",
    style: `padding-left: ${Math.min(depth, 40) * 14}px` },
  element("i", {}, arrow), nodeLabel(node)),
  ...figureCells([bytesText(node.total), shareText(node.total, root.total),
    bytesText(node.self), countText(node.count)]));
}

function figureCells(texts) {
  return texts.map((text) => element("b", {}, text));
}

function showTree() {
  const holder = $("view-tree"), { scrollTop } = holder;
  const rows = state.treeRows = listRows(state.tree.root, state.opened);
  const body = virtualRows(holder, rows.length, (i) => treeRow(rows[i]));
  body.role = "tree";
  holder.replaceChildren(
    element("div", { className: "tree-row tree-head" },
      element("span", { className: "name" }, "call path"),
      ...figureCells(["total", "share", "own", "allocations"])), body);
  holder.scrollTop = scrollTop;
  holder.onscroll();
}
