import { element } from "./elements.js";
import { Player } from "./player.js";
import { hashOf, positionOf, positionsOf } from "./positions.js";
import { SourceView } from "./source.js";
import { StateView } from "./state.js";
import { StoryView } from "./story.js";

const KEYS = [
  ["← →", "one call back or on"],
  ["Shift ← →", "one turn back or on"],
  ["Space", "play or pause"],
  ["Home End", "the task, the end"],
  ["1 2", "on a narrow screen: which episode to see"],
  ["d", "dark, light, as the system is"],
  ["?", "this help"],
];
const LEGEND = [
  ["look", "reading"], ["debugger", "debugger"], ["edit", "edit"], ["tests-failed", "tests that fail"], ["tests-passed", "tests that pass"],
];
const THEMES = ["system", "light", "dark"];

const episodes = JSON.parse(document.getElementById("episodes").textContent);
const positions = positionsOf(episodes);
const isPair = episodes.length > 1;
const announcer = element("p", { class: "unseen", role: "status", "aria-live": "polite" });
const panes = episodes.map(makePane);
const player = new Player(episodes, positions, show);
const help = makeHelp();
const themeButton = element("button", { type: "button", class: "quiet", onclick: nextTheme });

document.body.append(
  element("header", { class: "masthead" },
    element("div", { class: "title" }, element("h1", {}, episodes[0].task.replaceAll("_", " ")), !isPair && verdict(episodes[0])),
    !isPair && factsView(episodes[0]),
    isPair && paneSwitch(),
    element("div", { class: "tools" }, themeButton,
      element("button", { type: "button", class: "quiet", "aria-haspopup": "dialog", onclick: () => help.showModal() }, "Keys"))),
  element("main", { class: isPair ? "pair" : "single" }, panes.map((pane) => pane.node)),
  element("footer", {}, player.node),
  announcer, help);
showTheme(savedTheme());
choosePane(0);
document.addEventListener("keydown", onKey);
addEventListener("hashchange", () => player.move(positionOf(location.hash, positions)));
player.move(positionOf(location.hash, positions));
document.documentElement.dataset.ready = "true";

function makePane(episode, index) {
  const source = new SourceView(episode, `pane-${index}`);
  const story = new StoryView(episode, (turn) => {
    player.pause();
    player.move(positions.findIndex((one) => one.turn === turn));
  });
  const state = new StateView(episode);
  const node = element("article", { class: "pane", "aria-label": episode.name },
    isPair && element("header", { class: "pane-head" }, element("h2", {}, episode.name), verdict(episode), factsView(episode)),
    story.node, source.node, state.node);
  return { episode, node, views: [story, source, state] };
}

function show(position) {
  panes.forEach((pane, index) => {
    const moment = pane.episode.moments[position.moments[index]];
    for (const view of pane.views) view.show(moment);
  });
  announcer.textContent = panes.map((pane, index) => pane.episode.moments[position.moments[index]].label).join(". ");
  const hash = hashOf(position);
  if (location.hash !== hash && (location.hash || position.turn > 0)) history.replaceState(null, "", hash);
}

function verdict({ outcome }) {
  const [words, kind] = outcome.solved === null ? ["not graded", "open"] : outcome.solved ? ["solved", "passed"] : ["not solved", "failed"];
  return element("span", { class: `verdict ${kind}` }, words);
}

function factsView(episode) {
  return element("details", { class: "facts" }, element("summary", {}, isPair ? "About this episode" : episode.name),
    element("dl", {}, episode.facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)))));
}

function paneSwitch() {
  return element("div", { class: "switch", role: "group", "aria-label": "Episode to see" },
    episodes.map((episode, index) => element("button", { type: "button", onclick: () => choosePane(index) }, episode.name)));
}

function choosePane(chosen) {
  panes.forEach((pane, index) => pane.node.classList.toggle("chosen", index === chosen));
  document.querySelectorAll(".switch button").forEach((button, index) => button.setAttribute("aria-pressed", index === chosen));
  if (document.documentElement.dataset.ready) show(positions[player.at]);
}

function makeHelp() {
  return element("dialog", { class: "help", "aria-labelledby": "help-title" },
    element("h2", { id: "help-title" }, "Keys"),
    element("dl", {}, KEYS.map(([keys, words]) => element("div", {}, element("dt", {}, keys.split(" ").map((key) => element("kbd", {}, key))), element("dd", {}, words)))),
    element("p", { class: "legend" }, ...LEGEND.map(([kind, words]) => element("span", {}, element("span", { class: `tick kind-${kind}`, "aria-hidden": "true" }), words))),
    element("p", {}, "A link to a moment ends in ", element("code", {}, "#turn=7"), ", or ", element("code", {}, "#turn=7.2"), " for a turn's second call."),
    element("button", { type: "button", class: "quiet", onclick: (event) => event.target.closest("dialog").close() }, "Close"));
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
  const onControl = event.target.closest?.("button, summary, a");
  const actions = {
    ArrowLeft: () => (event.shiftKey ? player.turn(-1) : player.step(-1)),
    ArrowRight: () => (event.shiftKey ? player.turn(1) : player.step(1)),
    Home: () => player.step(-positions.length),
    End: () => player.step(positions.length),
    "?": () => help.showModal(),
    d: nextTheme,
    1: () => choosePane(0),
    2: () => isPair && choosePane(1),
  };
  if (!onControl) actions[" "] = () => player.toggle();
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function savedTheme() {
  try {
    return localStorage.getItem("theme") ?? "system";
  } catch {
    return "system";
  }
}

function nextTheme() {
  const now = document.documentElement.dataset.theme ?? "system";
  const next = THEMES[(THEMES.indexOf(now) + 1) % THEMES.length];
  showTheme(next);
  try {
    localStorage.setItem("theme", next);
  } catch {
    // a page opened from a file may have no storage: the choice holds for this visit
  }
}

function showTheme(theme) {
  document.documentElement.dataset.theme = THEMES.includes(theme) ? theme : "system";
  themeButton.textContent = { light: "Light", dark: "Dark" }[theme] ?? "Auto";
  themeButton.setAttribute("aria-label", `Colours: ${theme}`);
}
