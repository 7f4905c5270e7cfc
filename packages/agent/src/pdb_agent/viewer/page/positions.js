// Positions of the one scrubber: by turn, and within a turn by call; a shorter episode waits at its end.
export function positionsOf(episodes) {
  const counts = episodes.map((episode) => {
    const moments = episode.turns.map(() => []);
    episode.moments.forEach((moment, index) => moments[moment.turn].push(index));
    return moments;
  });
  const turns = Math.max(...counts.map((moments) => moments.length));
  const positions = [];
  for (let turn = 0; turn < turns; turn++) {
    const here = counts.map((moments) => moments[Math.min(turn, moments.length - 1)]);
    const steps = Math.max(...here.map((moments) => moments.length));
    for (let step = 0; step < steps; step++) {
      positions.push({ turn, step, last: turn === turns - 1,
        moments: here.map((moments) => moments[Math.min(step, moments.length - 1)]) });
    }
  }
  return positions;
}

export function hashOf({ turn, step, last }) {
  if (last) return "#turn=end";
  return step ? `#turn=${turn}.${step + 1}` : `#turn=${turn}`;
}

export function positionOf(hash, positions) {
  const found = /^#turn=(?:(end)|(\d+)(?:\.(\d+))?)$/.exec(hash);
  if (!found) return 0;
  if (found[1]) return positions.findIndex((one) => one.last);
  const turn = Number(found[2]);
  const step = found[3] ? Number(found[3]) - 1 : 0;
  let best = positions.length - 1;
  for (let index = positions.length - 1; index >= 0; index--) {
    const one = positions[index];
    if (one.turn > turn || (one.turn === turn && one.step >= step)) best = index;
  }
  return best;
}
