import type { PlacedEdit } from './place.ts';

/** The text around an edit, without and with it. */
export interface TextPair {
  readonly before: string;
  readonly after: string;
  /** Common start of both in the file. */
  readonly from: number;
}

/** Lines of context before an edit: at least `near`, at most `near + step − 1`. */
const near = 24;
const step = 24;
/** Bound on that text, for files with long lines. */
const maxBackChars = 4096;
/** More text than a token has on average, so that windows are full. */
const charsPerToken = 12;

/**
 * Cuts a file around an edit. Texts begin at every `step`-th line, so that edits near each other share the evaluation
 * of the lines before them; they end at the same place of the file.
 */
export function textPair({ content, start, end, after }: PlacedEdit, windowTokens: number): TextPair {
  const from = beginning(content, start);
  const until = Math.min(content.length, end + windowTokens * charsPerToken);
  const [head, tail] = [`\n${content.slice(from, start)}`, content.slice(end, until)];
  return { before: head + content.slice(start, end) + tail, after: head + after + tail, from };
}

function beginning(content: string, at: number): number {
  const starts = [0];
  for (let next = content.indexOf('\n'); next !== -1 && next < at; next = content.indexOf('\n', next + 1)) starts.push(next + 1);
  const line = Math.max(0, Math.floor((starts.length - 1 - near) / step) * step);
  const from = starts[line] ?? 0;
  return at - from <= maxBackChars ? from : at - maxBackChars / 2 - (at % (maxBackChars / 2));
}
