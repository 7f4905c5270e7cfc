// Elements out of plain values: text is only ever set as text, so that nothing in an episode can act.

export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// Text that may break after the signs between words of a name.
export function breakable(text) {
  const parts = text.split(/(?<=[_./:,(])(?=[^_./:,(])/);
  return parts.flatMap((part, index) => (index ? [document.createElement("wbr"), part] : [part]));
}

export const prefersStillness = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// Bring `child` into the middle of `scroller` unless it is well in view already.
export function reveal(scroller, top, height) {
  const margin = Math.min(scroller.clientHeight / 5, 80);
  const above = top < scroller.scrollTop + margin;
  const below = top + height > scroller.scrollTop + scroller.clientHeight - margin;
  if (!above && !below) return;
  const middle = top - Math.max(0, (scroller.clientHeight - height) / 2);
  scroller.scrollTo({ top: middle, behavior: prefersStillness() ? "auto" : "smooth" });
}
