/** CSI and OSC sequences, strings of DCS, PM, APC and SOS, and two-character escapes. */
const ansi =
  // oxlint-disable-next-line no-control-regex
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b\]|\u009d)[^\u0007\u001b\u009c\n]*(?:\u0007|\u001b\\|\u009c)?|\u001b[P^_X][^\u001b\u009c\n]*(?:\u001b\\|\u009c)?|\u001b[ -/]*[0-~]/g;
/** A character that a terminal draws over. */
// oxlint-disable-next-line no-control-regex
const overstruck = /[^\n\u0008]\u0008/g;
// oxlint-disable-next-line no-control-regex
const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
/** What is not seen and may hide text: marks of direction, tags, width zero. The two joiners are letters of some scripts. */
const hidden = /(?![\u200c\u200d])[\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The text without what only a terminal obeys; characters that hide text are shown as `\u{…}`. */
export function plain(text: string): string {
  return text
    .replaceAll(ansi, '')
    .split('\n')
    .map(lastDrawn)
    .join('\n')
    .replaceAll(overstruck, '')
    .replaceAll(control, '')
    .replaceAll(hidden, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
    .toWellFormed();
}

/** What a line shows at last of which parts were drawn over each other, as progress bars are. */
function lastDrawn(line: string): string {
  if (!line.includes('\r')) return line;
  return line.split('\r').findLast((part) => part !== '') ?? '';
}

/** `1 line`, `3 lines`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

/** Lines with their numbers, aligned; `from` is the number of the first. */
export function numbered(lines: readonly string[], from: number): string {
  const width = String(from + lines.length - 1).length;
  return lines.map((line, at) => `${String(from + at).padStart(width)} | ${line}`).join('\n');
}

/** Lines of a text; its last line feed ends a line and begins none. */
export function linesOf(text: string): readonly string[] {
  if (text === '') return [];
  return (text.endsWith('\n') ? text.slice(0, -1) : text).split('\n');
}
