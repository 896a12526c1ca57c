import type { Edit } from '@agentfleet/protocol/inference';

const around = 2;

/** Returns the text that edits change, in the form in which the worker asks: a diff without headers, with two lines on each side. */
export function changedText(source: string, edits: readonly Edit[]): string {
  return edits.map((edit) => hunk(source, edit)).join('\n');
}

function hunk(source: string, { range, before, after }: Edit): string {
  const bytes = Buffer.from(source);
  const head = bytes.toString('utf8', 0, range.startByte);
  const rest = bytes.toString('utf8', range.endByte);
  const from = head.lastIndexOf('\n') + 1;
  const to = rest.includes('\n') ? rest.indexOf('\n') : rest.length;
  const [left, right] = [head.slice(from), rest.slice(0, to)];
  const above = head.slice(0, from).split('\n').slice(0, -1).slice(-around);
  const below =
    to === rest.length
      ? []
      : rest
          .slice(to + 1)
          .split('\n')
          .slice(0, around);
  const lines = (mark: string, text: string): string[] => (text === '' ? [] : text.split('\n').map((line) => mark + line));
  return [
    ...above.map((line) => ` ${line}`),
    ...lines('-', left + before + right),
    ...lines('+', left + after + right),
    ...below.map((line) => ` ${line}`),
  ].join('\n');
}
