"use strict";
(() => {
  const collator = new Intl.Collator("en", { numeric: true });

  function valueOf(row, column) {
    const cell = row.cells[column];
    const marked = cell.querySelector("[data-sort]");
    const text = marked ? marked.dataset.sort : cell.textContent.trim();
    const number = Number.parseFloat(text.replace(/,/g, "").replace("\u2212", "-"));
    return /^[-\u2212]?\d/.test(text) && !Number.isNaN(number) ? number : text;
  }

  function compare(left, right) {
    if (typeof left === "number" && typeof right === "number") return left - right;
    if (typeof left !== typeof right) return typeof left === "number" ? 1 : -1;
    return collator.compare(left, right);
  }

  function sort(table, head, column) {
    const isAscending = head.getAttribute("aria-sort") !== "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", isAscending ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [valueOf(row, column), row]);
    rows.sort(([left], [right]) => (isAscending ? 1 : -1) * compare(left, right));
    body.append(...rows.map(([, row]) => row));
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent || "name";
      button.addEventListener("click", () => sort(table, head, column));
      head.replaceChildren(button);
    });
  }

  const themes = ["system", "light", "dark"];
  const button = document.createElement("button");
  button.type = "button";
  button.className = "theme";

  function show(theme) {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
    button.dataset.theme = theme;
  }

  function saved() {
    try {
      return themes.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "system";
    } catch {
      return "system"; // a page from a file may have no storage
    }
  }

  button.addEventListener("click", () => {
    const next = themes[(themes.indexOf(button.dataset.theme) + 1) % themes.length];
    show(next);
    try {
      localStorage.setItem("theme", next);
    } catch {
      // it is not kept, and that is all
    }
  });
  document.querySelector("nav").append(button);
  show(saved());
})();
