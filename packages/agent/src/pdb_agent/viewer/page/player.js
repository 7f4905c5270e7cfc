import { element } from "./elements.js";

const STEP_MILLISECONDS = 1600;

// The scrubber: play, back, on, a slider, and above it what each episode did in each turn.
export class Player {
  constructor(episodes, positions, onMove) {
    this.positions = positions;
    this.onMove = onMove;
    this.at = 0;
    this.timer = null;
    this.play = element("button", { type: "button", class: "play", onclick: () => this.toggle() });
    this.range = element("input", { type: "range", min: 0, max: positions.length - 1, step: 1, value: 0,
      "aria-label": "Turn", oninput: () => { this.pause(); this.move(Number(this.range.value)); } });
    this.place = element("span", { class: "position" });
    this.node = element("div", { class: "player", role: "group", "aria-label": "Playback" },
      this.play,
      element("button", { type: "button", "aria-label": "Back", onclick: () => this.step(-1) }, "‹"),
      element("button", { type: "button", "aria-label": "On", onclick: () => this.step(1) }, "›"),
      element("div", { class: "track" }, episodes.map((episode, index) => this.ticks(episode, index)), this.range),
      this.place);
    this.showPlaying();
  }

  ticks(episode, index) {
    const row = element("div", { class: "ticks", "aria-hidden": "true" });
    this.positions.forEach((position, at) => {
      const moment = episode.moments[position.moments[index]];
      const own = moment.turn === position.turn;
      const call = own && moment.call !== null ? position.step : 0;
      const repeated = call > 0 && episode.moments[position.moments[index] - 1]?.turn !== moment.turn;
      const kind = own && !repeated ? kindOf(episode, moment) : "none";
      const tick = element("span", { class: `tick kind-${kind}`, title: episode.turns[moment.turn].summary,
        onclick: () => { this.pause(); this.move(at); } });
      tick.style.left = `${(100 * at) / Math.max(1, this.positions.length - 1)}%`;
      row.append(tick);
    });
    return row;
  }

  move(at) {
    const next = Math.max(0, Math.min(this.positions.length - 1, at));
    this.at = next;
    this.range.value = next;
    const { turn, last } = this.positions[next];
    const total = this.positions.at(-1).turn - 1;
    const words = last ? "the end" : turn === 0 ? "the task" : `turn ${turn} of ${total}`;
    this.range.setAttribute("aria-valuetext", words);
    this.place.textContent = words;
    for (const row of this.node.querySelectorAll(".ticks")) {
      row.querySelector(".now")?.classList.remove("now");
      row.children[next].classList.add("now");
    }
    this.onMove(this.positions[next]);
  }

  step(count) {
    this.pause();
    this.move(this.at + count);
  }

  turn(count) {
    const wanted = this.positions[this.at].turn + count;
    const at = this.positions.findIndex((one) => one.turn === wanted);
    this.pause();
    if (at >= 0) this.move(at);
  }

  toggle() {
    if (this.timer !== null) return this.pause();
    if (this.at === this.positions.length - 1) this.move(0);
    this.timer = setInterval(() => {
      this.move(this.at + 1);
      if (this.at === this.positions.length - 1) this.pause();
    }, STEP_MILLISECONDS);
    return this.showPlaying();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = null;
    this.showPlaying();
  }

  showPlaying() {
    const playing = this.timer !== null;
    this.play.setAttribute("aria-label", playing ? "Pause" : "Play");
    this.play.classList.toggle("playing", playing);
  }
}

function kindOf(episode, moment) {
  const run = episode.test_runs[moment.test_run];
  const kind = moment.kind;
  if (kind !== "tests" || !run) return kind;
  return run.counts[1] ? "tests-failed" : "tests-passed";
}
