import { printableLines } from '@agentfleet/protocol/text';

const ellipsis = '…';
const answerMarker = '\n… cut; the whole answer is an artifact';
const patchMarker = '\n… cut; the whole change is an artifact\n';

/**
 * Returns the text, or its beginning and an ellipsis: at most `max` Unicode characters. Halves of surrogate pairs are
 * replaced, and terminal control characters are escaped: `kubectl` prints a status as it is.
 */
export function cut(text: string, max: number): string {
  const shown = printableLines(text.replaceAll('\r\n', '\n')).join('\n');
  const all = Array.from(shown);
  return (all.length <= max ? shown : `${all.slice(0, Math.max(0, max - 1)).join('')}${ellipsis}`).toWellFormed();
}

/** The text as {@link cut} shows it, at most `maxBytes` of UTF-8; a longer one ends with a mark. */
export function cutAnswer(text: string, maxBytes: number): string {
  const shown = cut(text, Number.POSITIVE_INFINITY);
  if (Buffer.byteLength(shown) <= maxBytes) return shown;
  const room = maxBytes - Buffer.byteLength(answerMarker);
  let bytes = 0;
  const kept = Array.from(shown).filter((character) => {
    bytes += Buffer.byteLength(character);
    return bytes <= room;
  });
  return `${kept.join('')}${answerMarker}`;
}

/**
 * Cuts a unified diff to at most `max` characters; a longer one ends after a whole line where it has one, and a line reports that
 * it was cut.
 */
export function cutPatch(patch: string, max: number): string {
  const all = Array.from(patch);
  if (all.length <= max) return patch.toWellFormed();
  const kept = all.slice(0, Math.max(0, max - patchMarker.length)).join('');
  const line = kept.lastIndexOf('\n');
  return `${line < 0 ? kept : kept.slice(0, line)}${patchMarker}`.toWellFormed();
}
