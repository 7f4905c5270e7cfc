import { breakable, element } from "./elements.js";

// What the model has been shown of the program: values, looks, stack, breakpoints, tests.
export class StateView {
  constructor(episode) {
    this.episode = episode;
    this.node = element("section", { class: "state", "aria-label": "State of the program" });
  }

  show(moment) {
    const { debugging } = moment;
    this.node.replaceChildren(...[
      part("Values", debugging.values.length && valuesView(debugging.values)),
      part("Looked at", debugging.looks.length && looksView(debugging.looks)),
      part("Stack", debugging.stack.length > 1 && stackView(debugging.stack)),
      part("Breakpoints", debugging.breakpoints.length && breakpointsView(debugging.breakpoints)),
      part("Tests", moment.test_run !== null && testsView(this.episode, moment)),
    ].filter(Boolean));
    if (!this.node.children.length) this.node.append(element("p", { class: "nothing" }, quiet(debugging)));
  }
}

function quiet(debugging) {
  return debugging.state === "none" ? "No program is being debugged." : `The program has ${debugging.state}.`;
}

function part(title, content) {
  return content ? element("section", { class: "part" }, element("h3", {}, title), content) : null;
}

function valuesView(values) {
  return element("dl", { class: "values names" }, values.map((one) =>
    element("div", { class: one.mark },
      one.mark && element("span", { class: "mark" }, one.mark),
      element("dt", {}, one.name), element("dd", {}, one.was && element("span", {}, element("del", {}, one.was), element("span", { class: "arrow" }, " → ")),
        element(one.was ? "ins" : "span", {}, one.value)))));
}

function looksView(looks) {
  return element("dl", { class: "values looks" }, looks.map((one) =>
    element("div", { class: one.failed ? "failed" : "" },
      element("dt", {}, one.expression), element("dd", {}, one.value))));
}

function stackView(stack) {
  return element("ol", { class: "stack" }, stack.map((place, index) =>
    element("li", { "aria-current": index === 0 ? "true" : null },
      element("code", {}, breakable(place.function)),
      element("span", { class: "place" }, breakable(`${place.path}:${place.line}`)))));
}

function breakpointsView(breakpoints) {
  return element("ul", { class: "breakpoints" }, breakpoints.map((one) =>
    element("li", { class: one.is_hit ? "hit" : "" },
      element("span", { class: `breakpoint${one.condition ? " conditional" : ""}${one.note.startsWith("never") ? " silent" : ""}`, "aria-hidden": "true" }),
      element("span", { class: "place" }, breakable(`${one.path}:${one.line}`)),
      one.condition && element("span", { class: "condition" }, "if ", element("code", {}, one.condition)),
      one.note && element("span", { class: "condition" }, one.note))));
}

function testsView(episode, moment) {
  const runs = episode.test_runs.slice(0, moment.test_run + 1);
  const last = runs.at(-1);
  const line = element("p", { class: "tests-line" },
    runs.length > 1 && element("span", {}, `turn ${runs[0].turn}: `, counts(runs[0]), " → "),
    element("span", {}, `turn ${last.turn}: `, counts(last)));
  const before = new Map();
  for (const run of runs.slice(0, -1)) {
    for (const test of run.passed) if (!before.has(test)) before.set(test, "passed");
    for (const test of run.failed) if (!before.has(test)) before.set(test, "failed");
  }
  const now = new Map([...last.passed.map((test) => [test, "passed"]), ...last.failed.map((test) => [test, "failed"])]);
  const tests = [...new Set([...last.failed, ...before.keys(), ...last.passed])]
    .sort((a, b) => episode.targets.includes(b) - episode.targets.includes(a));
  if (!tests.length) return line;
  return element("div", {}, line, element("table", { class: "tests" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "test"),
      before.size > 0 && element("th", { scope: "col" }, "before"), element("th", { scope: "col" }, "now"))),
    element("tbody", {}, tests.map((test) => element("tr", {},
      element("th", { scope: "row", title: test }, breakable(test.split("::").slice(1).join("::") || test)),
      before.size > 0 && sign(before.get(test)), sign(now.get(test)))))));
}

function counts(run) {
  const [passed, failed] = run.counts;
  return element("span", { class: failed ? "failed" : "passed" }, failed ? `${failed} failed, ${passed} passed` : `${passed} passed`);
}

function sign(outcome) {
  const text = { passed: "✓", failed: "✗" }[outcome] ?? "·";
  return element("td", { class: outcome ?? "", "aria-label": outcome ?? "not run" }, text);
}
