"use strict";
// element.js - elements of the page, and what is made of them in several
// places.

const $ = (id) => document.getElementById(id);

function element(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// A table of [label, value]; rows that are false are left out.
function facts(rows) {
  return element("table", {}, ...rows.filter(Boolean).map(([label, value]) =>
    element("tr", {}, element("th", {}, label), element("td", {}, value))));
}

// The inside of a `dl`, of [term, text].
function terms(rows) {
  return rows.flatMap(([term, text]) =>
    [element("dt", {}, term), element("dd", {}, text)]);
}

// Of [text, act].
function buttonBar(rows) {
  return element("p", { className: "buttons" },
    ...rows.map(([text, onclick]) => element("button", { onclick }, text)));
}

const LIST_ROW = 24;

// The rows of a list of any length, of which only those in sight exist:
// scroller.onscroll() makes them, when they are in the page.
function virtualRows(scroller, count, rowAt) {
  const rows = element("div",
    { className: "rows", style: `height: ${count * LIST_ROW}px` });
  scroller.onscroll = () => {
    const first = Math.max(0, Math.floor(scroller.scrollTop / LIST_ROW) - 2);
    const shown = Math.ceil(scroller.clientHeight / LIST_ROW) + 4;
    rows.replaceChildren();
    for (let i = first; i < Math.min(count, first + shown); i++) {
      const row = rowAt(i);
      row.style.top = `${i * LIST_ROW}px`;
      rows.append(row);
    }
  };
  return rows;
}
