import type { Candidate, Edit, FocusFile } from './generate.ts';
import { scoreBounds } from './score.ts';

const around = 2;

/**
 * Returns the changes of a candidate, as a diff without headers: `-` before removed lines, `+` before added ones, a
 * blank before the two lines on each side; then one line `$ command` for each act. Workers and training call it.
 */
export function changedText({ edits, acts = [] }: Pick<Candidate, 'edits' | 'acts'>, files: readonly FocusFile[]): string {
  const contents = new Map(files.map(({ path, content }) => [path, content]));
  const parts = edits.map((edit) => hunk(edit, contents.get(edit.path)));
  return [...parts, ...acts.map(({ command }) => `$ ${command}`)].join('\n').slice(0, scoreBounds.maxTextChars);
}

/** Returns one edit as whole lines; the bare texts where the file is not known. */
function hunk({ range: { startByte, endByte }, before, after: text }: Edit, content: string | undefined): string {
  if (content === undefined) return marked(before, text);
  const bytes = Buffer.from(content, 'utf8');
  const head = bytes.toString('utf8', 0, startByte);
  const rest = bytes.toString('utf8', endByte);
  const from = head.lastIndexOf('\n') + 1;
  const to = rest.indexOf('\n');
  const left = head.slice(from);
  const right = to === -1 ? rest : rest.slice(0, to);
  const above = head.slice(0, from).split('\n').slice(0, -1).slice(-around);
  const after = to === -1 ? [] : rest.slice(to + 1).split('\n');
  const plain = (lines: readonly string[]): string[] => lines.map((line) => ` ${line}`);
  return [...plain(above), marked(left + before + right, left + text + right), ...plain(after.slice(0, around))].join('\n');
}

function marked(before: string, after: string): string {
  const lines = (mark: string, text: string): string[] => (text === '' ? [] : text.split('\n').map((line) => `${mark}${line}`));
  return [...lines('-', before), ...lines('+', after)].join('\n');
}
