import { element, reveal } from "./elements.js";

// The program: file tabs, its text with breakpoints in the gutter, and a bar on the current line.
export class SourceView {
  constructor(episode, id) {
    this.episode = episode;
    this.id = id;
    this.shown = null;
    this.tabs = element("div", { role: "tablist", "aria-label": "Files", class: "tabs" });
    this.bar = element("div", { class: "bar", hidden: true });
    this.rows = element("div", { class: "rows" });
    this.code = element(
      "div",
      { class: "code", role: "tabpanel", id: `${id}-code`, tabindex: "0" },
      element("div", { class: "sheet" }, this.bar, this.rows),
    );
    this.caption = element("p", { class: "caption" });
    this.node = element("section", { class: "source", "aria-label": "Source" }, this.tabs, this.code, this.caption);
    this.buttons = new Map();
    for (const path of filesInOrder(episode)) this.addTab(path);
    this.tabs.addEventListener("keydown", (event) => this.onKey(event));
  }

  addTab(path) {
    const name = path.split("/").at(-1) === "__init__.py" ? path : path.split("/").at(-1);
    const button = element(
      "button",
      { role: "tab", type: "button", title: path, "aria-controls": `${this.id}-code`,
        onclick: () => this.open(path, null) },
      name,
    );
    this.buttons.set(path, button);
    this.tabs.append(button);
  }

  onKey(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    const paths = [...this.buttons.keys()];
    const next = paths[(paths.indexOf(this.path) + step + paths.length) % paths.length];
    this.open(next, null);
    this.buttons.get(next).focus();
    event.preventDefault();
    event.stopPropagation();
  }

  show(moment) {
    this.moment = moment;
    this.open(moment.path, moment.line);
  }

  open(path, line) {
    this.path = path;
    for (const [one, button] of this.buttons) {
      button.setAttribute("aria-selected", one === path);
      button.tabIndex = one === path ? 0 : -1;
      if (one === path) keepTabInView(this.tabs, button);
    }
    const version = this.moment.versions[path] ?? 0;
    if (this.shown !== `${path}@${version}`) this.fill(path, version);
    this.mark();
    if (line) {
      const row = this.rows.children[line - 1];
      if (row) reveal(this.code, row.offsetTop, row.offsetHeight);
    }
  }

  fill(path, version) {
    this.shown = `${path}@${version}`;
    const text = this.episode.sources[path]?.[version] ?? [];
    this.rows.style.setProperty("--digits", String(text.length || 1).length);
    this.rows.replaceChildren(...text.map((index, at) => sourceRow(this.episode.lines[index], at + 1)));
    this.code.setAttribute("aria-label", `Source of ${path}`);
    this.code.scrollTop = 0;
  }

  mark() {
    const { debugging, focus, path } = this.moment;
    for (const row of this.rows.querySelectorAll("[data-mark]")) unmark(row);
    if (focus && path === this.path) {
      for (let line = focus.first; line <= focus.last; line++) {
        const row = this.rows.children[line - 1];
        if (row) row.dataset.mark = focus.kind;
      }
    }
    for (const one of debugging.breakpoints) if (one.path === this.path) markBreakpoint(this.rows, one);
    this.markCurrent(debugging);
  }

  markCurrent({ where, state, reason, notes }) {
    const here = where && where.path === this.path;
    const row = here ? this.rows.children[where.line - 1] : null;
    this.bar.hidden = !row;
    this.bar.classList.toggle("failed", reason === "post_mortem" || reason === "exception");
    if (row) {
      this.bar.style.transform = `translateY(${row.offsetTop}px)`;
      row.dataset.mark ??= "";
      row.setAttribute("aria-current", "true");
    }
    this.caption.replaceChildren(...captionOf(where, state, notes));
  }
}

function filesInOrder(episode) {
  const visited = new Set(episode.moments.map((moment) => moment.path));
  const rest = Object.keys(episode.sources).filter((path) => !visited.has(path));
  return [...visited, ...rest].filter((path) => path in episode.sources);
}

function keepTabInView(tabs, button) {
  const left = button.offsetLeft - tabs.offsetLeft;
  if (left < tabs.scrollLeft) tabs.scrollLeft = left;
  const right = left + button.offsetWidth;
  if (right > tabs.scrollLeft + tabs.clientWidth) tabs.scrollLeft = right - tabs.clientWidth;
}

function sourceRow(pieces, number) {
  const text = element("span", { class: "text" });
  for (let at = 0; at < pieces.length; at += 2) {
    text.append(pieces[at] ? element("span", { class: `t-${pieces[at]}` }, pieces[at + 1]) : pieces[at + 1]);
  }
  return element("div", { class: "row" },
    element("span", { class: "gutter" }), element("span", { class: "number" }, String(number)), text);
}

function unmark(row) {
  delete row.dataset.mark;
  row.removeAttribute("aria-current");
  row.firstChild.replaceChildren();
}

function markBreakpoint(rows, one) {
  const row = rows.children[one.line - 1];
  if (!row) return;
  row.dataset.mark ??= "";
  const words = [`breakpoint ${one.number}`, one.condition && `if ${one.condition}`, one.note].filter(Boolean).join(", ");
  const silent = one.note.startsWith("never");
  row.firstChild.replaceChildren(element("span",
    { class: `breakpoint${one.condition ? " conditional" : ""}${silent ? " silent" : ""}`, role: "img",
      title: words, "aria-label": words }));
}

function captionOf(where, state, notes) {
  const said = notes.map((note) => element("span", { class: note.startsWith("raised") ? "raised" : "note" }, note));
  if (!where) return state === "none" ? [] : [element("span", {}, `The program has ${state}.`), ...said];
  return [element("span", {}, "Stands at ", element("code", {}, `${where.path}:${where.line}`), " in ",
    element("code", {}, where.function)), ...said];
}
