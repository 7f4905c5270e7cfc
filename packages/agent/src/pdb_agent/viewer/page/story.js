import { breakable, element, reveal } from "./elements.js";

const OPEN_REASONING = { yes: true };

// What was said and done: every turn on a line, the present one opened.
export class StoryView {
  constructor(episode, onTurn) {
    this.episode = episode;
    this.items = episode.turns.map((turn, index) => turnItem(turn, index, onTurn));
    this.list = element("ol", { class: "turns" }, this.items);
    this.node = element("section", { class: "story", "aria-label": "Turns" }, this.list);
    this.current = null;
  }

  show(moment) {
    const item = this.items[moment.turn];
    if (this.current && this.current !== item) close(this.current);
    this.current = item;
    item.classList.add("current");
    item.firstChild.setAttribute("aria-current", "step");
    item.lastChild.replaceChildren(...turnBody(this.episode, moment));
    const call = item.querySelector(".call.now");
    const tall = item.offsetHeight > this.node.clientHeight * 0.8;
    const top = call && tall ? offsetIn(this.node, call) : offsetIn(this.node, item);
    reveal(this.node, top, Math.min((call && tall ? call : item).offsetHeight, this.node.clientHeight * 0.8));
  }
}

function offsetIn(scroller, node) {
  return node.getBoundingClientRect().top - scroller.getBoundingClientRect().top + scroller.scrollTop;
}

function close(item) {
  item.classList.remove("current");
  item.firstChild.removeAttribute("aria-current");
  item.lastChild.replaceChildren();
}

const HEADINGS = { 0: "The task", end: "The end" };

function turnItem(turn, index, onTurn) {
  const heading = HEADINGS[turn.title];
  return element("li", { class: `turn kind-${turn.kind}` },
    element("button", { type: "button", class: "turn-head", onclick: () => onTurn(index) },
      element("span", { class: "turn-number" }, heading ? "" : turn.title),
      !heading && element("span", { class: "turn-summary" }, turn.summary),
      element("span", { class: heading ? "turn-title" : "turn-title opened" }, heading ?? `Turn ${turn.title}`)),
    element("div", { class: "turn-body" }));
}

function turnBody(episode, moment) {
  const turn = episode.turns[moment.turn];
  if (turn.title === "end") return endBody(episode, turn);
  const isTask = turn.title === "0";
  return [
    ...(isTask ? [] : turn.said.map((words) => element("p", { class: "nudge" }, words))),
    ...turn.notes.map((note) => element("p", { class: "turn-note" }, note)),
    turn.reasoning && reasoning(turn.reasoning),
    turn.text && element("p", { class: "words" }, breakable(turn.text)),
    isTask && turn.said.length > 0 && element("details", { class: "reasoning" },
      element("summary", {}, "What holds for the whole episode"), element("p", {}, turn.said[0])),
    ...turn.calls.map((call, index) => callView(call, index, moment.call)),
    !isTask && element("p", { class: "turn-foot" }, footOf(turn)),
  ].filter(Boolean);
}

function footOf(turn) {
  const tokens = turn.context_tokens ? ` · ${turn.context_tokens.toLocaleString("en")} tokens of context` : "";
  return `${turn.at_seconds.toFixed(1)} s${tokens}`;
}

function reasoning(text) {
  const node = element("details", { class: "reasoning", open: OPEN_REASONING.yes },
    element("summary", {}, "Reasoning"), element("p", {}, text));
  node.addEventListener("toggle", () => { OPEN_REASONING.yes = node.open; });
  return node;
}

function callView(call, index, present) {
  const now = index === present;
  const later = index > present;
  return element("div", { class: `call${now ? " now" : ""}${later ? " later" : ""}` },
    element("p", { class: "call-name" }, element("code", {}, call.name),
      call.status !== "ok" && element("span", { class: "status" }, call.status.replace("_", " "))),
    argumentsView(call),
    now && call.diffs.map(diffView),
    now && element("pre", { class: "answer", tabindex: "0", "aria-label": `Answer of ${call.name}` }, call.text));
}

// The texts of an edit are its diff already: as they were sent they are kept folded.
function argumentsView(call) {
  const isText = ([name]) => call.diffs.length > 0 && /^(old|new|content)/.test(name);
  const shown = call.arguments.filter((one) => !isText(one));
  const folded = call.arguments.filter(isText);
  return [
    shown.length > 0 && element("dl", { class: "arguments" }, shown.map(argument)),
    folded.length > 0 && element("details", { class: "sent" },
      element("summary", {}, `${folded.map(([name]) => name).join(" and ")} as sent`),
      element("dl", { class: "arguments" }, folded.map(argument))),
  ];
}

function argument([name, value]) {
  const long = value.includes("\n") || value.length > 120;
  return element("div", {}, element("dt", {}, name), element("dd", {}, element(long ? "pre" : "code", {}, value)));
}

function diffView(diff) {
  let number = 0;
  const rows = diff.lines.map(([mark, text]) => {
    if (mark === "@") {
      number = Number(text) - 1;
      return element("div", { class: "diff-gap", "aria-hidden": "true" });
    }
    if (mark !== "-") number += 1;
    const kind = { "+": "added", "-": "removed" }[mark] ?? "same";
    return element("div", { class: `diff-row ${kind}` },
      element("span", { class: "number" }, mark === "-" ? "" : String(number)),
      element("span", { class: "mark" }, mark), element("span", { class: "text" }, text));
  });
  return element("figure", { class: "diff" },
    element("figcaption", {}, diff.path, !diff.is_editable && " (not judged)"),
    element("div", { class: "diff-rows", tabindex: "0", role: "region", "aria-label": `Change of ${diff.path}` }, rows));
}

function endBody(episode, turn) {
  const { outcome } = episode;
  return [
    ...turn.said.map((words) => element("p", { class: "nudge" }, words)),
    ...turn.notes.map((note) => element("p", { class: "turn-note" }, note)),
    element("p", { class: "words" }, outcome.words),
    outcome.groups.length > 0 && element("table", { class: "counts" },
      element("caption", {}, "Grading, on a clean copy"),
      element("tbody", {}, outcome.groups.map(([name, passed, total]) =>
        element("tr", {}, element("th", { scope: "row" }, name),
          element("td", { class: passed === total ? "passed" : "failed" }, `${passed} of ${total}`))))),
  ].filter(Boolean);
}
