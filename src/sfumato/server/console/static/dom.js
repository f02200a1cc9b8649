// Elements. Text is only ever set as text: nothing that came from a server is read as markup.
export function h(name, props = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

const SVG = "http://www.w3.org/2000/svg";

export function s(name, props = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(props)) made.setAttribute(key, value);
  made.append(...children.flat());
  return made;
}

// A picture that the server drew: parsed as XML, and only its drawing is taken.
const DRAWN = new Set(["svg", "title", "desc", "rect", "text", "line", "g", "path", "polyline", "circle", "tspan"]);

export function picture(text) {
  const made = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  for (const node of [made, ...made.querySelectorAll("*")]) {
    if (!DRAWN.has(node.localName)) throw new Error("this is not a picture");
    for (const { name } of [...node.attributes]) if (/^on|href|style/i.test(name)) node.removeAttribute(name);
  }
  return document.importNode(made, true);
}

export const $ = (id) => document.getElementById(id);

// Signs in names that would turn the text around them are kept inside.
export const word = (text, kind = "") => h("bdi", { class: kind || null }, text);

// Text in which the server writes commands between backticks: those are set as code.
export const coded = (text) => text.split("`").map((part, i) => (i % 2 ? h("code", {}, part) : part));

// Positions of the server count characters from 1; a browser's count halves of rare ones from 0.
export function place(text, position) {
  return [...text].slice(0, Math.max(0, position - 1)).join("").length;
}

export function pause(work, milliseconds) {
  let waiting;
  return (...given) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => work(...given), milliseconds);
  };
}
