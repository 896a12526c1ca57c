/** Column number of letters: A is 0. */
export function columnOf(letters) {
  let column = 0;
  for (const letter of letters) column = column * 26 + (letter.charCodeAt(0) - 65);
  return column;
}

/** Letters of a column number. */
export function lettersOf(column) {
  return column < 26 ? String.fromCharCode(65 + column) : lettersOf(Math.floor(column / 26) - 1) + lettersOf(column % 26);
}

/** Cells of "A1:B2", row by row. */
export function cellsOf(range) {
  const [from, to] = range.split(':').map(parseAddress);
  const cells = [];
  for (let row = from.row; row <= to.row; row += 1)
    for (let column = from.column; column <= to.column; column += 1) cells.push(`${lettersOf(column)}${row}`);
  return cells;
}

export function parseAddress(text) {
  const match = /^([A-Z]+)(\d+)$/.exec(text);
  if (match === null) throw new Error(`no cell: ${text}`);
  return { column: columnOf(match[1]), row: Number(match[2]) };
}
