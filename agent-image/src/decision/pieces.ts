import { judgeBounds, scoreBounds } from '@agentfleet/protocol/inference';
import { windowsOf } from '@agentfleet/protocol/text';
import type { ActInQuestion } from '../attempt/ports.ts';

/** A part of an act that Policy and Verifier read as an act of its own. */
export type Piece = Pick<ActInQuestion, 'subject' | 'content'>;

/** UTF-16 units that a Policy and a Verifier read of one act: what stands behind them changes no number of theirs. */
const maxChars = scoreBounds.maxTextChars;
/** UTF-16 units that two neighbours share: a text of at most this length is whole in one of them. */
const overlap = 1024;
/** UTF-16 units of a command's first line that its later pieces begin with. */
const maxHead = 512;
const maxPieces = judgeBounds.maxActs;

/** The text of an act, as a Verifier reads it. */
export const textOf = ({ subject, content }: Piece): string => (content === undefined ? subject : `${subject}\n${content}`);

/**
 * Returns an act as it is where it fits into what the parts read, else in pieces: each of a file has its path, each of a
 * command begins with the first line. Null where it needs more pieces than are judged. Pure.
 */
export function piecesOf({ subject, content }: Piece): readonly Piece[] | null {
  if (content === undefined) {
    if (subject.length <= maxChars) return [{ subject }];
    const head = `${(subject.split('\n', 1)[0] ?? '').slice(0, maxHead)}\n`;
    return windows(subject, maxChars - head.length)?.map((text, at) => ({ subject: at === 0 ? text : `${head}${text}` })) ?? null;
  }
  if (subject.length + 1 + content.length <= maxChars) return [{ subject, content }];
  return windows(content, maxChars - subject.length - 1)?.map((text) => ({ subject, content: text })) ?? null;
}

/** Overlapping parts of a text that hold all of it; null: too many. */
function windows(text: string, size: number): readonly string[] | null {
  const step = size - overlap;
  return step < overlap || text.length > overlap + maxPieces * step ? null : windowsOf(text, size, overlap);
}
