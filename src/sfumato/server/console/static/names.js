// Which names a text knows: tables, aliases, and what WITH and sub-queries give. For completion only: the server judges.

// The text with strings and comments blanked, so that positions stay.
export function blanked(text) {
  return text.replace(/'(?:[^']|'')*'?|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/g, (found) => " ".repeat(found.length));
}

function closing(text, open) {
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    if (text[i] === "(") depth++;
    else if (text[i] === ")" && --depth === 0) return i;
  }
  return text.length;
}

function pieces(text) {
  const found = [];
  let depth = 0, start = 0;
  for (let i = 0; i <= text.length; i++) {
    if (text[i] === "(") depth++;
    else if (text[i] === ")") depth--;
    else if ((text[i] === "," && depth === 0) || i === text.length) {
      found.push(text.slice(start, i));
      start = i + 1;
    }
  }
  return found;
}

// The names that a SELECT gives its columns.
export function gives(body, tables) {
  const list = /^\s*select\s+(?:distinct\s+)?([\s\S]*?)(?:\bfrom\b|$)/i.exec(flat(body));
  if (!list) return [];
  const items = pieces(body.slice(list[0].indexOf(list[1]), list[0].indexOf(list[1]) + list[1].length));
  return items.flatMap((item) => {
    const said = item.trim();
    if (said === "*") return [...reads(body, tables).values()].flat();
    const named = /(?:\bas\s+)?"?([A-Za-z_]\w*)"?\s*$/i.exec(said);
    return named ? [named[1]] : [];
  });
}

// What stands inside parentheses is another question.
function flat(text) {
  let depth = 0;
  return [...text].map((sign) => {
    if (sign === "(") return depth++ ? " " : "(";
    if (sign === ")") return --depth ? " " : ")";
    return depth ? " " : sign;
  }).join("");
}

const STOPS = /^(on|using|where|group|order|having|join|left|right|full|inner|cross|limit|union|except|intersect|natural|as|window|offset)$/i;

// Everything that a text reads, by the name that its columns are asked for under.
export function reads(text, tables) {
  const clean = blanked(text);
  const known = new Map(tables);
  const found = new Map();
  for (const cte of clean.matchAll(/(?:\bwith\b|,)\s*(?:recursive\s+)?([A-Za-z_]\w*)\s*(?:\(([^)]*)\))?\s+as\s*(?:(?:not\s+)?materialized\s*)?\(/gi)) {
    const open = cte.index + cte[0].length - 1;
    const inside = clean.slice(open + 1, closing(clean, open));
    const columns = cte[2] ? cte[2].split(",").map((one) => one.trim()) : gives(inside, [...known]);
    known.set(cte[1], columns);
    found.set(cte[1], columns);
  }
  for (const part of clean.matchAll(/\(\s*select\b/gi)) {
    const end = closing(clean, part.index);
    const alias = /^\)\s*(?:as\s+)?([A-Za-z_]\w*)/i.exec(clean.slice(end));
    if (alias && !STOPS.test(alias[1])) found.set(alias[1], gives(clean.slice(part.index + 1, end), [...known]));
  }
  for (const from of clean.matchAll(/\b(?:from|join|,)\s*([A-Za-z_]\w*)(?:\s+(?:as\s+)?([A-Za-z_]\w*))?/gi)) {
    const columns = known.get(from[1]);
    if (columns) found.set(from[2] && !STOPS.test(from[2]) ? from[2] : from[1], columns);
  }
  for (const from of clean.matchAll(/,\s*([A-Za-z_]\w*)(?:\s+(?:as\s+)?([A-Za-z_]\w*))?/gi)) {
    const columns = known.get(from[1]);
    if (columns) found.set(from[2] && !STOPS.test(from[2]) ? from[2] : from[1], columns);
  }
  return found;
}
